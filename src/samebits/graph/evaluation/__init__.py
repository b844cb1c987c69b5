"""Judging predicted graphs: how far they are from the expected ones, and the job ``graph eval``."""
