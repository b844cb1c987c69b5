"""Hot loops from rows to ids."""
