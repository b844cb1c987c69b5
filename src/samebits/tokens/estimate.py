"""How much disk and memory a build will take, from a sample of the input, before anything is written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from samebits.core.light_dataclass import dataclass
from samebits.core.observing.units import show_size
from samebits.core.plan import Plan, Shard, ShardTable
from samebits.data.folding.shape import group_shards, row_starts
from samebits.data.inputs.corpus import Corpus
from samebits.data.readers.rowblock import RowBlock
from samebits.data.readers.rows import iter_rows
from samebits.errors import OutputFailed
from samebits.machine.cores import free_bytes
from samebits.tokens.config import TokensConfig
from samebits.tokens.encode import EncodeState, encode_block, piece_codes
from samebits.tokens.layouts.store_file import StoreShape
from samebits.tokens.layouts.table import LAYOUTS
from samebits.tokens.tokenizers.file_tokenizer import FileTokenizer

__all__ = ["SizeEstimate", "estimate"]

SAMPLE_BYTES = 1 << 18
# A worker holds a cell, its parsed columns, strings and ids at once; measured 7 to 9 times the cell.
CELL_COPIES = 9
ENCODER_BYTES = 120_000_000  # a byte-pair encoder with a warm cache


@dataclass(frozen=True, slots=True)
class SizeEstimate:
    """What a build will probably take.

    Attributes:
        num_rows: Rows of all splits.
        num_tokens: Tokens of all splits.
        store_bytes: The finished files.
        extra_bytes: What workers keep for one another, removed at the end.
        worker_bytes: Memory of one worker.
    """

    num_rows: int
    num_tokens: int
    store_bytes: int
    extra_bytes: int
    worker_bytes: int

    def sentence(self) -> str:
        """Say it in one line."""
        return (
            f"estimate: {self.num_rows:,} rows, {self.num_tokens:,} tokens, "
            f"{show_size(self.store_bytes)} on disk and {show_size(self.extra_bytes)} more while running, "
            f"{show_size(self.worker_bytes)} of memory per worker"
        )

    def check(self, folder: Path) -> None:
        """Refuse what cannot fit.

        Raises:
            OutputFailed: if the disk or the memory is too small.
        """
        disk = os.statvfs(folder)  # ``shutil`` brings all its compressors: 2 ms
        free = disk.f_bavail * disk.f_frsize
        needed = self.store_bytes + self.extra_bytes
        if needed > free:
            raise OutputFailed(
                f"the build needs about {show_size(needed)} on disk, and {show_size(free)} are free",
                hint="choose a different output, or use --limit or a smaller --max-length",
            )
        memory = free_bytes()
        if self.worker_bytes > memory:
            raise OutputFailed(
                f"a worker needs about {show_size(self.worker_bytes)} of memory, and {show_size(memory)} are free",
                hint="use a smaller --cell-mb",
            )


def estimate(plan: Plan, config: TokensConfig, state: EncodeState, dtype: str) -> SizeEstimate:
    """Encode a sample from the start of the input and scale it up."""
    corpus: Corpus = plan.inputs
    text_bytes = corpus.likely_text_bytes
    sample_rows, sample_tokens, sample_bytes = _sample(plan, config, state, dtype)
    scale = text_bytes / max(sample_bytes, 1)
    num_rows, num_tokens = round(sample_rows * scale), round(sample_tokens * scale)
    if config.limit is not None and config.limit < num_rows:
        num_tokens = round(num_tokens * config.limit / num_rows)
        num_rows = config.limit
    stream = num_tokens * np.dtype(dtype).itemsize
    kept = stream + 12 * num_rows  # once as encoded, once split, twice on the way to another order
    copies = 1 + (len(config.splits) > 1) + 2 * config.shuffle
    shape = StoreShape(dtype, config.width, state.tokenizer.specials.pad, state.template.has_prompt)
    largest, node = (
        _longest(shards) for shards in (plan.shards, group_shards(plan.shards, row_starts(plan.shards)))
    )
    encoder = ENCODER_BYTES if isinstance(state.tokenizer, FileTokenizer) else 0
    return SizeEstimate(
        num_rows,
        num_tokens,
        LAYOUTS[config.layout].num_bytes(num_rows, num_tokens, shape, config.extras),
        kept * copies,
        CELL_COPIES * largest + round((node - largest) * kept / max(text_bytes, 1)) + encoder,
    )


def _longest(shards: ShardTable) -> int:
    return int((shards.columns[2] - shards.columns[1]).max(initial=0))


def _sample(plan: Plan, config: TokensConfig, state: EncodeState, dtype: str) -> tuple[int, int, int]:
    """Encode the first rows: (rows, tokens, bytes of the input they came from)."""
    codes = piece_codes(state.template, state.tokenizer)
    for shard in _heads(plan):
        blocks = iter_rows(
            state.corpus,
            shard,
            state.template.columns,
            max_line_bytes=config.max_line_bytes,
            stream_bytes=SAMPLE_BYTES,
        )
        for block in blocks:
            if len(block) == 0:
                continue
            rows = max(1, int(np.searchsorted(block.offsets - block.offsets[0], SAMPLE_BYTES)))
            head = _head(block, rows)
            ids, _, _ = encode_block(head, state, codes, dtype)
            return rows, len(ids), _span(block, rows, shard.stop - shard.start)
    return 0, 0, 1


def _heads(plan: Plan) -> Iterator[Shard]:
    """Yield the first shards, before each the little of it that usually holds a sample; Parquet has no bytes to cut."""
    for shard in plan.shards[:3]:
        if plan.inputs.sources[shard.source].format != "parquet":
            yield replace(shard, stop=min(shard.stop, shard.start + SAMPLE_BYTES))
        yield shard


def _head(block: RowBlock, rows: int) -> RowBlock:
    columns = {
        name: replace(column, starts=column.starts[:rows], stops=column.stops[:rows])
        for name, column in block.columns.items()
    }
    return replace(block, columns=columns, lines=block.lines[:rows], offsets=block.offsets[:rows])


def _span(block: RowBlock, rows: int, shard_bytes: int) -> int:
    """Bytes of the input that hold these rows: in Parquet offsets are row numbers, so text size stands in.

    It also does where the last row goes on far beyond its shard.
    """
    span = int(block.offsets[rows] - block.offsets[0]) if rows < len(block) else shard_bytes
    text = sum(int((c.stops[:rows] - c.starts[:rows]).sum()) for c in block.columns.values())
    return max(span, text, 1)
