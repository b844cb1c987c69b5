"""Trying trained models: they run in a process of their own."""
