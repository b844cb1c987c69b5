"""What a command line of ``tokens build`` is going to read, guessed before its flags are known.

Imports next to nothing. Flags that change how rows are read or what surrounds them are not understood here: then nothing is guessed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from samebits.tokens.early.cut import Cut

__all__ = ["guess_cut"]

WITH_VALUE = ("-o", "--output", "-t", "--tokenizer", "-w", "--workers")
ALONE = ("-q", "--quiet", "-v", "--verbose", "--overwrite", "--progress", "--no-progress")
SUFFIXES = (".jsonl", ".ndjson")
CELL_BYTES, MAX_LINE_BYTES = 4 << 20, 128 << 20  # the defaults of ``--cell-mb`` and ``--max-line-mb``
FEWEST_CELLS = 4  # a smaller input has nothing to gain


def guess_cut(arguments: Sequence[str]) -> Cut | None:
    """Return how the first input will be read; None if that cannot be told, or there will be one worker."""
    inputs, values, left = [], {}, list(arguments)
    while left:
        word = left.pop(0)
        flag, sign, value = word.partition("=")
        if flag in WITH_VALUE and (sign or left):
            values[flag] = value if sign else left.pop(0)
        elif not word.startswith("-"):
            inputs.append(word)
        elif word not in ALONE:
            return None
    workers = values.get("-w", values.get("--workers", "auto"))
    if not inputs or not inputs[0].endswith(SUFFIXES) or workers == "1" or _num_cores() < 2:
        return None
    path = os.path.abspath(inputs[0])  # noqa: PTH100 - as ``data.inputs.hashing.absolute`` has it
    if not os.path.isfile(path) or os.path.getsize(path) < FEWEST_CELLS * CELL_BYTES:  # noqa: PTH113, PTH202
        return None
    return Cut(path, CELL_BYTES, "text", MAX_LINE_BYTES)


def _num_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1
