"""Compact mode: count n-grams, choose those a model of a given size keeps, smooth and round their costs."""
