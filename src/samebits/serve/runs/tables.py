"""Rows of a JSON lines file, a page at a time: found by number, by a text anywhere in the row, or by the values of columns.

Files may hold millions of rows. Pages without a search are found by counting line ends; a search reads the file from its
beginning, stops when it has a page and a little more, and never takes longer than ``MOST_SECONDS``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from samebits.core.observing import clock
from samebits.serve.runs.follow import Follower

__all__ = ["PAGE_ROWS", "TablePage", "read_page"]

PAGE_ROWS = 50
MOST_SECONDS = 2.0
MOST_BYTES = 1 << 40
MOST_COLUMNS = 40
ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")


@dataclass
class TablePage:
    """Some rows.

    Attributes:
        columns: Keys of the objects, in the order they first occur.
        rows: The line number (from 1) of each row, and the object.
        more: Whether there are rows after these.
        gave_up: Whether the search took too long; rows further down were not looked at.
        bad: Lines on the way that are no JSON objects.
    """

    columns: list[str] = field(default_factory=list)
    rows: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    more: bool = False
    gave_up: bool = False
    bad: int = 0

    def plain(self) -> dict[str, Any]:
        """Return it as data."""
        return {
            "columns": self.columns,
            "rows": [{"line": line, "row": row} for line, row in self.rows],
            "more": self.more,
            "gave_up": self.gave_up,
            "bad_lines": self.bad,
        }


def read_page(
    path: Path, *, page: int, search: str = "", where: Mapping[str, str] | None = None, rows: int = PAGE_ROWS
) -> TablePage:
    """Read a page of a table.

    Args:
        path: The file.
        page: Its number, from 0.
        search: Text that a row must hold somewhere; case does not matter.
        where: Column -> value that a row must have.
        rows: Rows of a page.
    """
    found, skipped = TablePage(), 0
    until = clock.seconds() + MOST_SECONDS
    for line, row in _rows(path, search, where or {}, found, skip=0 if search or where else page * rows):
        if row is None:  # a sign of life between matches
            if clock.seconds() > until:
                found.gave_up = True
                break
            continue
        if (search or where) and skipped < page * rows:
            skipped += 1
            continue
        if len(found.rows) == rows:
            found.more = True
            break
        found.rows.append((line, row))
    for _, row in found.rows:
        found.columns += [key for key in row if key not in found.columns]
    del found.columns[MOST_COLUMNS:]
    return found


def _rows(
    path: Path, search: str, where: Mapping[str, str], found: TablePage, *, skip: int
) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield matching rows with their line numbers, and a None after each piece of the file."""
    needles = _needles(search)
    line = 0
    for piece in Follower(path).read(MOST_BYTES):
        lines_here = piece.count(b"\n")
        yield line, None
        if line + lines_here <= skip or not _may_match(piece, needles):
            line += lines_here
            continue
        for text in piece.splitlines():
            line += 1
            if line <= skip or (needles and not _may_match(text, needles)):
                continue
            row = _object(text)
            if row is None:
                found.bad += 1
            elif all(_shown(row.get(key)) == value for key, value in where.items()):
                yield line, row


def _needles(search: str) -> list[str]:
    """Return a search as it may stand in a file: as it is, and with quotes and line ends escaped."""
    if not search:
        return []
    folded = search.casefold()
    return list(dict.fromkeys((folded, msgspec.json.encode(folded).decode()[1:-1])))


def _may_match(text: bytes, needles: list[str]) -> bool:
    if not needles:
        return True
    shown = text.decode("utf-8", "replace")
    if "\\u" in shown:
        shown = ESCAPE.sub(lambda found: chr(int(found[1], 16)), shown)
    folded = shown.casefold()
    return any(needle in folded for needle in needles)


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return found if isinstance(found, dict) else None


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()
