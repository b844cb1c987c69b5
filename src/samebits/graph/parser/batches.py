"""Examples in numbers, and which of them make up the shards of a step.

A shard is read in groups of 32 examples of about the same length, so that little is padding. For every epoch, examples are sorted by
length times a random factor of 1 to 1.2 and cut into shards; the order of shards is a permutation. Both are named by (seed, epoch): a
pure function of settings and data, whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.network import Floats, Ids
from samebits.arithmetic.recording.ops import PANEL
from samebits.arithmetic.sequences import Groups
from samebits.core.seeds import draw_order, rng_for
from samebits.errors import ConfigError
from samebits.graph.anchored import ROOT
from samebits.graph.parser.lexicon import END, START, UNKNOWN, Lexicon
from samebits.graph.parser.samples import Sample, tags_of

__all__ = [
    "WINDOW",
    "EncodedExample",
    "Forms",
    "GraphBatches",
    "ParserBatch",
    "collate",
    "encode",
    "order_of",
]

MOST_SPELLING = 24  # characters of a word that a model looks at
WINDOW = 5  # characters that a filter sees together


class Forms:
    """Every different word once, spelled out: number -> characters with a mark at both ends."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._numbers: dict[str, int] = {}
        self._rows: list[list[int]] = []

    def number(self, word: str) -> int:
        """Return the number of a word, taking it in if it is new."""
        found = self._numbers.get(word)
        if found is None:
            ids = self._lexicon.character_ids
            spelled = [ids.get(character, UNKNOWN) for character in word[:MOST_SPELLING]]
            found = self._numbers[word] = len(self._rows)
            self._rows.append([START, *spelled, END])
        return found

    def table(self) -> NDArray[np.int16]:
        """Return all words, (words, characters), with -1 after the end."""
        width = max(map(len, self._rows), default=2)
        found = np.full((len(self._rows), width), -1, np.int16)
        for row, spelled in zip(found, self._rows, strict=True):
            row[: len(spelled)] = spelled
        return found


@dataclass(frozen=True, slots=True)
class EncodedExample:
    """One example in numbers; ``read`` are characters of a text, or words of a sentence with their ``forms`` and ``tags``."""

    read: NDArray[np.int64]
    forms: NDArray[np.int64]
    tags: NDArray[np.int64]
    nodes: NDArray[np.int64]
    heads: NDArray[np.int64]
    arcs: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.nodes)


def encode(
    sample: Sample, lexicon: Lexicon, forms: Forms | None = None, *, tagged: bool = True
) -> EncodedExample:
    """Turn an example into numbers; labels that training never saw get the number 0, which is never right.

    Args:
        sample: The example.
        lexicon: Names and their numbers.
        forms: The different words of sentences, which takes in new ones.
        tagged: Whether the tags of a sentence are wanted, as for training.
    """
    n, graph = len(sample.tokens), sample.graph
    nodes, heads, arcs = (np.zeros(n, np.int64) for _ in range(3))
    for position, label, head, arc in zip(graph.at, graph.labels, graph.heads, graph.arcs, strict=True):
        nodes[position] = lexicon.node_ids.get(label, 0)
        heads[position] = 0 if head == ROOT else head + 1
        arcs[position] = lexicon.arc_ids.get(arc, 0)
    none = np.empty(0, np.int64)
    if lexicon.kind == "char":
        ids = lexicon.character_ids
        read = np.array([ids.get(token, UNKNOWN) for token in sample.tokens], np.int64)
        return EncodedExample(read, none, none.reshape(0, 0), nodes, heads, arcs)
    assert forms is not None
    read = np.array([lexicon.word_ids.get(token.lower(), UNKNOWN) for token in sample.tokens], np.int64)
    spelled = np.array([forms.number(token) for token in sample.tokens], np.int64)
    if not tagged:
        return EncodedExample(read, spelled, none.reshape(0, 0), nodes, heads, arcs)
    tags = np.array(
        [
            [ids.get(tag, -1) for tag in row]
            for ids, row in zip(lexicon.tag_ids, tags_of(sample), strict=True)
        ],
        np.int64,
    ).reshape(len(lexicon.tags), -1)
    return EncodedExample(read, spelled, tags, nodes, heads, arcs)


@dataclass(frozen=True, slots=True)
class ParserBatch:
    """Some examples as a model reads them; everything about positions is (panels, 32), with -1 where there is none.

    Attributes:
        groups: Where the examples lie.
        letters: Characters: of texts by position, of sentences those of the different words.
        words: Words by position.
        forms: Which of the different words each position holds.
        spelled: Where the different words lie.
        tags: Part of speech, tag and features; -1 where training saw none.
        nodes: Number of the node label, 0 for none.
        heads: 0 for the root or no node, j + 1 for position j.
        arcs: Number of the arc label.
        kids: Number of children of the node.
        norm: What the loss is divided by.
    """

    groups: Groups
    letters: Ids
    words: Ids
    forms: Ids
    spelled: Groups
    tags: tuple[Ids, ...]
    nodes: Ids
    heads: Ids
    arcs: Ids
    kids: Floats
    norm: float


def collate(
    rows: Sequence[EncodedExample],
    spelling: NDArray[np.int16] | None = None,
    *,
    norm: float,
    words: Sequence[Ids] | None = None,
) -> ParserBatch:
    """Put examples into groups.

    Args:
        rows: The examples, those of a similar length next to one another.
        spelling: What ``Forms.table`` gave, for sentences.
        norm: What the loss is divided by.
        words: Read these words instead of those of the examples.
    """
    groups = Groups.of([len(row) for row in rows])
    kids = np.zeros((groups.panels, PANEL), np.float32)
    for i, row in enumerate(rows):
        below = row.heads[(row.nodes > 0) & (row.heads > 0)] - 1
        np.add.at(kids[:, i % PANEL], groups.starts[i // PANEL] + below, np.float32(1.0))
    read = groups.spread(words if words is not None else [row.read for row in rows])
    letters, forms, spelled = read, read, groups
    if spelling is not None:
        letters, forms, spelled = _spelled(rows, groups, spelling)
    return ParserBatch(
        groups,
        letters,
        read,
        forms,
        spelled,
        tuple(groups.spread([row.tags[task] for row in rows]) for task in range(len(rows[0].tags))),
        groups.spread([row.nodes for row in rows]),
        groups.spread([row.heads for row in rows]),
        groups.spread([row.arcs for row in rows]),
        kids,
        norm,
    )


def _spelled(
    rows: Sequence[EncodedExample], groups: Groups, spelling: NDArray[np.int16]
) -> tuple[Ids, Ids, Groups]:
    """Return the characters of the different words, which of them each position holds, and where they lie."""
    numbers, which = np.unique(np.concatenate([row.forms for row in rows]), return_inverse=True)
    table = spelling[numbers].astype(np.int64)
    lengths = np.count_nonzero(table >= 0, axis=1)
    order = order_of(lengths)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    lie = Groups.of(lengths[order].tolist())
    extra, before = WINDOW - 1, WINDOW // 2
    letters = np.full((lie.panels + extra * len(lie.lengths), PANEL), -1, np.int64)
    for g, chosen in enumerate(range(0, len(order), PANEL)):
        here = table[order[chosen : chosen + PANEL]]
        start, stop = (lie.starts[g : g + 2] + extra * g + before).tolist()
        letters[start:stop, : len(here)] = here[:, : stop - start].T
    ends = np.cumsum([len(row) for row in rows])[:-1]
    return letters, groups.spread(np.split(rank[which], ends)), lie


def order_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return examples by length; equal lengths keep their order."""
    return np.argsort(lengths, kind="stable")


@dataclass(frozen=True)
class GraphBatches:
    """Where lockstep takes the shards of a step from.

    Attributes:
        rows: The training examples.
        spelling: Their different words, for sentences.
        batch_size: Examples of a step.
        word_dropout: Share of words read as unknown.
        seed: Root of the order.
        digest: Identity of the data, for a resume.
    """

    rows: Sequence[EncodedExample]
    spelling: NDArray[np.int16] | None
    batch_size: int
    word_dropout: float
    seed: int
    digest: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "lengths", tuple(len(row) for row in self.rows))

    @property
    def units_per_step(self) -> int:
        """Examples of a step."""
        return self.batch_size

    def identity(self) -> dict[str, Any]:
        """Return what a resume compares."""
        return {
            "data": self.digest,
            "batch": self.batch_size,
            "examples": len(self.rows),
            "word_dropout": self.word_dropout,
        }

    def check(self, num_shards: int) -> None:
        """Refuse a batch that cannot be cut evenly or is larger than the data."""
        if self.batch_size % num_shards:
            raise ConfigError(
                f"a batch of {self.batch_size} examples cannot be split into {num_shards} equal shards",
                hint=f"use --batch {-(-self.batch_size // num_shards) * num_shards}",
            )
        if self.batch_size > len(self.rows):
            raise ConfigError(
                f"a batch of {self.batch_size} examples, but only {len(self.rows)} to train on",
                hint=f"use --batch {max(num_shards, len(self.rows) // num_shards * num_shards)}",
            )

    def norm(self, size: int) -> float:
        """Return what the loss of a shard is divided by: its examples, or for sentences the words of a shard on average."""
        if self.spelling is None:
            return float(size)
        lengths: tuple[int, ...] = self.lengths  # type: ignore[attr-defined]  # set above
        return sum(lengths) * size / len(lengths)

    def batch(self, step: int, g: int, num_shards: int, rng: np.random.Generator) -> ParserBatch:
        """Return shard ``g`` of a step."""
        size = self.batch_size // num_shards
        steps = len(self.rows) // self.batch_size
        epoch, number = divmod(step, steps)
        order, shards = _epoch(self.seed, epoch, self.lengths, size, steps * num_shards)  # type: ignore[attr-defined]  # set above
        # longest first: a worker with one of the longest has one of the shortest too, and who is done takes what is left
        longest_first = np.sort(shards[number * num_shards : (number + 1) * num_shards])[::-1]
        first = int(longest_first[g]) * size
        rows = [self.rows[i] for i in order[first : first + size].tolist()]
        words = None
        if self.word_dropout and self.spelling is not None:
            most = int(self.word_dropout * 2**32)
            words = [np.where(_bits(rng, len(row)) < most, UNKNOWN, row.read) for row in rows]
        return collate(rows, self.spelling, norm=self.norm(size), words=words)


def _bits(rng: np.random.Generator, number: int) -> NDArray[np.uint64]:
    """Return words of 32 random bits."""
    return rng.bit_generator.random_raw(number) >> np.uint64(32)


@lru_cache(maxsize=4)
def _epoch(
    seed: int, epoch: int, lengths: tuple[int, ...], size: int, num_shards: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the order of examples in an epoch, and that of its shards; examples left over are chosen at random."""
    rng = rng_for(seed, "graph.batches", epoch)
    kept = draw_order(rng, len(lengths))[: size * num_shards]
    factors = 1000 + (_bits(rng, len(kept)) % np.uint64(200)).astype(np.int64)
    order = kept[np.argsort(np.array(lengths, np.int64)[kept] * factors, kind="stable")]
    return order, draw_order(rng, num_shards)
