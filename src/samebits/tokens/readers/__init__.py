"""A store for PyTorch, for Arrow, and for people."""
