"""Learn a vocabulary: characters and words by exact counts, byte pairs by the trainer of ``tokenizers``.

Counts are integers and the order is (-count, bytes), so neither the number of workers nor the way the input is cut
reaches the vocabulary. The byte-pair trainer sees a sample of the rows, chosen by a hash of (file, byte offset): it gives
the same file for any number of threads and any order of texts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.core.seeds import key_for
from samebits.data.artifact import ArtifactWriter
from samebits.data.inputs.corpus import Corpus
from samebits.data.readers.rows import MAX_LINE_BYTES, iter_rows
from samebits.errors import ConfigError, InputError
from samebits.kernels.tokens.chars import count_chars, rows_to_strings
from samebits.kernels.tokens.order import hash_rows
from samebits.kernels.tokens.words import count_words
from samebits.tokens.encoders.interface import SpecialTokens
from samebits.tokens.encoders.open_tokenizer import load_tokenizer
from samebits.tokens.encoders.tokenizers_encoder import import_tokenizers
from samebits.tokens.encoders.vocab import (
    FIRST_ID,
    SPECIAL_NAMES,
    WORD_CLASSES,
    CharTokenizer,
    Tokenizer,
    WordTokenizer,
)

__all__ = ["LearnSettings", "learn_tokenizer"]

COMPRESSED_FACTOR = 4  # text in a compressed file, by its size; only steers how large a sample is


@dataclass(frozen=True, slots=True)
class LearnSettings:
    """What to learn.

    Attributes:
        kind: ``char``, ``word`` or ``bpe``.
        vocab_size: Largest vocabulary, special tokens included.
        columns: Columns that hold the text.
        min_count: Rarer characters, words or pairs are left out.
        sample_mb: Text given to the byte-pair trainer at most.
        seed: Seed of the sample.
        max_line_bytes: A longer line is a bad row.
        special_tokens: What special tokens inside a text become when the tokenizer is used.
    """

    kind: Literal["char", "word", "bpe"]
    vocab_size: int
    columns: tuple[str, ...]
    min_count: int = 1
    sample_mb: int = 100
    seed: int = 0
    max_line_bytes: int = MAX_LINE_BYTES
    special_tokens: SpecialTokens = "text"


@dataclass(frozen=True, slots=True)
class CountVocabulary:
    """Count the characters or words of one shard."""

    kind: str
    columns: tuple[str, ...]
    max_line_bytes: int

    def __call__(self, shard: Shard, state: Corpus, /) -> dict[str, Any]:
        """Return distinct keys, one after the other, with offsets and counts."""
        counts: dict[bytes, int] = {}
        bad, num_lines = [], 0
        count = _count_words if self.kind == "word" else _count_chars
        for block in iter_rows(state, shard, self.columns, max_line_bytes=self.max_line_bytes):
            for column in block.columns.values():
                for key, number in count(column.buffer, column.starts, column.stops):
                    counts[key] = counts.get(key, 0) + number
            bad += [dict(row) for row in block.bad]
            num_lines += block.num_lines
        keys = sorted(counts)
        return {
            "keys": b"".join(keys),
            "offsets": np.cumsum([0, *map(len, keys)], dtype=np.int64),
            "counts": np.array([counts[key] for key in keys], np.int64),
            "bad": bad,
            "num_lines": num_lines,
        }


def _count_words(buffer: Any, starts: Any, stops: Any) -> Iterator[tuple[bytes, int]]:
    begins, lengths, counts = count_words(buffer, starts, stops, WORD_CLASSES)
    data = memoryview(buffer)
    for begin, length, number in zip(begins.tolist(), lengths.tolist(), counts.tolist(), strict=True):
        yield bytes(data[begin : begin + length]), number


def _count_chars(buffer: Any, starts: Any, stops: Any) -> Iterator[tuple[bytes, int]]:
    counts = count_chars(buffer, starts, stops)
    for code in np.flatnonzero(counts).tolist():
        yield chr(code).encode(), int(counts[code])


@dataclass(frozen=True, slots=True)
class SampleShard:
    """Take the rows of one shard that the byte-pair trainer sees."""

    columns: tuple[str, ...]
    seed: int
    threshold: int
    max_line_bytes: int

    def __call__(self, shard: Shard, state: Corpus, /) -> dict[str, Any]:
        """Return the chosen texts, one after the other, with offsets."""
        texts: list[bytes] = []
        bad, num_lines = [], 0
        key = key_for(self.seed, "tokens", "sample", shard.source) & ((1 << 64) - 1)
        for block in iter_rows(state, shard, self.columns, max_line_bytes=self.max_line_bytes):
            chosen = np.flatnonzero(hash_rows(key, block.offsets) <= np.uint64(self.threshold)).tolist()
            texts += [column[row] for row in chosen for column in block.columns.values()]
            bad += [dict(row) for row in block.bad]
            num_lines += block.num_lines
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return {"texts": b"".join(texts), "offsets": offsets, "bad": bad, "num_lines": num_lines}


def learn_tokenizer(
    plan: Plan, settings: LearnSettings, engine: Engine, out: ArtifactWriter | None
) -> Tokenizer:
    """Learn a tokenizer from the plan's corpus; bad rows are reported to ``out`` when one is given.

    Raises:
        ConfigError: if the vocabulary has no room for the special tokens and bytes.
        InputError: if there is no text.
    """
    least = FIRST_ID + 256 if settings.kind == "bpe" else FIRST_ID + 1
    if settings.vocab_size < least:
        raise ConfigError(
            f"--vocab-size is {settings.vocab_size}", hint=f"{settings.kind} needs {least} or more"
        )
    if settings.kind == "bpe":
        return _learn_bpe(plan, settings, engine, out)
    counts = _count(plan, settings, engine, out)
    keys = sorted(
        (key for key, n in counts.items() if n >= settings.min_count), key=lambda k: (-counts[k], k)
    )
    if not keys:
        raise InputError("no text to learn from", path=", ".join(plan.source_names[:3]))
    entries = tuple(key.decode() for key in keys[: settings.vocab_size - FIRST_ID])
    return CharTokenizer(entries) if settings.kind == "char" else WordTokenizer(entries)


def _count(
    plan: Plan, settings: LearnSettings, engine: Engine, out: ArtifactWriter | None
) -> dict[bytes, int]:
    counts: dict[bytes, int] = {}
    task = CountVocabulary(settings.kind, settings.columns, settings.max_line_bytes)
    for shard, part in engine.map_ordered("learn", task, plan.shards, state=plan.inputs, unit="bytes"):
        keys, offsets = part["keys"], part["offsets"].tolist()
        for i, number in enumerate(part["counts"].tolist()):
            key = keys[offsets[i] : offsets[i + 1]]
            counts[key] = counts.get(key, 0) + number
        if out is not None:
            out.bad_rows.take(plan, shard, part["bad"], num_lines=part["num_lines"])
    return counts


def _learn_bpe(plan: Plan, settings: LearnSettings, engine: Engine, out: ArtifactWriter | None) -> Tokenizer:
    library = import_tokenizers()
    size = sum(s.size * (COMPRESSED_FACTOR if s.compression else 1) for s in plan.inputs.sources)
    share = min(1.0, settings.sample_mb * 1e6 / max(size, 1))
    threshold = min(int(share * 2**64), 2**64 - 1)
    task = SampleShard(settings.columns, settings.seed, threshold, settings.max_line_bytes)
    pieces: list[str] = []
    for shard, part in engine.map_ordered("learn", task, plan.shards, state=plan.inputs, unit="bytes"):
        offsets = part["offsets"]
        pieces += rows_to_strings(part["texts"], offsets[:-1], offsets[1:])
        if out is not None:
            out.bad_rows.take(plan, shard, part["bad"], num_lines=part["num_lines"])
    if not pieces:
        raise InputError("no text to learn from", path=", ".join(plan.source_names[:3]))
    tokenizer = library.Tokenizer(library.models.BPE())
    level = library.pre_tokenizers.ByteLevel
    tokenizer.pre_tokenizer = level(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = library.decoders.ByteLevel()
    specials = [SPECIAL_NAMES[name] for name in ("eos", "pad", "bos", "sep")]
    trainer = library.trainers.BpeTrainer(
        vocab_size=settings.vocab_size,
        min_frequency=settings.min_count,
        special_tokens=specials,
        initial_alphabet=sorted(level.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(pieces, trainer)
    return load_tokenizer(
        tokenizer.to_str(pretty=True).encode(),
        name="learned tokenizer",
        special_tokens=settings.special_tokens,
    )
