"""PROOF: the same digest over a grid of executors, workers and hash seeds; speed-up over worker counts.

``cell`` runs one job in a process of its own, so that a hash seed can be set and the peak memory is its own; ``parity``
compares digests; ``speedup`` measures, interleaved and repeated, and fits Amdahl's law; ``tables`` lays rows out.
"""
