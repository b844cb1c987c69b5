"""Recipes: which jobs, in which order, on whose results. Reading one is pure; ``samebits.pipeline`` runs it."""
