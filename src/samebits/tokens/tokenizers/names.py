"""The names after ``--tokenizer`` that are no files."""

from __future__ import annotations

__all__ = ["BUILT_IN", "LEARNED", "PREFIX", "built_in"]

LEARNED = ("char", "word", "bpe")  # names that mean: learn it from the data first
BUILT_IN = ("byte", *LEARNED)
PREFIX = "built-in:"  # says that no file is meant


def built_in(name: str) -> str | None:
    """Return the kind that a name stands for; None for a file.

    >>> built_in("bpe"), built_in("built-in:bpe"), built_in("./bpe")
    ('bpe', 'bpe', None)
    """
    kind = name.removeprefix(PREFIX)
    return kind if kind in BUILT_IN else None
