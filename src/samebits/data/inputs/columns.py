"""Columns of whatever holds a table in Python: pandas, polars, Arrow, ``datasets``, dicts of lists, rows.

Libraries are recognised by the objects they make; none is imported here. Every way in gives the same thing: batches of
equally long lists, one for each wanted column.

>>> list(column_batches([{"a": 1, "b": 2}, {"a": 3, "b": 4}], {"b": "text_column"}))
[[[2, 4]]]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

from samebits.errors import ConfigError

__all__ = ["Batch", "column_batches", "column_names", "has_columns", "is_table", "rows_of", "shape_name"]

ROWS_AT_ONCE = 1 << 16
LIBRARIES = ("pandas", "polars", "pyarrow", "datasets", "numpy")
Batch = list[Sequence[Any]]
Wanted = Mapping[str, str]  # column -> the setting that chooses it


def is_table(data: Any) -> bool:
    """Tell whether a library's table, column or array holds the data."""
    return _library(data) in LIBRARIES or hasattr(data, "__arrow_c_stream__")


def shape_name(data: Any) -> str:
    """Name what a user passed, e.g. ``a pandas DataFrame``."""
    library = _library(data)
    kind = type(data).__name__
    if library in LIBRARIES:
        return f"a {library} {kind}"
    return f"an {kind}" if kind[:1].lower() in "aeio" else f"a {kind}"


def column_batches(data: Any, wanted: Wanted) -> Iterator[Batch]:
    """Yield batches of the wanted columns, rows in order.

    Raises:
        ConfigError: a column is missing, or the data have no columns.
    """
    if isinstance(data, Mapping) and _library(data) != "datasets":
        yield from _of_mapping(data, wanted)
    elif _library(data) == "datasets":
        yield from _of_dataset(data, wanted)
    elif is_table(data):
        yield from _of_table(data, wanted)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes):
        yield from _of_rows(iter(data), wanted)
    else:
        raise ConfigError(f"{shape_name(data)} is not a table of rows", hint=_shapes(wanted))


def rows_of(data: Any) -> Sequence[Any]:
    """Return items one by one: of a table each row as a dict, of anything else what it iterates over.

    Raises:
        ConfigError: a string or a dict, whose items are hardly what was meant.
    """
    if isinstance(data, list | tuple):
        return data
    if not is_table(data) and (isinstance(data, str | bytes | Mapping) or not isinstance(data, Iterable)):
        raise ConfigError(
            f"{shape_name(data)} is not a list of examples", hint="pass a list, a table or a generator"
        )
    if not is_table(data) or _library(data) in ("numpy", "datasets") or not has_columns(data):
        return list(data) if not hasattr(data, "to_pylist") else _values(data)
    table = _opened(data)
    names = _names(table)
    columns = _columns(table, dict.fromkeys(names, ""))
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _library(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _shapes(wanted: Wanted) -> str:
    example = ", ".join(f'"{name}": [...]' for name in wanted)
    return f"pass paths, a data frame, an Arrow table, {{{example}}}, or rows as dicts or tuples"


def missing_column(name: str, wanted: Wanted, have: Sequence[str], where: str) -> ConfigError:
    """Make the error for a column that is not there: which ones are, and what to write."""
    import difflib  # only for mistakes

    shown = ", ".join(map(repr, have[:12])) + (", …" if len(have) > 12 else "")
    close = difflib.get_close_matches(name, have, n=1)
    hint = (
        f"did you mean {wanted[name]}={close[0]!r}?"
        if close
        else f"say which one to take: {wanted[name]}=..."
    )
    return ConfigError(f"{where} has no column {name!r}; it has {shown or 'none'}", hint=hint)


def _check(wanted: Wanted, have: Sequence[Any], where: str) -> None:
    for name in wanted:
        if name not in have:
            raise missing_column(name, wanted, [str(item) for item in have], where)


def _of_mapping(data: Mapping[Any, Any], wanted: Wanted) -> Iterator[Batch]:
    """Columns by name; a generator may stand for a column."""
    _check(wanted, list(data), "the dict")
    for name in wanted:
        if isinstance(data[name], str | bytes) or not isinstance(data[name], Iterable):
            raise ConfigError(
                f"column {name!r} is {shape_name(data[name])}", hint="give a list of values for each column"
            )
    batch: Batch = [_values(data[name]) for name in wanted]
    lengths = {name: len(values) for name, values in zip(wanted, batch, strict=True)}
    if len(set(lengths.values())) > 1:
        raise ConfigError(
            "columns of different length: " + ", ".join(f"{k!r} {n:,}" for k, n in lengths.items())
        )
    yield from _cut(batch)


def _cut(batch: Batch) -> Iterator[Batch]:
    for start in range(0, len(batch[0]), ROWS_AT_ONCE):
        yield [values[start : start + ROWS_AT_ONCE] for values in batch]


def _values(column: Any) -> Sequence[Any]:
    """Return a column as a list of plain Python values."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            values: list[Any] = getattr(column, method)()
            return values
    return column if isinstance(column, list | tuple) else list(column)


def _of_table(data: Any, wanted: Wanted) -> Iterator[Batch]:
    if has_columns(data):
        yield from _cut(_columns(_opened(data), wanted))
        return
    if len(wanted) != 1 or getattr(data, "ndim", 1) != 1:
        needed = ", ".join(map(repr, wanted))
        raise ConfigError(f"{shape_name(data)} has no columns {needed}", hint=_shapes(wanted))
    yield from _cut([_values(data)])


def _opened(data: Any) -> Any:
    """Return something whose columns can be asked for by name."""
    if type(data).__name__ == "LazyFrame":
        return data.collect()
    if _library(data) in ("pandas", "polars") or hasattr(data, "column"):
        return data
    import pyarrow as pa  # a reader of record batches, a DuckDB relation, ...

    return pa.table(data)


def _names(table: Any) -> list[Any]:
    return list(getattr(table, "column_names", None) or table.columns)


def _columns(table: Any, wanted: Wanted) -> Batch:
    names, where = _names(table), shape_name(table)
    _check(wanted, names, where)
    for name in wanted:
        if names.count(name) > 1:
            raise ConfigError(
                f"{where} has {names.count(name)} columns {name!r}",
                hint="give every column a name of its own",
            )
    return [_values(table.column(name) if hasattr(table, "column") else table[name]) for name in wanted]


def has_columns(data: Any) -> bool:
    """Tell a library's table from its columns and arrays."""
    kind = type(data)  # asking the object itself may compute something
    return is_table(data) and any(hasattr(kind, name) for name in ("columns", "column_names", "schema"))


def column_names(data: Any) -> list[Any]:
    """Return the names of a table's columns."""
    return list(data.column_names or ()) if _library(data) == "datasets" else _names(_opened(data))


def _of_dataset(data: Any, wanted: Wanted) -> Iterator[Batch]:
    if isinstance(data, Mapping):
        splits = [str(name) for name in data]
        raise ConfigError(
            f"{shape_name(data)} holds {len(splits)} splits: {', '.join(map(repr, splits))}",
            hint=f"pass one of them: data[{splits[0]!r}]" if splits else "",
        )
    names = data.column_names
    if names is None:  # a stream that has not said what it holds
        yield from _of_rows(iter(data), wanted)
        return
    _check(wanted, names, shape_name(data))
    for rows in data.select_columns(list(wanted)).iter(batch_size=ROWS_AT_ONCE):
        yield [_values(rows[name]) for name in wanted]


def _of_rows(rows: Iterator[Any], wanted: Wanted) -> Iterator[Batch]:
    number = 0
    while some := list(islice(rows, ROWS_AT_ONCE)):
        yield _columns_of_rows(some, wanted, number)
        number += len(some)


def _columns_of_rows(rows: list[Any], wanted: Wanted, first: int) -> Batch:
    kind, names = type(rows[0]), getattr(rows[0], "_fields", ())
    keys: list[Any]
    if isinstance(rows[0], Mapping):
        keys = list(wanted)
    elif isinstance(rows[0], list | tuple):
        named = all(name in names for name in wanted)
        keys = [names.index(name) for name in wanted] if named else list(range(len(wanted)))
        lengths = set(map(len, rows)) if all(isinstance(row, kind) for row in rows) else set()
        if not named and lengths != {len(wanted)}:
            raise _bad_row(rows, wanted, first)
    else:
        raise ConfigError(
            f"row {first} is {shape_name(rows[0])}, not a dict or a tuple", hint=_shapes(wanted)
        )
    try:
        return [list(map(itemgetter(key), rows)) for key in keys]
    except (KeyError, IndexError, TypeError):
        raise _bad_row(rows, wanted, first) from None


def _bad_row(rows: list[Any], wanted: Wanted, first: int) -> ConfigError:
    """Find the row to blame."""
    for number, row in enumerate(rows, first):
        if isinstance(row, Mapping) and isinstance(rows[0], Mapping):
            for name in wanted:
                if name not in row:
                    return missing_column(name, wanted, [str(key) for key in row], f"row {number}")
        elif type(row) is not type(rows[0]):
            return ConfigError(f"row {number} is {shape_name(row)}, and the first one {shape_name(rows[0])}")
        elif len(row) != len(wanted):
            values = "1 value" if len(row) == 1 else f"{len(row)} values"
            return ConfigError(
                f"row {number} has {values}, not {len(wanted)}",
                hint=f"tuples hold {' and '.join(map(repr, wanted))}, in this order; use dicts for more columns",
            )
    return ConfigError("the rows are of different kinds", hint=_shapes(wanted))
