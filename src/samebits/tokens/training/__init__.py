"""Vocabularies learned from text."""
