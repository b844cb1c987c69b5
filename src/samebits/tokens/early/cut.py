"""How a file of JSON lines is cut and read."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Cut"]


class Cut(NamedTuple):
    """A file, the size of its cells, and what is taken of a line."""

    path: str
    cell_bytes: int
    column: str
    max_line_bytes: int
