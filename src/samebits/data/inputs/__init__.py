"""The inputs of a run: which files, fetched from where, read in which blocks, cut where."""
