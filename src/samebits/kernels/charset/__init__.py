"""Hot loops over bytes of encodings."""
