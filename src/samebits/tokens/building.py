"""``tokens build``: fold the encoded shards, in order, into the files of a store.

The fold knows what a task cannot: how many lines came before. So it numbers rows over all files, decides each row's
split by a hash of (seed, row number), applies ``--limit`` and writes. Repairing one bad line moves no other row
to another split, and appending input moves none either.
"""

from __future__ import annotations

from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.observing.events import Metric, Warned
from samebits.core.plan import Plan, Shard
from samebits.core.seeds import key_for
from samebits.data.artifact import ArtifactWriter
from samebits.data.files import writing
from samebits.data.token_store import STORE_FORMAT
from samebits.errors import InputError
from samebits.kernels.tokens.order import hash_rows, permute
from samebits.kernels.tokens.rows import copy_ranges
from samebits.tokens.config import TokensConfig, store_dtype
from samebits.tokens.encode import EncodedPart, EncodeShard, EncodeState, piece_codes
from samebits.tokens.encoders.interface import SpecialTokens
from samebits.tokens.estimate import estimate
from samebits.tokens.layouts.interface import Batch, RowWriter, StoreShape, close_all
from samebits.tokens.layouts.packed import PackedWriter
from samebits.tokens.layouts.table import LAYOUTS
from samebits.tokens.tokenizers.open_tokenizer import LEARNED, built_in, open_tokenizer
from samebits.tokens.tokenizers.vocab import Tokenizer
from samebits.tokens.training.settings import LearnSettings

__all__ = ["build"]

SLOT_ROWS = 4096  # rows gathered at a time when they are put in another order
COUNTERS = ("read", "blank", "dropped", "cut", "unknown", "text_bytes")
ROW_ARRAYS = ("lengths", "lines", "prompts", "text_bytes")


def build(plan: Plan, config: TokensConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
    """Write a store; return its description and which encoder was used."""
    tokenizer = _tokenizer(plan, config, engine)
    state = EncodeState(plan.inputs, tokenizer, config.parsed_template())
    piece_codes(state.template, tokenizer)  # a missing special token is a mistake to report now
    dtype = store_dtype(config, tokenizer).str
    guess = estimate(plan, config, state, dtype)
    engine.observer(Warned(guess.sentence()))
    guess.check(out.output.absolute().parent)
    task = EncodeShard(
        dtype,
        config.width,
        config.truncate,
        config.stride or config.length or 1,
        config.batch_size,
        config.max_line_bytes,
        tokenizer.special_names if config.special_tokens == "error" else (),
    )
    with writing(out.output), _Fold(plan, config, tokenizer, dtype, out) as fold:
        for shard, part in engine.map_ordered("encode", task, plan.shards, state=state, unit="bytes"):
            fold.add(shard, part)
            engine.observer(Metric("tokens", fold.num_tokens))
            engine.observer(Metric("bad_rows", out.bad_rows.num_bad))
            if fold.is_full:
                break
        about = fold.finish()
    out.write_json("store.json", about)
    out.write_bytes("tokenizer.json", tokenizer.dump())
    return {**about, "encoder": tokenizer.note, "estimate": guess.sentence()}


def _tokenizer(plan: Plan, config: TokensConfig, engine: Engine) -> Tokenizer:
    kind = built_in(config.tokenizer)
    special_tokens: SpecialTokens = "ids" if config.special_tokens == "ids" else "text"
    if kind not in LEARNED:
        memory = config.memory_mb * 1_000_000 * engine.tasks_in_memory
        return open_tokenizer(config.tokenizer, memory_bytes=memory, special_tokens=special_tokens)
    from samebits.tokens.training.learn import learn_tokenizer  # most builds learn nothing

    columns = config.parsed_template().columns
    settings = LearnSettings(
        kind,  # type: ignore[arg-type]  # one of LEARNED
        config.vocab_size,
        columns,
        seed=config.seed,
        max_line_bytes=config.max_line_bytes,
        special_tokens=special_tokens,
    )
    return learn_tokenizer(plan, settings, engine, None)


class _Fold:
    """Folds parts in shard order.

    State: ``row_base`` lines before this part in all files, ``line_base`` in its own file; ``num_used`` usable rows so
    far; ``counts`` what became of lines; one writer for each split.
    """

    def __init__(
        self, plan: Plan, config: TokensConfig, tokenizer: Tokenizer, dtype: str, out: ArtifactWriter
    ) -> None:
        self.plan, self.config, self.tokenizer, self.dtype, self.out = plan, config, tokenizer, dtype, out
        self.row_base = 0
        self.line_base = 0
        self.source = -1
        self.num_used = 0
        self.is_full = False
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.threshold = np.uint64(int(config.val_ratio * 2.0**64))
        self.prompts = config.parsed_template().has_prompt
        self.shape = StoreShape(dtype, config.width, tokenizer.specials.pad, self.prompts)
        make = self._scratch_writer if config.shuffle else self._final_writer
        self.writers: dict[str, RowWriter] = {split: make(split) for split in config.splits}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        close_all(*self.writers.values())

    @property
    def num_tokens(self) -> int:
        """Tokens written so far."""
        return sum(writer.num_tokens for writer in self.writers.values())

    def _final_writer(self, split: str) -> RowWriter:
        return LAYOUTS[self.config.layout].writer(self.out.path, split, self.shape)

    def _scratch_writer(self, split: str) -> RowWriter:
        return PackedWriter(self.out.path, f"scratch.{split}", replace(self.shape, prompts=True))

    def add(self, shard: Shard, part: EncodedPart) -> None:
        """Fold one part."""
        self.line_base = self.line_base if shard.source == self.source else 0
        self.source = shard.source
        part = self._within_limit(part)
        self._refuse_long(shard, part)
        self._refuse_special(shard, part)
        self.out.bad_rows.take(self.plan, shard, part.bad, num_lines=part.num_lines)
        self._count(part)
        source = part.lines.astype(np.int64) + self.row_base
        whole = Batch(part.ids, part.lengths.astype(np.int64), source, part.prompts.astype(np.int64))
        if len(self.writers) == 1:
            self.writers["train"].append(whole)
        else:
            is_val = hash_rows(self.config.seed, source) < self.threshold
            self.writers["train"].append(_chosen(whole, ~is_val))
            self.writers["val"].append(_chosen(whole, is_val))
        self.row_base += part.num_lines
        self.line_base += part.num_lines

    def _within_limit(self, part: EncodedPart) -> EncodedPart:
        """Cut a part after the last row that ``--limit`` allows, as if the input had ended with its line."""
        first = _first_of_each(part.lines)
        left = len(first) if self.config.limit is None else self.config.limit - self.num_used
        self.num_used += min(left, len(first))
        self.is_full = self.config.limit is not None and self.num_used >= self.config.limit
        if not self.is_full:
            return part
        stop = int(first[left]) if left < len(first) else len(part.lines)
        num_lines = int(part.lines[stop - 1]) + 1 if stop else 0
        cut = {name: getattr(part, name)[:stop] for name in ROW_ARRAYS}
        return part._replace(
            ids=part.ids[: int(cut["lengths"].sum(dtype=np.int64))],
            **cut,
            cut_lines=part.cut_lines[part.cut_lines < num_lines],
            dropped_lines=part.dropped_lines[part.dropped_lines < num_lines],
            bad=[row for row in part.bad if row["line"] < num_lines],
            num_lines=num_lines,
        )

    def _count(self, part: EncodedPart) -> None:
        num_rows, num_dropped = len(_first_of_each(part.lines)), len(part.dropped_lines)
        unknown = self.tokenizer.specials.unk
        for name, number in (
            ("read", part.num_lines),
            ("blank", part.num_lines - num_rows - num_dropped - len(part.bad)),
            ("dropped", num_dropped),
            ("cut", len(part.cut_lines)),
            ("unknown", 0 if unknown is None else int(np.count_nonzero(part.ids == unknown))),
            ("text_bytes", int(part.text_bytes.sum(dtype=np.int64))),
        ):
            self.counts[name] += number

    def _refuse_long(self, shard: Shard, part: EncodedPart) -> None:
        if not part.first_long or part.first_long[0] >= part.num_lines:
            return
        line, offset, length = part.first_long
        raise InputError(
            f"a row of {length} tokens is longer than {self.config.width}",
            path=self.plan.source_names[shard.source],
            line=self.line_base + line + 1,
            offset=offset,
            hint="use --truncate cut, drop or window, or a larger --max-length",
        )

    def _refuse_special(self, shard: Shard, part: EncodedPart) -> None:
        if not part.first_special or part.first_special[0] >= part.num_lines:
            return
        line, offset, name = part.first_special
        raise InputError(
            f"a text contains the special token {name}",
            path=self.plan.source_names[shard.source],
            line=self.line_base + line + 1,
            offset=offset,
            hint="use --special-tokens text to keep it as text, or ids to make it the token",
        )

    def finish(self) -> dict[str, Any]:
        """Close the files, put rows in order, write exports; return the description of the store."""
        self.out.bad_rows.check()
        close_all(*self.writers.values())
        if not self.num_used:
            raise InputError(
                "no usable rows", path=", ".join(self.plan.source_names[:3]), hint="see the bad rows"
            )
        if self.config.shuffle:
            self.writers = {split: self._shuffled(split) for split in self.config.splits}
        for split, writer in self.writers.items():
            if isinstance(writer, PackedWriter):
                self.out.know(f"{split}.bin", writer.seal.entry())
            LAYOUTS[self.config.layout].extras(self.out.path, split, self.shape, self.config.extras)
        return self._about()

    def _shuffled(self, split: str) -> RowWriter:
        """Gather rows from the scratch files into their slots."""
        writer = self._final_writer(split)
        names = {
            name: f"scratch.{split}.{name}" for name in ("bin", "offsets.npy", "source.npy", "prompts.npy")
        }
        paths = {name: self.out.path(full) for name, full in names.items()}
        offsets, source, prompts = (np.load(paths[name], mmap_mode="r") for name in list(names)[1:])
        size = paths["bin"].stat().st_size
        stream = np.memmap(paths["bin"], self.dtype, "r") if size else np.empty(0, self.dtype)
        key = key_for(self.config.seed, "tokens", "shuffle", split) & ((1 << 64) - 1)
        for slot in range(0, len(source), SLOT_ROWS):
            rows = permute(key, len(source), np.arange(slot, min(slot + SLOT_ROWS, len(source))))
            starts, stops = offsets[rows].astype(np.int64), offsets[rows + 1].astype(np.int64)
            ids = np.empty(int((stops - starts).sum()), self.dtype)
            copy_ranges(stream, starts, stops, ids)
            writer.append(Batch(ids, stops - starts, source[rows], prompts[rows].astype(np.int64)))
        writer.close()
        del stream, offsets, source, prompts
        for path in paths.values():
            path.unlink()
        return writer

    def _about(self) -> dict[str, Any]:
        lines = {name: self.counts[name] for name in ("read", "blank", "dropped")}
        lines |= {"used": self.num_used, "bad": self.out.bad_rows.num_bad}
        return {
            "format": STORE_FORMAT,
            "layout": self.config.layout,
            "dtype": self.dtype,
            "tokenizer": self.tokenizer.kind,
            "vocab_size": self.tokenizer.vocab_size,
            "specials": self.tokenizer.specials._asdict(),
            "length": self.config.length,
            "prompts": self.prompts,
            "splits": {
                split: {"rows": writer.num_rows, "tokens": writer.num_tokens}
                for split, writer in self.writers.items()
            },
            "lines": lines,
            "rows_cut": self.counts["cut"],
            "unknown_tokens": self.counts["unknown"],
            "text_bytes": self.counts["text_bytes"],
        }


def _first_of_each(lines: NDArray[np.uint32]) -> NDArray[np.int64]:
    """Return the position of the first window of each row."""
    return np.flatnonzero(np.diff(lines.astype(np.int64), prepend=-1))


def _chosen(batch: Batch, pick: NDArray[np.bool_]) -> Batch:
    """Return the rows of a batch that are picked."""
    stops = np.cumsum(batch.lengths)
    starts = (stops - batch.lengths)[pick]
    ids = np.empty(int(batch.lengths[pick].sum()), batch.ids.dtype)
    copy_ranges(batch.ids, starts, stops[pick], ids)
    return Batch(ids, batch.lengths[pick], batch.source[pick], batch.prompts[pick])
