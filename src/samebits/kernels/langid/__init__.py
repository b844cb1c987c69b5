"""Hot loops of language identification."""
