"""Data that Python programs hold, as inputs: data frames, Arrow tables, data sets, dicts, rows, paths.

A path, or a list of paths, stays what it is. Everything else is rows: the wanted columns are written to one file of JSON
lines in a temporary folder and read like any other input. So the same rows give the same digest whether they came from
pandas, polars, Arrow, ``datasets``, a list of dicts or a generator.

>>> with as_inputs({"text": ["one", None]}, {"text": "column"}) as paths:
...     print(Path(paths[0]).read_text().split())
['{"text":"one"}', '{"text":null}']
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import Any

from samebits.data.inputs.columns import column_batches, column_names, has_columns, is_table, shape_name
from samebits.errors import ConfigError

__all__ = ["as_inputs", "as_paths", "text_batches", "texts_of"]

FILE = "rows.jsonl"
MOST_SHOWN = 50


def as_paths(data: Any) -> tuple[str, ...] | None:
    """Return the paths that ``data`` means, or None where it is something else.

    >>> as_paths("a.txt"), as_paths([Path("b.txt"), "c.txt"]), as_paths([{"text": "x"}])
    (('a.txt',), ('b.txt', 'c.txt'), None)
    """
    if isinstance(data, str | os.PathLike):
        return (os.fspath(data),)
    if isinstance(data, list | tuple) and data and all(isinstance(item, str | os.PathLike) for item in data):
        return tuple(os.fspath(item) for item in data)
    return None


@contextmanager
def as_inputs(data: Any, columns: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """Give the paths to read while the body runs; rows in memory are in a file for that long.

    Args:
        data: What a user passed.
        columns: The wanted columns, each with the name of the setting that chooses it, for messages.

    Raises:
        ConfigError: the data have no such column, or a shape whose meaning nobody can guess.
    """
    data = _with_listed_paths(data)
    paths = as_paths(data)
    if paths is not None:
        _refuse_texts(paths, columns)
        yield paths
        return
    import tempfile  # most inputs are files

    with tempfile.TemporaryDirectory(prefix="samebits-rows-") as folder:
        path = Path(folder, FILE)
        _write(path, data, columns)
        yield (str(path),)


def _with_listed_paths(data: Any) -> Any:
    """Return a generator of paths (``Path.glob``) as a list, another one with its first item put back."""
    if isinstance(data, Mapping | Sequence) or is_table(data) or not isinstance(data, Iterable):
        return data
    items = iter(data)
    first = next(items, None)
    if first is None:
        return []
    everything = chain([first], items)
    return list(everything) if isinstance(first, str | os.PathLike) else everything


def _refuse_texts(paths: Sequence[str], columns: Mapping[str, str]) -> None:
    """Tell a list of sentences from a list of files: the error of a missing file would not say what to do."""
    if not all(" " in path and not os.path.lexists(path) and "*" not in path for path in paths):
        return
    shown = paths[0] if len(paths[0]) <= MOST_SHOWN else paths[0][:MOST_SHOWN] + "…"
    example = ", ".join(f'"{name}": [...]' for name in columns)
    raise ConfigError(
        f"a string is a path here, and there is no file {shown!r}",
        hint=f"pass texts as columns: {{{example}}}",
    )


def _write(path: Path, data: Any, columns: Mapping[str, str]) -> None:
    import msgspec

    fields = [f"column{number}" for number in range(len(columns))]
    row = msgspec.defstruct("Row", fields, rename=dict(zip(fields, columns, strict=True)))
    encode = msgspec.json.Encoder().encode_lines
    num_rows = 0
    with path.open("wb") as file:
        for batch in column_batches(data, columns):
            values = [texts_or_none(column, name) for name, column in zip(columns, batch, strict=True)]
            file.write(encode(list(map(row, *values))))
            num_rows += len(batch[0])
    if not num_rows:
        raise ConfigError(f"{shape_name(data)} without rows teaches nothing", hint="give at least one row")


def texts_or_none(values: Sequence[Any], name: str = "text") -> Sequence[str | None]:
    """Return texts; numbers as written, None for what stands for nothing (None, NaN, ``pandas.NA``).

    >>> texts_or_none(["a", None, float("nan"), 3])
    ['a', None, None, '3']

    Raises:
        ConfigError: a value that is no text, e.g. a list.
    """
    if set(map(type, values)) == {str}:
        joined = "".join(values)
        if joined.isascii() or _is_unicode(joined):
            return values
    return [_text_or_none(value, name, number) for number, value in enumerate(values)]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates
        return False
    return True


def _text_or_none(value: Any, name: str, number: int) -> str | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:  # the last: NaN
        return None
    if isinstance(value, bytes | Mapping | Iterable):
        hint = (
            "decode it first: samebits.charset.detect finds the encoding" if isinstance(value, bytes) else ""
        )
        raise ConfigError(f"{name!r} of row {number} is {shape_name(value)}, not text", hint=hint)
    return str(value)


def texts_of(data: Any, column: str | None = None) -> Iterator[str]:
    """Yield the texts of a column, a list or a generator; what stands for nothing is the empty text.

    Args:
        data: Texts, or a table with ``column``.
        column: Which column of a table.

    Raises:
        ConfigError: a table without a column to take, or values that are no texts.
    """
    for batch in text_batches(data, column):
        yield from batch


def text_batches(data: Any, column: str | None = None, *, size: int = 4096) -> Iterator[list[str]]:
    """Yield what ``texts_of`` does, ``size`` texts at a time."""
    if isinstance(data, str | bytes | os.PathLike) or not isinstance(data, Iterable):
        raise ConfigError(f"{shape_name(data)} is not a list of texts", hint="put it in a list: [text]")
    if column is None and (isinstance(data, Mapping) or has_columns(data)):
        raise _which_column(data)
    if column is not None or is_table(data):
        batches = column_batches(data, {column or "text": "column"})
        values: Iterator[Any] = chain.from_iterable(batch[0] for batch in batches)
    else:
        values = iter(data)
    while batch := list(islice(values, size)):
        texts = texts_or_none(batch)
        yield batch if texts is batch else [text or "" for text in texts]


def _which_column(data: Any) -> ConfigError:
    names = [str(name) for name in (data if isinstance(data, Mapping) else column_names(data))]
    shown = ", ".join(map(repr, names[:12])) + (", …" if len(names) > 12 else "")
    hint = f"say which one holds the text: data[{names[0]!r}]" if names else ""
    return ConfigError(f"{shape_name(data)} has columns: {shown}", hint=hint)
