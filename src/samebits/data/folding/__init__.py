"""Folds on workers: parts that stay where they were made, and the tree in which they are added up."""
