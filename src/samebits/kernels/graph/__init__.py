"""Hot loops of graph distances and decoding."""
