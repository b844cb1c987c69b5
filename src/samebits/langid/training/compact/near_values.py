"""What tells near languages apart, by like-with-like comparison, in whole numbers.

If languages did not differ, a word that a source has 10 times would be shared out by how much text of the source each of
them has. What a language really has, over what it should have, both added up over the sources that several of them share,
is the evidence, pulled towards none by a few pretended occurrences. A source that only one of them has says nothing.

N-grams of three to five letters are treated alike, each word counting as the root of its count; they overlap, so they
weigh less. Only differences matter, so the value that most languages of a group have is taken off all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Shard, cut
from samebits.core.ports.store import NoStore
from samebits.kernels.langid.ngrams import count_ngrams
from samebits.langid.training.compact.near_counts import (
    GROUPS,
    MEMBERS,
    MOST_SOURCES,
    SOURCE_BITS,
    NearCounts,
)
from samebits.langid.training.compact.smoothing import logs

__all__ = ["NearValues", "near_values"]

PARTS = 16  # of the key space; two of them at once take 300 MB of a 200-language corpus
ORDERS = (0, 3, 4, 5)  # letters of an n-gram; 0 is a word
LEAST_TEXT = 500  # words a language must have of a source that is compared
SHARE_BITS = 16
PRETENDED = {0: 1, 3: 2, 4: 2, 5: 2}
MOST = {0: 4 << 10, 3: 1536, 4: 1536, 5: 1536}  # in 1/1024 bit: no feature decides alone
WEIGHT = {0: 64, 3: 10, 4: 10, 5: 10}  # of 64
SCALE = 4  # so that small values survive rounding to 1/8 bit; scoring divides by it
SMALL = {0: 96, 3: 256, 4: 256, 5: 256}  # a difference below this, in 1/1024 bit, is none
WIDEST = max(len(names) for names in GROUPS)
GROUP_OF = np.array([k for k, names in enumerate(GROUPS) for _ in names], np.int64)
FIRST = np.array([MEMBERS.index(names[0]) for names in GROUPS], np.int64)


class NearValues(NamedTuple):
    """Features of groups, sorted by key: ``values[f, k]`` is for the group's language k, in 1/1024 bit, 0 for none."""

    keys: NDArray[np.uint64]
    groups: NDArray[np.int64]
    is_word: NDArray[np.bool_]
    values: NDArray[np.int64]
    weights: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CompareKeys:
    """The task: evidence of the features whose key lies in one range."""

    part_type: ClassVar = NearValues

    def __call__(self, shard: Shard, state: Any, /) -> NearValues:
        """Return the features that tell something and that a model with the given n-grams can hold."""
        near, damped, shares, known = state
        keys, where, cells, counts = count_ngrams(
            near.words, near.word_stops, near.stops, near.cells, damped, near.counts, shard.start, PARTS, 1
        )
        letters = (where & np.uint64(0xFF)).astype(np.int64)
        found = []
        for n in ORDERS:
            values = _compare(keys, cells.astype(np.int64), counts, letters == n, n, shares[n])
            found.append(values if n == 0 else _known(values, known))
        return NearValues(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _known(values: NearValues, keys: NDArray[np.uint64]) -> NearValues:
    """Leave out features whose key is not among the sorted ones."""
    place = np.minimum(np.searchsorted(keys, values.keys), len(keys) - 1)
    chosen = keys[place] == values.keys
    return NearValues(*(column[chosen] for column in values))


def near_values(engine: Engine, near: NearCounts, known: NDArray[np.uint64]) -> NearValues:
    """Compare all words, and the n-grams that the model has: ``known`` are its keys, sorted."""
    damped = ((np.sqrt(4.0 * near.counts).astype(np.int64) + 1) // 2).astype(np.uint32)
    shares = {n: _shares(near, damped, n) for n in ORDERS}
    unstored = replace(engine, store=NoStore(), plan=None)
    parts = [
        part
        for _, part in unstored.map_ordered(
            "near", CompareKeys(), cut([PARTS], 1), state=(near, damped, shares, known), unit="parts"
        )
    ]
    whole = NearValues(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    order = np.lexsort((whole.groups, whole.keys))
    return NearValues(
        whole.keys[order],
        whole.groups[order],
        whole.is_word[order],
        whole.values[order],
        whole.weights[order],
    )


def _shares(near: NearCounts, damped: NDArray[np.uint32], letters: int) -> NDArray[np.int64]:
    """Of each source, which share of its group's text each member has, in 1/65536; 0 where it is not compared."""
    num = len(MEMBERS) << SOURCE_BITS
    plain = np.bincount(near.cells, weights=near.counts, minlength=num).astype(np.int64)  # exact below 2**53
    total = plain
    if letters:
        is_start = np.append((near.words & 0xC0) != 0x80, False)
        ends = np.append(0, np.cumsum(is_start, dtype=np.int64))[near.word_stops]
        sizes = np.maximum(np.diff(ends, prepend=0) + 3 - letters, 0)  # with both edges
        per_entry = np.repeat(sizes, np.diff(near.stops, prepend=0)) * damped
        total = np.bincount(near.cells, weights=per_entry, minlength=num).astype(np.int64)
    total = np.where(plain >= LEAST_TEXT, total, 0).reshape(len(MEMBERS), MOST_SOURCES)
    of_group = np.zeros((len(GROUPS), MOST_SOURCES), np.int64)
    have = np.zeros((len(GROUPS), MOST_SOURCES), np.int64)
    np.add.at(of_group, GROUP_OF, total)
    np.add.at(have, GROUP_OF, total > 0)
    compared = (have >= 2)[GROUP_OF] & (total > 0)
    shares: NDArray[np.int64] = np.where(
        compared, (total << SHARE_BITS) // np.maximum(of_group, 1)[GROUP_OF], 0
    )
    return shares


def _compare(
    keys: NDArray[np.uint64],
    cells: NDArray[np.int64],
    counts: NDArray[np.uint32],
    chosen: NDArray[np.bool_],
    letters: int,
    shares: NDArray[np.int64],
) -> NearValues:
    """Evidence of the features of one length."""
    chosen = chosen & (shares.reshape(-1)[cells] > 0)
    keys, cells, count = keys[chosen], cells[chosen], counts[chosen].astype(np.int64)
    member, source = cells >> SOURCE_BITS, cells & (MOST_SOURCES - 1)
    group = GROUP_OF[member]
    order = np.lexsort((source, group, keys))
    keys, member, source = keys[order], member[order], source[order]
    group, count = group[order], count[order]
    change = np.append(True, (keys[1:] != keys[:-1]) | (group[1:] != group[:-1]))[: len(keys)]
    feature = np.cumsum(change) - 1
    first = np.flatnonzero(change)
    seen = np.zeros((len(first), WIDEST), np.int64)
    expected = np.zeros((len(first), WIDEST), np.int64)
    np.add.at(seen, (feature, member - FIRST[group]), count << SHARE_BITS)
    for k in range(WIDEST):
        other = np.minimum(FIRST[group] + k, len(MEMBERS) - 1)
        share = np.where(GROUP_OF[other] == group, shares[other, source], 0)
        expected[:, k] = np.bincount(feature, weights=count * share, minlength=len(first)).astype(np.int64)
    return _evidence(keys[first], group[first], letters, seen, expected)


def _evidence(
    keys: NDArray[np.uint64],
    groups: NDArray[np.int64],
    letters: int,
    seen: NDArray[np.int64],
    expected: NDArray[np.int64],
) -> NearValues:
    pretended = PRETENDED[letters] << SHARE_BITS
    ratio = (logs((seen + pretended).ravel()) - logs((expected + pretended).ravel())).reshape(seen.shape)
    ratio = np.clip(ratio, -MOST[letters], MOST[letters])
    used = np.arange(WIDEST) < np.array([len(names) for names in GROUPS])[groups][:, None]
    effect = ratio * WEIGHT[letters] >> 6
    weights = (effect * effect * used * (seen + expected) >> SHARE_BITS).sum(axis=1)
    ratio = np.where(used, ratio - _usual(ratio, used, SMALL[letters])[:, None], 0)
    ratio[np.abs(ratio) < SMALL[letters]] = 0
    tells = (ratio != 0).any(axis=1)
    values = ratio[tells] * (SCALE * WEIGHT[letters]) >> 6
    is_word = np.full(len(values), letters == 0)
    return NearValues(keys[tells], groups[tells], is_word, values, weights[tells])


def _usual(ratio: NDArray[np.int64], used: NDArray[np.bool_], small: int) -> NDArray[np.int64]:
    """The value of a language that most others are near to; of the first such one."""
    near = np.abs(ratio[:, :, None] - ratio[:, None, :]) < small
    votes = (near & used[:, None, :]).sum(axis=2) * used
    best = votes.argmax(axis=1)
    chosen: NDArray[np.int64] = np.take_along_axis(ratio, best[:, None], axis=1)[:, 0]
    return chosen
