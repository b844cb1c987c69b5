"""Which formats exist, and how a file's name tells its format and compression.

A format says how rows are framed (lines, CSV records, Parquet row groups) and so how a file may be cut; what is
inside a row is the business of ``samebits.data.readers.parse``.

>>> format_of("part-00.jsonl.zst")
FileFormat(format='jsonl', compression='zst')
>>> format_of("notes.md") is None
True
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["COMPRESSIONS", "DELIMITERS", "FORMATS", "SUFFIXES", "FileFormat", "format_of"]

FORMATS: Final = ("txt", "jsonl", "csv", "tsv", "parquet")
COMPRESSIONS: Final = ("gz", "zst")
DELIMITERS: Final = {"csv": ord(","), "tsv": ord("\t")}
SUFFIXES: Final = {
    ".txt": "txt",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
}


class FileFormat(NamedTuple):
    """How to read one file; ``compression`` is empty when it is not compressed."""

    format: str
    compression: str


def format_of(name: str, *, format_name: str = "auto") -> FileFormat | None:
    """Tell format and compression from a file name, or None when the suffix is not known.

    A format given by the user holds for every name; the compression always comes from the name.

    >>> format_of("notes.md.gz", format_name="txt")
    FileFormat(format='txt', compression='gz')
    """
    stem, _, last = name.lower().rpartition(".")
    compression = last if stem and last in COMPRESSIONS else ""
    if format_name == "parquet":  # compressed inside, never outside
        return FileFormat("parquet", "")
    if format_name != "auto":
        return FileFormat(format_name, compression)
    inner = stem if compression else name.lower()
    _, dot, suffix = inner.rpartition(".")
    found = SUFFIXES.get(dot + suffix)
    if found is None or (compression and found == "parquet"):
        return None
    return FileFormat(found, compression)
