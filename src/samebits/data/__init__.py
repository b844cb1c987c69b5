"""What is on disk: the inputs of a run and the rows in them, artifacts and the journal."""
