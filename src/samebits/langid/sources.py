"""Labelled rows from every format: one shard -> texts and labels as columns, and what could not be used.

JSON lines, CSV, TSV and Parquet have a text and a label column. A plain text file is taken as ``__label__xx text`` lines,
and a ``.json`` file as one object of language -> list of texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.digest import digest_of
from samebits.core.plan import Shard, ShardTable
from samebits.data.inputs.corpus import Corpus, open_corpus
from samebits.data.readers.rows import BadRow, RowBlock, TextColumn, iter_rows
from samebits.errors import ConfigError, InputError

__all__ = ["CELL_BYTES", "LabelledBlock", "Sources", "iter_labelled", "open_sources"]

# Smaller than the readers' default: 200,000 short rows are 17 shards, so that two workers stay busy to the end.
CELL_BYTES = 2 << 20
LABEL_PREFIX = b"__label__"
WHOLE_FILE = 1 << 62


@dataclass(frozen=True, slots=True)
class Sources:
    """Training and evaluation files as one corpus; the first ``num_train`` sources are for training."""

    corpus: Corpus
    num_train: int
    is_json: bool = False

    @property
    def digest(self) -> str:
        """What they hold; moving a file from training to evaluation is another input."""
        if self.num_train == len(self.corpus.sources):
            return self.corpus.digest
        return digest_of([self.corpus.digest, self.num_train])

    def shards(self) -> ShardTable:
        """Cut all files."""
        return self.corpus.shards()


class LabelledBlock(NamedTuple):
    """Some rows of a shard: text and label columns, line numbers, and the bookkeeping of a RowBlock."""

    text: TextColumn
    label: TextColumn
    lines: NDArray[np.int64]
    num_lines: int
    num_blank: int
    bad: list[BadRow]


def open_sources(inputs: Sequence[str], evals: Sequence[str], *, input_format: str) -> Sources:
    """List and hash the files.

    Raises:
        ConfigError: if JSON objects and row files are mixed.
    """
    names = [*inputs, *evals]
    is_json = input_format == "json" or (input_format == "auto" and any(map(_is_json, names)))
    if is_json and input_format == "auto" and not all(map(_is_json, names)):
        raise ConfigError(
            "JSON objects and files of rows cannot be mixed", hint="train on each and use 'langid merge'"
        )
    wanted = "txt" if is_json or input_format == "labels" else input_format
    cell_bytes = WHOLE_FILE if is_json else CELL_BYTES
    train = open_corpus(inputs, format=wanted, cell_bytes=cell_bytes)
    if not evals:
        return Sources(train, len(train.sources), is_json)
    both = open_corpus(evals, format=wanted, cell_bytes=cell_bytes)
    joined = Corpus(train.sources + both.sources, cell_bytes, train.notes + both.notes)
    return Sources(joined, len(train.sources), is_json)


def _is_json(name: str) -> bool:
    return name.lower().endswith(".json")


def iter_labelled(
    sources: Sources, shard: Shard, *, text_column: str, lang_column: str
) -> Iterator[LabelledBlock]:
    """Yield a shard's labelled rows in order; rows without a label are bad rows."""
    source = sources.corpus.sources[shard.source]
    if sources.is_json:
        yield _json_block(sources, shard)
        return
    if source.format == "txt":
        for block in iter_rows(sources.corpus, shard, ("text",)):
            yield _from_label_lines(block)
        return
    for block in iter_rows(sources.corpus, shard, (text_column, lang_column)):
        yield _checked(block, block.columns[text_column], block.columns[lang_column], "empty label")


def _from_label_lines(block: RowBlock) -> LabelledBlock:
    from samebits.kernels.langid.text.sentences import split_labels

    line = block.columns["text"]
    ends = split_labels(line.buffer, line.starts, line.stops, LABEL_PREFIX)
    starts = line.starts + len(LABEL_PREFIX)
    label = TextColumn(line.buffer, np.minimum(starts, line.stops), np.where(ends < 0, starts, ends))
    label.stops[ends < 0] = label.starts[ends < 0]
    text = TextColumn(
        line.buffer, np.where(ends < 0, line.stops, np.minimum(ends + 1, line.stops)), line.stops
    )
    return _checked(block, text, label, "no __label__ at the start of the line")


def _checked(block: RowBlock, text: TextColumn, label: TextColumn, reason: str) -> LabelledBlock:
    good = label.stops > label.starts
    if good.all():
        return LabelledBlock(text, label, block.lines, block.num_lines, block.num_blank, block.bad)
    wrong = np.flatnonzero(~good)
    more: list[BadRow] = [
        {"line": int(block.lines[i]), "offset": int(block.offsets[i]), "reason": reason} for i in wrong
    ]
    bad = sorted([*block.bad, *more], key=lambda row: row["line"])
    return LabelledBlock(
        _take(text, good), _take(label, good), block.lines[good], block.num_lines, block.num_blank, bad
    )


def _take(column: TextColumn, rows: NDArray[np.bool_]) -> TextColumn:
    return TextColumn(column.buffer, column.starts[rows], column.stops[rows])


def _json_block(sources: Sources, shard: Shard) -> LabelledBlock:
    import msgspec

    source = sources.corpus.sources[shard.source]
    lines = [column for block in iter_rows(sources.corpus, shard, ("text",)) for column in _raw_lines(block)]
    try:
        table = msgspec.json.decode(b"\n".join(lines), type=dict[str, list[str]])
    except msgspec.MsgspecError as error:
        raise InputError(
            f"not an object of language -> list of texts: {error}",
            path=source.origin,
            hint='write {"en": ["a text", ...], ...}, or give rows as .jsonl',
        ) from None
    pairs = [
        (label.encode(), text.encode(errors="replace")) for label, texts in table.items() for text in texts
    ]
    label, text = _column([pair[0] for pair in pairs]), _column([pair[1] for pair in pairs])
    rows = np.arange(len(pairs), dtype=np.int64)
    return _checked(RowBlock({}, rows, rows, len(pairs), 0, []), text, label, "empty label")


def _raw_lines(block: RowBlock) -> Iterator[bytes]:
    column = block.columns["text"]
    return (column[row] for row in range(len(column)))


def _column(items: list[bytes]) -> TextColumn:
    lengths = np.array([len(item) for item in items], np.int64)
    stops = np.cumsum(lengths)
    return TextColumn(np.frombuffer(b"".join(items) + b"\0", np.uint8), stops - lengths, stops)
