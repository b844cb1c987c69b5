"""A trained model: on disk, in memory, predicting and explaining."""
