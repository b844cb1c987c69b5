"""Which setting chose a column: an error about a missing one says what to type, and readers know no flags."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from samebits.core.config import settings_of
from samebits.errors import InputError

__all__ = ["column_flags", "missing_columns_named"]


def column_flags(config: Any) -> dict[str, str]:
    """Return for each column that a Config asks for the flag that says so."""
    flags: dict[str, str] = {}
    for setting in settings_of(type(config)):
        if setting.name.endswith(("column", "columns")):
            value = getattr(config, setting.name)
            for name in value or ("text",) if setting.many else (value,):
                flags[name] = setting.flag
    return flags


@contextmanager
def missing_columns_named(config: Any) -> Iterator[None]:
    """Add the flag to an error about a missing column."""
    try:
        yield
    except InputError as error:
        flag = column_flags(config).get(error.column, "")
        if flag and flag not in error.hint:
            error.hint = f"{error.hint}; choose it with {flag}" if error.hint else f"choose it with {flag}"
        raise
