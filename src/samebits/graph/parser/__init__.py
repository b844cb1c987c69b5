"""Models that turn text into graphs: examples, training and prediction."""
