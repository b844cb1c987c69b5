"""Training whose rows and counts stay with the workers: what large inputs take, with the bytes that small ones get."""
