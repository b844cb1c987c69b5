"""Labelled rows to integers to a model, in three modes."""
