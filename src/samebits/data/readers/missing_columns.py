"""Which setting chose a column: an error about a missing one says what to type, and readers know no flags."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from samebits.core.config import settings_of
from samebits.errors import InputError

__all__ = ["column_flags", "missing_columns_named", "with_flag"]

EVERYWHERE = (
    "--text-column"  # what every job understands, also those whose own setting is called column or columns
)


def column_flags(config: Any) -> dict[str, str]:
    """Return for each column that a Config asks for the flag that says so."""
    flags: dict[str, str] = {}
    for setting in settings_of(type(config)):
        if setting.name.endswith(("column", "columns")):
            value = getattr(config, setting.name)
            for name in value or ("text",) if setting.many else (value,):
                flags[name] = EVERYWHERE if setting.name in ("column", "columns") else setting.flag
    return flags


def with_flag(hint: str, flag: str) -> str:
    """Add to a hint about a column which flag chooses it."""
    if not hint:
        return f"choose it with {flag}"
    return f"{hint} Choose it with {flag}" if hint.endswith("?") else f"{hint}; choose it with {flag}"


@contextmanager
def missing_columns_named(flags: Mapping[str, str]) -> Iterator[None]:
    """Add the flag that chose a column (see ``column_flags``) to an error that this column is missing."""
    try:
        yield
    except InputError as error:
        flag = flags.get(error.column, "")
        if flag and flag not in error.hint:
            error.hint = with_flag(error.hint, flag)
        raise
