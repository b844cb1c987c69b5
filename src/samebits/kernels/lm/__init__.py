"""Hot loops of language models."""
