"""Write a table back with a language for each row: all columns stay as they are, ``lang`` and ``confidence`` are added."""

from __future__ import annotations

import csv as lines
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import csv, parquet

from samebits.errors import ConfigError, InputError, did_you_mean
from samebits.langid.model.model import LangidModel

__all__ = ["predict_table"]

ADDED = ("lang", "confidence")
SUFFIXES = {".csv": ",", ".tsv": "\t"}


def predict_table(
    model: LangidModel,
    source: str | Path,
    output: str | Path,
    *,
    column: str = "text",
    min_confidence: float = 0.0,
    languages: Sequence[str] = (),
    scripts: bool = False,
) -> int:
    """Read a CSV, TSV, JSON lines, Parquet or text file, add two columns, write it; the suffixes say the formats.

    Returns:
        The number of rows.

    Raises:
        ConfigError: for a suffix that is not known, or a file that has the columns already.
        InputError: if the column is missing.
    """
    table = _read(Path(source), column)
    taken = [name for name in ADDED if name in table.column_names]
    if taken:
        raise ConfigError(f"{source} has a column {taken[0]!r} already", hint="rename it first")
    texts = ["" if text is None else str(text) for text in table.column(column).to_pylist()]
    found = list(
        model.predict_full(texts, min_confidence=min_confidence, languages=languages or None, scripts=scripts)
    )
    table = table.append_column("lang", pa.array([p.label for p in found], pa.string()))
    table = table.append_column("confidence", pa.array([round(p.confidence, 4) for p in found], pa.float64()))
    _write(table, Path(output))
    return len(found)


def _read(path: Path, column: str) -> pa.Table:
    if not path.is_file():
        raise InputError("no such file", path=str(path))
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        table = _as_strings(path, SUFFIXES[suffix])
    elif suffix == ".parquet":
        table = parquet.read_table(path)
    elif suffix in (".jsonl", ".ndjson"):
        try:
            rows = msgspec.json.Decoder(dict[str, Any]).decode_lines(path.read_bytes())
        except msgspec.DecodeError as error:
            raise InputError(f"not JSON lines: {error}", path=str(path)) from None
        names = list(dict.fromkeys(name for row in rows for name in row))
        table = pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
    elif suffix == ".txt":
        table = pa.table({column: path.read_text(encoding="utf-8", errors="replace").splitlines()})
    else:
        raise ConfigError(
            f"{path.name}: -o does not read {suffix or 'files without a suffix'}", hint=_FORMATS
        )
    if column not in table.column_names:
        hint = did_you_mean(column, table.column_names) or f"columns: {', '.join(table.column_names)}"
        raise InputError(f"no column {column!r}", path=str(path), hint=f"--text-column names it; {hint}")
    return table


_FORMATS = "use .csv, .tsv, .jsonl, .parquet or .txt"


def _as_strings(path: Path, delimiter: str) -> pa.Table:
    """Every cell as it is written: 007 stays 007."""
    parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
    try:
        with csv.open_csv(path, parse_options=parse) as reader:
            names = reader.schema.names
        convert = csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False
        )
        return csv.read_csv(path, parse_options=parse, convert_options=convert)
    except pa.ArrowInvalid as error:
        raise InputError(str(error), path=str(path)) from None


def _write(table: pa.Table, path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix in SUFFIXES:
        columns = [table.column(name).to_pylist() for name in table.column_names]
        with path.open("w", encoding="utf-8", newline="") as file:  # Arrow would quote every string
            writer = lines.writer(file, delimiter=SUFFIXES[suffix], lineterminator="\n")
            writer.writerow(table.column_names)
            writer.writerows(zip(*columns, strict=True))
    elif suffix == ".parquet":
        parquet.write_table(table, path)
    elif suffix in (".jsonl", ".ndjson"):
        path.write_bytes(msgspec.json.Encoder().encode_lines(table.to_pylist()))
    else:
        raise ConfigError(
            f"{path.name}: -o does not write {suffix or 'files without a suffix'}", hint=_FORMATS
        )
