"""Text to token ids and back, and the choice of the next one."""
