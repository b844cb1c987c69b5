"""Find special tokens that are written out in texts, for ``--special-tokens error``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from samebits.data.readers.rowblock import TextColumn

__all__ = ["first_special"]

PREFIX_BYTES = 2  # most special tokens begin alike, so one search rules out all of them


@lru_cache(maxsize=4)
def _pattern(names: tuple[str, ...]) -> re.Pattern[bytes]:
    return re.compile(b"|".join(re.escape(name.encode()) for name in sorted(names)))


def first_special(columns: Iterable[TextColumn], names: tuple[str, ...]) -> tuple[int, str] | None:
    """Return the first row in which a column contains one of the names, and the name; None if no row does.

    >>> from samebits.tokens.encoders.interface import column_of
    >>> first_special([column_of(["plain", "a <s> b"])], ("<s>", "</s>"))
    (1, '<s>')
    """
    found: list[tuple[int, str]] = []
    prefixes = {name.encode()[:PREFIX_BYTES] for name in names}
    for column in columns:
        if not len(column):
            continue
        whole = column.buffer[int(column.starts.min()) : int(column.stops.max())].tobytes()
        if not any(prefix in whole for prefix in prefixes):
            continue
        matches = ((row, _pattern(names).search(column[row])) for row in range(len(column)))
        found += [(row, match[0].decode()) for row, match in matches if match][:1]
    return min(found, default=None)
