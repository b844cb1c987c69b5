"""Models that turn text into graphs: examples, training, prediction, judgement."""
