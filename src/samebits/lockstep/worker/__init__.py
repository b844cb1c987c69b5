"""A training worker: told what to do, it makes steps until it is told to end."""
