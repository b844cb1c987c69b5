"""Measurements against the tools people use today. Each script is rerun with ``python -m benchmarks.NAME``."""
