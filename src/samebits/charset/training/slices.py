"""Input of the training: which texts, of which language, in which slices.

Plain text lies in one folder a language (``corpus/de/*.txt``, or one file ``de.txt``); a text is a file, or a line of
it. JSON lines, CSV and Parquet name the language in a column; a text is a row. A slice is a run of *items*, each
the whole or a cell (8 MiB) of one file, of one language and about 2 MiB together, so one large language keeps all cores
busy and ten thousand small files are not ten thousand tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.charset.block import TextBlock, texts_of
from samebits.core.plan import Shard, ShardTable
from samebits.data.compressed.decoders import BrokenStream, decompressed
from samebits.data.inputs.corpus import Corpus, Source
from samebits.data.readers.pieces import BOM, LineFraming, read_cell
from samebits.data.readers.rows import MAX_LINE_BYTES, RowBlock, iter_rows

__all__ = [
    "ROWS",
    "SliceFault",
    "Slices",
    "Texts",
    "Unit",
    "cut_slices",
    "language_of",
    "read_slice",
    "texts_by_language",
]

#: Small files are joined to slices of this size: 15 ms of counting against 3 ms of fixed cost a slice, and enough
#: slices for every core.
SLICE_BYTES = 2 << 20
#: The language of items that name it in a column.
ROWS = "(by row)"
Unit = Literal["file", "line"]


class SliceFault(NamedTuple):
    """A text that cannot be used; ``line`` counts from 0 within the item, None for a whole file."""

    line: int | None
    offset: int | None
    reason: str


class Texts(NamedTuple):
    """Texts of one item, or of several small files.

    Attributes:
        item: Number of the (first) item.
        block: The texts.
        languages: Language of each text, or None when all have the slice's.
        num_read: Texts read, whatever became of them.
        num_lines: Lines or rows of the item that were read; 0 for whole files.
        num_blank: Texts with nothing in them (rows only; an empty file is a text).
        faults: Unusable texts by item.
    """

    item: int
    block: TextBlock
    languages: list[str] | None
    num_read: int
    num_lines: int
    num_blank: int
    faults: list[tuple[int, SliceFault]]


@dataclass(frozen=True)
class Slices:
    """The items and how they are grouped.

    Attributes:
        corpus: The files.
        unit: What a text of a plain text file is.
        columns: Names of the text and the language column.
        languages: Language by the shards' source number.
        items: (3, n): source, first byte, one past the last; by language, then in the corpus' order.
    """

    corpus: Corpus
    unit: Unit
    columns: tuple[str, str]
    languages: tuple[str, ...]
    items: NDArray[np.int64]
    shards: ShardTable

    def source_of(self, item: int) -> Source:
        """The file an item is from."""
        return self.corpus.sources[int(self.items[0, item])]


def language_of(source: Source) -> str:
    """Folder of a plain text file, or its name when it lies in none; a column says it for other formats."""
    if source.format != "txt":
        return ROWS
    *folders, name = source.name.split("/")
    return folders[-1] if folders else name.partition(".")[0]


def cut_slices(
    corpus: Corpus,
    *,
    unit: Unit,
    columns: tuple[str, str],
    languages: Sequence[str] = (),
    max_texts: int = 0,
    slice_bytes: int = SLICE_BYTES,
) -> Slices:
    """Group the items of a corpus.

    Args:
        corpus: The files.
        unit: What a text of a plain text file is.
        columns: Names of the text and the language column.
        languages: Leave other languages' files out; all when empty.
        max_texts: Leave files after the first so many of a language out; 0 for all. Rows and lines are limited
            later, when they have been counted.
        slice_bytes: About how large a slice is.
    """
    if unit == "file":
        corpus = _with_whole_texts(corpus)
    cells = corpus.shards().columns
    of_source = [language_of(source) for source in corpus.sources]
    by_language: dict[str, list[int]] = {}
    for number, source in enumerate(cells[0].tolist()):
        if not languages or of_source[source] in (ROWS, *languages):
            by_language.setdefault(of_source[source], []).append(number)
    names = tuple(sorted(by_language))
    if unit == "file" and max_texts:
        by_language = {name: cut if name == ROWS else cut[:max_texts] for name, cut in by_language.items()}
    order = [number for name in names for number in by_language[name]]
    items = cells[:, np.array(order, np.int64)]
    ranges = _group(items, [len(by_language[name]) for name in names], slice_bytes)
    return Slices(corpus, unit, columns, names, items, ranges)


def _with_whole_texts(corpus: Corpus) -> Corpus:
    """Leave compressed files of plain text whole: each is a text."""
    sources = tuple(
        replace(source, points=None, unpacked=None) if source.format == "txt" else source
        for source in corpus.sources
    )
    return replace(corpus, sources=sources)


def _group(items: NDArray[np.int64], lengths: Sequence[int], slice_bytes: int) -> ShardTable:
    """Join neighbouring items of a language until a slice is full."""
    sizes = (items[2] - items[1]).tolist()
    source, start, stop = [], [], []
    first = 0
    for language, length in enumerate(lengths):
        last = first + length
        while first < last:
            end, room = first, slice_bytes
            while end < last and (end == first or sizes[end] <= room):
                room -= sizes[end]
                end += 1
            source.append(language)
            start.append(first)
            stop.append(end)
            first = end
    return ShardTable.from_ranges(source=source, start=start, stop=stop)


def read_slice(slices: Slices, shard: Shard) -> Iterator[Texts]:
    """Yield the texts of one shard in order, in blocks of bounded size."""
    whole_files = slices.languages[shard.source] != ROWS and slices.unit == "file"
    if whole_files:
        yield _read_files(slices, shard)
        return
    columns = slices.columns if slices.languages[shard.source] == ROWS else ("text",)
    for item in range(shard.start, shard.stop):
        source, start, stop = slices.items[:, item].tolist()
        for rows in iter_rows(slices.corpus, Shard(shard.index, source, start, stop), columns):
            yield _from_rows(item, rows, columns)


def _from_rows(item: int, rows: RowBlock, columns: tuple[str, ...]) -> Texts:
    text = rows.columns[columns[0]]
    languages = list(rows.columns[columns[1]].texts()) if len(columns) > 1 else None
    faults = [(item, SliceFault(bad["line"], bad["offset"], bad["reason"])) for bad in rows.bad]
    block = TextBlock(text.buffer.data, text.starts, text.stops)
    return Texts(item, block, languages, rows.num_lines, rows.num_lines, rows.num_blank, faults)


def _read_files(slices: Slices, shard: Shard) -> Texts:
    data, faults = [], []
    for item in range(shard.start, shard.stop):
        text = _read_text(slices, item)
        if isinstance(text, SliceFault):
            faults.append((item, text))
        else:
            data.append(text)
    stops = np.cumsum([len(text) for text in data], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), stops])[: len(data)]
    block = TextBlock(b"".join(data), starts, stops)
    return Texts(shard.start, block, None, shard.stop - shard.start, 0, 0, faults)


def _read_text(slices: Slices, item: int) -> bytes | SliceFault:
    """One file, or the lines that start in one cell of a large one; line ends become LF."""
    source = slices.source_of(item)
    _, start, stop = slices.items[:, item].tolist()
    with source.open() as file:
        if source.compression:
            try:
                data = b"".join(decompressed(file, source.compression))
            except BrokenStream as error:
                return SliceFault(None, None, str(error))
        elif stop - start == source.size:
            data = file.read(0, source.size).tobytes()
        else:
            piece = read_cell(file, start, stop, framing=LineFraming(), max_line_bytes=MAX_LINE_BYTES)
            data, start = piece.buffer[piece.start : piece.stop].tobytes(), piece.base + piece.start
    try:
        str(data, "utf-8")
    except UnicodeDecodeError as error:
        return SliceFault(None, start + error.start, f"invalid UTF-8: byte 0x{data[error.start]:02x}")
    if start == 0:
        data = data.removeprefix(BOM)
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def texts_by_language(slices: Slices) -> dict[str, list[str]]:
    """All usable texts in memory, by language: for judging a model, not for training one."""
    out: dict[str, list[str]] = {}
    for shard in slices.shards:
        for texts in read_slice(slices, shard):
            found = texts_of(texts.block)
            names = texts.languages or [slices.languages[shard.source]] * len(found)
            for name, text in zip(names, found, strict=True):
                out.setdefault(name, []).append(text)
    return out
