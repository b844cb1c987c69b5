r"""Read one shard of a corpus as rows: the only way jobs read text.

>>> import tempfile, pathlib
>>> from samebits.data.inputs.corpus import open_corpus
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "two.txt").write_bytes(b"one\n\ntwo\n")
>>> corpus = open_corpus([str(folder)])
>>> for shard in corpus.shards():
...     for block in iter_rows(corpus, shard):
...         print(list(block.columns["text"].texts()), block.lines.tolist(), block.num_lines, block.num_blank)
['one', 'two'] [0, 2] 3 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from samebits.core.light_dataclass import dataclass
from samebits.core.plan import Shard
from samebits.data.inputs.blocks import VerifiedFile
from samebits.data.inputs.corpus import Corpus, Source
from samebits.data.inputs.formats import DELIMITERS
from samebits.data.readers.json_rows import JsonParser
from samebits.data.readers.parse import PieceParser, TextParser
from samebits.data.readers.pieces import Framing, LineFraming, Piece, read_cell
from samebits.data.readers.rowblock import BadRow, RowBlock, TextColumn
from samebits.errors import ConfigError, InputError

if TYPE_CHECKING:
    from samebits.data.readers.csv_rows import CsvFraming

__all__ = ["MAX_LINE_BYTES", "STREAM_BYTES", "BadRow", "RowBlock", "TextColumn", "iter_rows"]

# A longer line is nearly always a file that is no text; its memory would be multiplied by every worker.
MAX_LINE_BYTES = 64 << 20
STREAM_BYTES = 8 << 20


def iter_rows(
    corpus: Corpus,
    shard: Shard,
    columns: Sequence[str] = ("text",),
    *,
    max_line_bytes: int = MAX_LINE_BYTES,
    stream_bytes: int = STREAM_BYTES,
) -> Iterator[RowBlock]:
    """Yield the rows a shard owns, in order, in blocks of bounded size.

    A shard of an uncompressed line file is one block, of about the cell's size. Line numbers go on from block to
    block. The bytes are checked against the digests taken when the corpus was opened.

    Args:
        corpus: What ``open_corpus`` gave.
        shard: One of ``corpus.shards()``.
        columns: Which columns to take; plain text has one, ``text``.
        max_line_bytes: A longer record is a bad row, and never in memory as a whole.
        stream_bytes: About how much of a compressed file is in one block; never changes the rows.

    Raises:
        InputError: The file is gone or has changed, is not of its format, or has no such column.
    """
    if not columns or len(set(columns)) < len(columns):
        raise ConfigError(f"columns must be different names, at least one, not {list(columns)}")
    source = corpus.sources[shard.source].as_read()
    reader = _READERS[source.format]
    with source.open() as file:
        yield from reader(_Reading(source, shard, file, tuple(columns), max_line_bytes, stream_bytes))


@dataclass(frozen=True, slots=True)
class _Reading:
    """One call of ``iter_rows``."""

    source: Source
    shard: Shard
    file: VerifiedFile
    columns: tuple[str, ...]
    max_line_bytes: int
    stream_bytes: int

    def pieces(self, framing: Framing) -> Iterator[Piece]:
        """Yield the whole records of the shard."""
        if self.source.compression:
            return self._stream(framing, self.shard.start, self.shard.stop)
        start, stop = self.shard.start, self.shard.stop
        return iter([read_cell(self.file, start, stop, framing=framing, max_line_bytes=self.max_line_bytes)])

    def header(self, framing: CsvFraming) -> Piece:
        """Read the first record of the file alone, whichever shard this is."""
        from samebits.data.readers.csv_rows import read_header

        if not self.source.compression:
            return read_header(self.file, framing, max_line_bytes=self.max_line_bytes)
        return next(self._stream(framing, 0, 0))

    def _stream(self, framing: Framing, start: int, stop: int) -> Iterator[Piece]:
        """Yield the records of a compressed file that begin in ``(start, stop]`` of its content, the first one with 0."""
        from samebits.data.readers.streams import NEVER, ContentStream, WholeStream, stream_pieces

        points, state = self.source.points, 0
        stream: ContentStream = WholeStream(self.file, self.source.compression)
        if points is not None:
            from samebits.data.compressed.reading import PointStream  # only for large compressed files

            number = points.number_of(start)
            state = int(points.table["state"][number])
            stream = PointStream(self.file, self.source.compression, points, number)
        return stream_pieces(
            stream,
            framing=framing,
            stream_bytes=self.stream_bytes,
            max_line_bytes=self.max_line_bytes,
            state=state,
            stop=stop if points is not None and stop < points.end else NEVER,
        )


def _parsed(pieces: Iterator[Piece], parser: PieceParser) -> Iterator[RowBlock]:
    line = 0
    for piece in pieces:
        block = parser(piece, first_line=line)
        line += block.num_lines
        yield block


def _read_text(reading: _Reading) -> Iterator[RowBlock]:
    if reading.columns != ("text",):
        names = ", ".join(map(repr, reading.columns))
        raise InputError(f"plain text has one column, 'text', not {names}", path=reading.source.origin)
    return _parsed(reading.pieces(LineFraming()), TextParser(reading.columns, reading.max_line_bytes))


def _read_json(reading: _Reading) -> Iterator[RowBlock]:
    return _parsed(reading.pieces(LineFraming()), JsonParser(reading.columns, reading.max_line_bytes))


def _read_csv(reading: _Reading) -> Iterator[RowBlock]:
    """Take the header from the start of the file, whichever shard this is, and leave it out of the rows."""
    from samebits.data.readers.csv_rows import CsvFraming, CsvParser, header_of, split_header

    source, max_line_bytes = reading.source, reading.max_line_bytes
    framing = CsvFraming(DELIMITERS[source.format], source.states or b"\0")
    pieces = reading.pieces(framing)
    if reading.shard.start > 0:
        header = reading.header(framing)
    else:
        first = next(pieces, None)
        if first is None:
            return iter(())
        header, rest = split_header(first, framing)
        pieces = chain([rest], pieces)
    parser = CsvParser.for_header(
        header_of(header, framing.delimiter, max_line_bytes=max_line_bytes, origin=source.origin),
        reading.columns,
        delimiter=framing.delimiter,
        max_line_bytes=max_line_bytes,
        origin=source.origin,
    )
    return _parsed(pieces, parser)


def _read_parquet(reading: _Reading) -> Iterator[RowBlock]:
    from samebits.data.readers.parquet_rows import parquet_blocks

    return parquet_blocks(
        reading.file,
        reading.shard.start,
        reading.shard.stop,
        reading.columns,
        max_line_bytes=reading.max_line_bytes,
    )


_READERS: dict[str, Callable[[_Reading], Iterator[RowBlock]]] = {
    "txt": _read_text,
    "jsonl": _read_json,
    "csv": _read_csv,
    "tsv": _read_csv,
    "parquet": _read_parquet,
}
