"""Libraries that turn text into ids, and the choice of the fastest that is exact for a tokenizer."""
