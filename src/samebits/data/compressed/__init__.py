"""Compressed line files: reading them, and the places where reading may begin."""
