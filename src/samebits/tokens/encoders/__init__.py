"""Text to ids: one file a tokenizer, and the choice of the fastest exact encoder."""
