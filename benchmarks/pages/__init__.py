"""Pages that show measured figures: the table of benchmarks is written from the records, prose is kept equal to them."""
