"""The model: its shape, its passes, and text from it."""
