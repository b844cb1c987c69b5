"""Byte pairs: reading the merges of a file, merging, and encoding with a memory of pre-tokens."""
