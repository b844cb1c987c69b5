"""Using a model: find the encoding of bytes, and judge how well that works."""
