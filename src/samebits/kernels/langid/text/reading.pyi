"""The kernel has nothing for Python."""
