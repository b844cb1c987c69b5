"""Learn a vocabulary: characters and words by exact counts; byte pairs and pieces of words from counted pre-tokens.

Counts are integers and every order is total, so neither the number of workers nor the way the input is cut reaches the
vocabulary. A new kind is one file with a function, and one line here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.data.artifact import ArtifactWriter
from samebits.data.inputs.corpus import Corpus
from samebits.data.readers.rows import BadRow, iter_rows
from samebits.errors import ConfigError, InputError
from samebits.kernels.tokens.chars import count_chars
from samebits.kernels.tokens.words import count_words
from samebits.tokens.tokenizers.open_tokenizer import load_tokenizer
from samebits.tokens.tokenizers.vocab import FIRST_ID, WORD_CLASSES, CharTokenizer, Tokenizer, WordTokenizer
from samebits.tokens.training.byte_pairs import learn_byte_pairs
from samebits.tokens.training.pretokens import Counted, count_pretokens
from samebits.tokens.training.settings import LearnSettings
from samebits.tokens.training.unigram import learn_unigram
from samebits.tokens.training.word_pieces import learn_word_pieces

__all__ = ["learn_tokenizer"]


class Learner(NamedTuple):
    """How one kind is learned from pre-tokens.

    Attributes:
        learn: Takes pre-tokens; returns a ``tokenizer.json``.
        spaces_only: Whether texts are only cut at white space before.
        least: Smallest vocabulary.
    """

    learn: Callable[[Counted, LearnSettings], bytes]
    spaces_only: bool
    least: int


LEARNERS = {
    "bpe": Learner(learn_byte_pairs, spaces_only=False, least=FIRST_ID + 256),
    "wordpiece": Learner(learn_word_pieces, spaces_only=True, least=100),
    "unigram": Learner(learn_unigram, spaces_only=True, least=100),
}


class VocabularyPart(NamedTuple):
    """Distinct characters or words of one shard, one after the other, with offsets and counts."""

    keys: bytes
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    bad: list[BadRow]
    num_lines: int


@dataclass(frozen=True, slots=True)
class CountVocabulary:
    """Count the characters or words of one shard."""

    part_type: ClassVar = VocabularyPart
    kind: str
    columns: tuple[str, ...]
    max_line_bytes: int

    def __call__(self, shard: Shard, state: Corpus, /) -> VocabularyPart:
        """Return distinct keys, one after the other, with offsets and counts."""
        counts: dict[bytes, int] = {}
        bad: list[BadRow] = []
        num_lines = 0
        count = _count_words if self.kind == "word" else _count_chars
        for block in iter_rows(state, shard, self.columns, max_line_bytes=self.max_line_bytes):
            for column in block.columns.values():
                for key, number in count(column.buffer, column.starts, column.stops):
                    counts[key] = counts.get(key, 0) + number
            bad += block.bad
            num_lines += block.num_lines
        keys = sorted(counts)
        return VocabularyPart(
            keys=b"".join(keys),
            offsets=np.cumsum([0, *map(len, keys)], dtype=np.int64),
            counts=np.array([counts[key] for key in keys], np.int64),
            bad=bad,
            num_lines=num_lines,
        )


def _count_words(buffer: Any, starts: Any, stops: Any) -> Iterator[tuple[bytes, int]]:
    begins, lengths, counts = count_words(buffer, starts, stops, WORD_CLASSES)
    data = memoryview(buffer)
    for begin, length, number in zip(begins.tolist(), lengths.tolist(), counts.tolist(), strict=True):
        yield bytes(data[begin : begin + length]), number


def _count_chars(buffer: Any, starts: Any, stops: Any) -> Iterator[tuple[bytes, int]]:
    counts = count_chars(buffer, starts, stops)
    for code in np.flatnonzero(counts).tolist():
        yield chr(code).encode(), int(counts[code])


def learn_tokenizer(
    plan: Plan, settings: LearnSettings, engine: Engine, out: ArtifactWriter | None
) -> Tokenizer:
    """Learn a tokenizer from the plan's corpus; bad rows are reported to ``out`` when one is given.

    Raises:
        ConfigError: if the vocabulary has no room for the special tokens and bytes.
        InputError: if there is no text.
    """
    learner = LEARNERS.get(settings.kind)
    least = learner.least if learner else FIRST_ID + 1
    if settings.vocab_size < least:
        raise ConfigError(
            f"--vocab-size is {settings.vocab_size}", hint=f"{settings.kind} needs {least} or more"
        )
    if learner:
        counted = count_pretokens(plan, settings, engine, out, spaces_only=learner.spaces_only)
        document = learner.learn(counted, settings)
        return load_tokenizer(document, name="learned tokenizer", special_tokens=settings.special_tokens)
    counts = _count(plan, settings, engine, out)
    keys = sorted(
        (key for key, n in counts.items() if n >= settings.min_count), key=lambda k: (-counts[k], k)
    )
    if not keys:
        if out is not None:
            out.bad_rows.check()
        raise InputError("no text to learn from", path=", ".join(plan.source_names[:3]))
    entries = tuple(key.decode() for key in keys[: settings.vocab_size - FIRST_ID])
    return CharTokenizer(entries) if settings.kind == "char" else WordTokenizer(entries)


def _count(
    plan: Plan, settings: LearnSettings, engine: Engine, out: ArtifactWriter | None
) -> dict[bytes, int]:
    counts: dict[bytes, int] = {}
    task = CountVocabulary(settings.kind, settings.columns, settings.max_line_bytes)
    for shard, part in engine.map_ordered("learn", task, plan.shards, state=plan.inputs, unit="bytes"):
        keys, offsets = part.keys, part.offsets.tolist()
        for i, number in enumerate(part.counts.tolist()):
            key = keys[offsets[i] : offsets[i + 1]]
            counts[key] = counts.get(key, 0) + number
        if out is not None:
            out.bad_rows.take(plan, shard, part.bad, num_lines=part.num_lines)
    return counts
