"""HOT LOOPS: Cython, compiled ahead of time, GIL released; no policy, no I/O, no Python objects in the loop."""
