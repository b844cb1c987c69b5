"""The work of ``tokens build``: the rows of one shard to ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.core.plan import Shard
from samebits.data.inputs.corpus import Corpus
from samebits.data.readers.rowblock import BadRow, RowBlock, TextColumn
from samebits.data.readers.rows import iter_rows
from samebits.errors import ConfigError
from samebits.kernels.tokens.rows import join_pieces
from samebits.tokens.early.cut import Cut
from samebits.tokens.early.first_cells import taken_cell
from samebits.tokens.encoders.interface import Rows
from samebits.tokens.long_rows import fit_rows
from samebits.tokens.special_tokens import first_special
from samebits.tokens.template import Template, run_texts
from samebits.tokens.tokenizers.vocab import Encoded, Tokenizer

__all__ = ["EncodeShard", "EncodeState", "EncodedPart", "encode_block", "piece_codes"]


class EncodeState(NamedTuple):
    """What every worker needs, published once."""

    corpus: Corpus
    tokenizer: Tokenizer
    template: Template


def piece_codes(template: Template, tokenizer: Tokenizer) -> NDArray[np.int64]:
    """Return the template's pieces as the kernel takes them.

    Raises:
        ConfigError: if the tokenizer lacks a special token that the template names.
    """
    codes = []
    for piece in template.pieces:
        if isinstance(piece, int):
            codes.append(piece)
            continue
        special = getattr(tokenizer.specials, piece)
        if special is None:
            hint = "add --no-add-eos" if piece == "eos" else f"leave {{{piece}}} out of the template"
            raise ConfigError(f"the tokenizer has no {piece} token", hint=hint)
        codes.append(-1 - special)
    return np.array(codes, np.int64)


class EncodedPart(NamedTuple):
    """The rows of one shard as ids; every count that ``--limit`` may cut is kept by row.

    Attributes:
        ids: One stream.
        lengths: Ids of each row.
        lines: Line of each row in the shard, from 0.
        prompts: Ids of each row up to its first separator.
        text_bytes: Bytes of text that each row holds.
        cut_lines: Lines of rows that were cut.
        dropped_lines: Lines of rows that were dropped.
        bad: Rows that could not be used.
        first_long: Line, offset and length of the first row that is too long; empty without one.
        first_special: Line, offset and name of the first special token in a text; empty without one.
        num_lines: Lines read.
    """

    ids: NDArray[Any]
    lengths: NDArray[np.uint32]
    lines: NDArray[np.uint32]
    prompts: NDArray[np.uint32]
    text_bytes: NDArray[np.uint32]
    cut_lines: NDArray[np.uint32]
    dropped_lines: NDArray[np.uint32]
    bad: list[BadRow]
    first_long: list[int]
    first_special: list[Any]
    num_lines: int


@dataclass(frozen=True, slots=True)
class EncodeShard:
    """Encode one shard.

    Attributes:
        dtype: Type of the stored ids, e.g. ``<u2``.
        width: Longest row kept, or None.
        policy: What happens to longer ones; ``error`` is decided by the fold, which knows line numbers.
        step: Tokens from one window to the next.
        batch_rows: Rows encoded at once.
        max_line_bytes: A longer line is a bad row.
        forbidden: Special tokens that no text may contain.
    """

    dtype: str
    width: int | None
    policy: str
    step: int
    batch_rows: int
    max_line_bytes: int
    forbidden: tuple[str, ...] = ()

    def __call__(self, shard: Shard, state: EncodeState, /) -> EncodedPart:
        """Return the shard's rows as one stream of ids with lengths and line numbers."""
        total = _Part(self.dtype)
        for block in self._blocks(shard, state):
            total.count(block)
            for batch in [block] if _writes_rows(state, self.dtype) else _batches(block, self.batch_rows):
                total.add(batch, self, state)
        return total.part()

    def _blocks(self, shard: Shard, state: EncodeState) -> Iterable[RowBlock]:
        """Return the rows of the shard; those of the first ones may be here already."""
        corpus, columns = state.corpus, state.template.columns
        source = corpus.sources[shard.source]
        if _takes_early(state, self) and source.format == "jsonl" and not source.compression:
            block = taken_cell(
                Cut(source.path, corpus.cell_bytes, columns[0], self.max_line_bytes),
                shard.start,
                shard.stop,
                size=source.size,
                blocks=source.blocks,
                encoder=getattr(state.tokenizer, "encoder", None),
                after=_around(state)[1],
            )
            if block is not None:
                return [block]
        return iter_rows(corpus, shard, columns, max_line_bytes=self.max_line_bytes)


def _batches(block: RowBlock, size: int) -> Iterator[RowBlock]:
    """Cut a block into batches of rows; the buffers are shared."""
    for row in range(0, len(block), size):
        rows = slice(row, row + size)
        columns = {
            name: TextColumn(column.buffer, column.starts[rows], column.stops[rows])
            for name, column in block.columns.items()
        }
        yield replace(block, columns=columns, lines=block.lines[rows], offsets=block.offsets[rows])


def encode_block(
    block: RowBlock, state: EncodeState, codes: NDArray[np.int64], dtype: str
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """Encode the rows of a block: (ids, tokens per row, tokens up to the first separator)."""
    if _writes_rows(state, dtype):
        return *_encode_rows(block, state), np.zeros(len(block), np.int64)
    encoded = [state.tokenizer.encode(run_texts(run, block)) for run in state.template.runs]
    flat, starts, stops = _stack(encoded)
    lengths = np.empty(len(block), np.int64)
    num_special = int((codes < 0).sum())
    size = int((stops - starts).sum()) + num_special * len(block)
    out = np.empty(size, np.dtype(dtype).newbyteorder("="))
    join_pieces(flat, starts, stops, codes, out, lengths)
    prompt = np.zeros(len(block), np.int64)
    if state.template.has_prompt:
        before = state.template.pieces[: state.template.pieces.index("sep") + 1]
        for piece in before:
            prompt += stops[piece] - starts[piece] if isinstance(piece, int) else 1
    return out, lengths, prompt


def _writes_rows(state: EncodeState, dtype: str) -> bool:
    """Whether the tokenizer can write rows as they are stored: one text between special tokens."""
    template = state.template
    plain = len(template.runs) == 1 and template.pieces.count(0) == 1 and not template.has_prompt
    return plain and np.dtype(dtype) == np.uint16 and getattr(state.tokenizer, "writes_rows", False)


def _takes_early(state: EncodeState, task: EncodeShard) -> bool:
    """Whether ids may be used that were made when the texts were read: nothing else asks for a text, and nothing is before it."""
    runs = state.template.runs
    whole = len(runs) == 1 and len(runs[0]) == 1 and runs[0][0][0] == "column"
    return whole and not task.forbidden and _writes_rows(state, task.dtype) and not _around(state)[0]


def _around(state: EncodeState) -> tuple[list[int], list[int]]:
    """Return the ids before and after the one text of a row."""
    codes = piece_codes(state.template, state.tokenizer).tolist()
    text = next(i for i, code in enumerate(codes) if code >= 0)
    return [-1 - code for code in codes[:text]], [-1 - code for code in codes[text + 1 :]]


def _encode_rows(block: RowBlock, state: EncodeState) -> Rows:
    tokenizer: Any = state.tokenizer  # a ``FileTokenizer``
    return tokenizer.encode_rows(run_texts(state.template.runs[0], block), *_around(state))  # type: ignore[no-any-return]


def _stack(encoded: list[Encoded]) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.int64]]:
    """Put the ids of all runs into one array: (ids, starts, stops), the latter two (runs, rows)."""
    bases = np.cumsum([0, *(len(one.ids) for one in encoded)])
    starts = np.stack([one.offsets[:-1] + base for one, base in zip(encoded, bases, strict=False)])
    stops = np.stack([one.offsets[1:] + base for one, base in zip(encoded, bases, strict=False)])
    ids = encoded[0].ids if len(encoded) == 1 else np.concatenate([one.ids for one in encoded])
    return np.ascontiguousarray(ids), starts, stops


class _Part:
    """Collects the batches of one shard."""

    def __init__(self, dtype: str) -> None:
        self.ids: list[NDArray[Any]] = [np.empty(0, np.dtype(dtype))]
        self.arrays: dict[str, list[NDArray[Any]]] = {
            name: [np.empty(0, np.uint32)]
            for name in ("lengths", "lines", "prompts", "text_bytes", "cut_lines", "dropped_lines")
        }
        self.bad: list[BadRow] = []
        self.num_lines = 0
        self.first_long: list[int] = []
        self.first_special: list[Any] = []

    def count(self, block: RowBlock) -> None:
        """Note what the block holds besides rows."""
        self.bad += block.bad
        self.num_lines += block.num_lines

    def add(self, batch: RowBlock, task: EncodeShard, state: EncodeState) -> None:
        """Encode and fit one batch."""
        codes = piece_codes(state.template, state.tokenizer)
        ids, lengths, prompts = encode_block(batch, state, codes, task.dtype)
        if task.policy == "error" and task.width is not None and not self.first_long:
            long = np.flatnonzero(lengths > task.width)[:1]
            self.first_long = [int(x[i]) for i in long for x in (batch.lines, batch.offsets, lengths)]
        if task.forbidden and not self.first_special:
            found = first_special(batch.columns.values(), task.forbidden)
            self.first_special = (
                [int(batch.lines[found[0]]), int(batch.offsets[found[0]]), found[1]] if found else []
            )
        fitted = fit_rows(ids, lengths, width=task.width, policy=task.policy, step=task.step)
        sizes = sum(column.stops - column.starts for column in batch.columns.values())
        self.ids.append(fitted.ids)
        for name, values in (
            ("lengths", fitted.lengths),
            ("lines", batch.lines[fitted.rows]),
            ("prompts", np.clip(prompts[fitted.rows] - fitted.starts, 0, fitted.lengths)),
            ("text_bytes", np.where(fitted.starts == 0, np.asarray(sizes)[fitted.rows], 0)),
            ("cut_lines", batch.lines[fitted.cut]),
            ("dropped_lines", batch.lines[fitted.dropped]),
        ):
            self.arrays[name].append(values.astype(np.uint32))

    def part(self) -> EncodedPart:
        """Join what was collected."""
        joined = {name: np.concatenate(pieces) for name, pieces in self.arrays.items()}
        ids = self.ids[1] if len(self.ids) == 2 else np.concatenate(self.ids)
        return EncodedPart(
            ids=ids,
            **joined,
            bad=self.bad,
            first_long=self.first_long,
            first_special=self.first_special,
            num_lines=self.num_lines,
        )
