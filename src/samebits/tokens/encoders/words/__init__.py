"""Encoders of words one by one, behind a memory of those that were met."""
