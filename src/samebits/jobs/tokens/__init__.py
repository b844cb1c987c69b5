"""Any data set to memory-mapped tokens: byte-identical for any number of workers, resumable, read by others."""
