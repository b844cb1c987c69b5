"""The model: its shape, its one definition, and text from it."""
