"""Rows on their way from the encoder to the store: kept by workers, split and put in order."""
