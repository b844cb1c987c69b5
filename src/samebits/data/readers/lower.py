"""Lower case for a whole column at once: rows are joined, folded by ``str.lower`` in one call, and split again."""

from __future__ import annotations

import numpy as np

from samebits.data.readers.rowblock import TextColumn
from samebits.errors import ConfigError
from samebits.kernels.text.gather import join_rows

__all__ = ["lower_column"]

# A byte that no row holds separates them. All six are caseless and end a word, so that folding across rows is
# folding row by row (the Greek final sigma looks at its neighbours).
SEPARATORS = b"\n\x00\x1e\x1f\x1d\x1c"


def lower_column(column: TextColumn) -> TextColumn:
    """Return the column in lower case, as ``str.lower`` has it.

    >>> column = TextColumn(np.frombuffer("ÉTÉ ΟΔΟΣ".encode(), np.uint8), np.array([0, 6]), np.array([5, 14]))
    >>> list(lower_column(column).texts())
    ['été', 'οδος']
    """
    for separator in SEPARATORS:
        joined = join_rows(column.buffer, column.starts, column.stops, separator)
        if joined.count(separator) == len(column):
            break
    else:
        raise ConfigError(
            "a row holds every control character that could separate rows; it cannot be folded to lower case"
        )
    buffer = np.frombuffer(joined.decode().lower().encode(), np.uint8)
    stops = np.flatnonzero(buffer == separator).astype(np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), stops[:-1] + 1])[: len(stops)]
    return TextColumn(buffer, starts, stops)
