"""Labelled rows to integers to a model, in two modes."""
