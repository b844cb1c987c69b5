"""Examples as padded arrays, and which of them make up the shards of a step.

Examples are sorted by length and cut into batches of one size, so that little is padding. A batch is dealt out to its shards
one by one, so that shards are equally long. Which batch a step takes is a permutation named by (seed, epoch): a pure
function of settings and data, whatever the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.seeds import rng_for
from samebits.errors import ConfigError
from samebits.graph.anchored import ROOT
from samebits.graph.parser.lexicon import PAD, UNKNOWN, Lexicon
from samebits.graph.parser.samples import Sample

__all__ = ["EncodedExample", "GraphBatches", "collate", "encode", "order_of"]

MOST_SPELLING = 24  # characters of a word that a model looks at


@dataclass(frozen=True, slots=True)
class EncodedExample:
    """One example in numbers; ``spelled`` is (words, characters) for sentences and (characters,) for texts."""

    words: NDArray[np.int64]
    spelled: NDArray[np.int64]
    nodes: NDArray[np.int64]
    heads: NDArray[np.int64]
    arcs: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.nodes)


def encode(sample: Sample, lexicon: Lexicon) -> EncodedExample:
    """Turn an example into numbers; labels that training never saw get the number 0, which is never right."""
    n, graph = len(sample.tokens), sample.graph
    nodes, heads, arcs = (np.zeros(n, np.int64) for _ in range(3))
    for position, label, head, arc in zip(graph.at, graph.labels, graph.heads, graph.arcs, strict=True):
        nodes[position] = lexicon.node_ids.get(label, 0)
        heads[position] = 0 if head == ROOT else head + 1
        arcs[position] = lexicon.arc_ids.get(arc, 0)
    ids = lexicon.character_ids
    if lexicon.kind == "char":
        spelled = np.array([ids.get(token, UNKNOWN) for token in sample.tokens], np.int64)
        return EncodedExample(np.empty(0, np.int64), spelled, nodes, heads, arcs)
    words = np.array([lexicon.word_ids.get(token.lower(), UNKNOWN) for token in sample.tokens], np.int64)
    width = min(MOST_SPELLING, max((len(token) for token in sample.tokens), default=1))
    spelled = np.full((n, width), PAD, np.int64)
    for row, token in enumerate(sample.tokens):
        for column, character in enumerate(token[:width]):
            spelled[row, column] = ids.get(character, UNKNOWN)
    return EncodedExample(words, spelled, nodes, heads, arcs)


def collate(rows: Sequence[EncodedExample], *, norm: float) -> dict[str, Any]:
    """Pad examples to one length; ``norm`` is what the loss is divided by."""
    width, size = max(map(len, rows)), len(rows)
    names = ("nodes", "heads", "arcs")
    batch: dict[str, Any] = {name: np.zeros((size, width), np.int64) for name in names}
    batch["kids"] = np.zeros((size, width), np.float32)
    batch["mask"] = np.zeros((size, width), np.bool_)
    batch["words"] = np.zeros((size, width), np.int64)
    spelling = max((row.spelled.shape[1] for row in rows if row.spelled.ndim == 2), default=0)
    batch["characters"] = np.zeros((size, width, spelling) if spelling else (size, width), np.int64)
    for i, row in enumerate(rows):
        n = len(row)
        batch["mask"][i, :n] = True
        for name in names:
            batch[name][i, :n] = getattr(row, name)
        below = row.heads[(row.nodes > 0) & (row.heads > 0)] - 1
        np.add.at(batch["kids"][i], below, 1)
        batch["words"][i, : len(row.words)] = row.words
        if row.spelled.ndim == 2:
            batch["characters"][i, :n, : row.spelled.shape[1]] = row.spelled
        else:
            batch["characters"][i, :n] = row.spelled
    batch["norm"] = norm
    return batch


def order_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return examples by length; equal lengths keep their order."""
    return np.argsort(lengths, kind="stable")


@lru_cache(maxsize=8)
def _epoch(seed: int, epoch: int, num_batches: int, num_spare: int) -> tuple[int, NDArray[np.int64]]:
    """Return how many of the shortest examples an epoch leaves out, and its order of batches."""
    rng = rng_for(seed, "graph.batches", epoch)
    return int(rng.integers(num_spare + 1)), rng.permutation(num_batches)


@dataclass(frozen=True)
class GraphBatches:
    """Where lockstep takes the shards of a step from.

    Attributes:
        rows: The training examples.
        batch_size: Examples of a step.
        seed: Root of the order.
        digest: Identity of the data, for a resume.
    """

    rows: Sequence[EncodedExample]
    batch_size: int
    seed: int
    digest: str

    def __post_init__(self) -> None:
        order = order_of(np.array([len(row) for row in self.rows], np.int64))
        object.__setattr__(self, "_order", order)

    @property
    def units_per_step(self) -> int:
        """Examples of a step."""
        return self.batch_size

    def identity(self) -> dict[str, Any]:
        """Return what a resume compares."""
        return {"data": self.digest, "batch": self.batch_size, "examples": len(self.rows)}

    def check(self, num_shards: int) -> None:
        """Refuse a batch that cannot be cut evenly or is larger than the data."""
        if self.batch_size % num_shards:
            raise ConfigError(
                f"a batch of {self.batch_size} examples cannot be cut into {num_shards} equal shards",
                hint=f"use --batch {-(-self.batch_size // num_shards) * num_shards}",
            )
        if self.batch_size > len(self.rows):
            raise ConfigError(
                f"a batch of {self.batch_size} examples, but only {len(self.rows)} to train on",
                hint=f"use --batch {max(num_shards, len(self.rows) // num_shards * num_shards)}",
            )

    def batch(self, step: int, g: int, num_shards: int, rng: np.random.Generator) -> dict[str, Any]:
        """Return shard ``g`` of a step."""
        num_batches, num_spare = divmod(len(self.rows), self.batch_size)
        epoch, number = divmod(step, num_batches)
        skipped, order = _epoch(self.seed, epoch, num_batches, num_spare)
        first = skipped + int(order[number]) * self.batch_size
        chosen: NDArray[np.int64] = self._order[first : first + self.batch_size]  # type: ignore[attr-defined]  # set above
        dealt = chosen[g::num_shards]
        return collate([self.rows[i] for i in dealt.tolist()], norm=float(len(dealt)))
