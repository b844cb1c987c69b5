r"""Read one shard of a corpus as rows: the only way jobs read text.

>>> import tempfile, pathlib
>>> from samebits.data.corpus import open_corpus
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "two.txt").write_bytes(b"one\n\ntwo\n")
>>> corpus = open_corpus([str(folder)])
>>> for shard in corpus.shards():
...     for block in iter_rows(corpus, shard):
...         print(list(block.columns["text"].texts()), block.lines.tolist(), block.num_lines, block.num_blank)
['one', 'two'] [0, 2] 3 1
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from samebits.core.plan import Shard
from samebits.data.corpus import Corpus, Source
from samebits.data.json_rows import JsonParser
from samebits.data.parse import PieceParser, TextParser
from samebits.data.pieces import LineFraming, Piece, read_cell
from samebits.data.rowblock import BadRow, RowBlock, TextColumn
from samebits.errors import ConfigError, InputError

__all__ = ["MAX_LINE_BYTES", "BadRow", "RowBlock", "TextColumn", "iter_rows"]

# A longer line is nearly always a file that is no text; its memory would be multiplied by every worker.
MAX_LINE_BYTES = 64 << 20


def iter_rows(
    corpus: Corpus,
    shard: Shard,
    columns: Sequence[str] = ("text",),
    *,
    max_line_bytes: int = MAX_LINE_BYTES,
) -> Iterator[RowBlock]:
    """Yield the rows a shard owns, in order, in blocks of bounded size.

    A shard of an uncompressed line file is one block, of about the cell's size. Line numbers go on from block to
    block. The bytes are checked against the digests taken when the corpus was opened.

    Args:
        corpus: What ``open_corpus`` gave.
        shard: One of ``corpus.shards()``.
        columns: Which columns to take; plain text has one, ``text``.
        max_line_bytes: A longer record is a bad row, and never in memory as a whole.

    Raises:
        InputError: The file is gone or has changed, is not of its format, or has no such column.
    """
    if not columns or len(set(columns)) < len(columns):
        raise ConfigError(f"columns must be different names, at least one, not {list(columns)}")
    source = corpus.sources[shard.source]
    parser = _parser(source, tuple(columns), max_line_bytes)
    line = 0
    for piece in _pieces(source, shard, max_line_bytes):
        block = parser(piece, first_line=line)
        line += block.num_lines
        yield block


def _pieces(source: Source, shard: Shard, max_line_bytes: int) -> Iterator[Piece]:
    with source.open() as file:
        yield read_cell(file, shard.start, shard.stop, framing=LineFraming(), max_line_bytes=max_line_bytes)


def _parser(source: Source, columns: tuple[str, ...], max_line_bytes: int) -> PieceParser:
    if source.format == "jsonl":
        return JsonParser(columns, max_line_bytes)
    if columns != ("text",):
        raise InputError(
            f"plain text has one column, 'text', not {', '.join(map(repr, columns))}", path=source.origin
        )
    return TextParser(columns, max_line_bytes)
