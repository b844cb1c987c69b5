"""Count the compact model's n-grams and words by language, a part of the key space per task, and link them up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Shard, cut
from samebits.core.ports.store import NoStore
from samebits.kernels.langid.ngrams import count_ngrams, link_ngrams
from samebits.langid.training.tasks import WordCounts

__all__ = ["NgramCounts", "NgramVocabulary", "count", "link", "select"]

PARTS = 16  # of the key space; a part of a 200-language corpus takes about 100 MB while it is counted, and every part reads all words
LEAST = 2  # a pair of feature and language counted less often is left out


class NgramVocabulary(NamedTuple):
    """All words, and how often each language has each."""

    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    counted: WordCounts
    num_languages: int


@dataclass(frozen=True, slots=True)
class NgramCounts:
    """Features sorted by key; entries ``stops[f-1]:stops[f]`` are its languages and counts.

    Attributes:
        where: A place in the vocabulary where the feature can be read.
        groups: 0 to 4 for n-grams of 1 to 5 letters, 5 for words.
        ends: 1 where the last letter is the end of a word, 2 for the start edge alone.
        contexts: For each entry that of the n-gram without its last letter, -1 for none.
        shorter: For each entry that of the n-gram without its first letter, -1 for none.
    """

    keys: NDArray[np.uint64]
    where: NDArray[np.uint64]
    stops: NDArray[np.int64]
    languages: NDArray[np.uint8]
    counts: NDArray[np.uint32]
    groups: NDArray[np.uint8]
    ends: NDArray[np.uint8]
    contexts: NDArray[np.int32]
    shorter: NDArray[np.int32]

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Languages per feature."""
        return np.diff(self.stops, prepend=0)

    def per_entry(self, values: NDArray[Any]) -> NDArray[Any]:
        """Repeat one value per feature for each of its entries."""
        return np.repeat(values, self.sizes)


class KeysPart(NamedTuple):
    """Features of one range of keys: where each was seen and how many languages have it; their languages and counts, sorted."""

    keys: NDArray[np.uint64]
    where: NDArray[np.uint64]
    sizes: NDArray[np.uint16]
    languages: NDArray[np.uint8]
    counts: NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class CountKeys:
    """The task: count the features whose key lies in one range."""

    part_type: ClassVar = KeysPart

    def __call__(self, shard: Shard, state: Any, /) -> KeysPart:
        """Return keys, where and sizes of features, languages and counts of their entries, sorted."""
        words, damped = state
        counted = words.counted
        keys, where, languages, counts = count_ngrams(
            words.words,
            words.word_stops,
            counted.stops,
            counted.languages,
            damped,
            counted.counts,
            shard.start,
            PARTS,
            LEAST,
        )
        order = np.lexsort((languages, keys))
        keys = keys[order]
        last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True)) if len(keys) else np.empty(0, np.int64)
        sizes = np.diff(last, prepend=-1).astype(np.uint16)
        return KeysPart(
            keys[last], where[order[last]], sizes, languages[order].astype(np.uint8), counts[order]
        )


def count(engine: Engine, words: NgramVocabulary) -> NgramCounts:
    """Count all features.

    A word's n-grams count as the square root of how often it occurs: a frequent word says little more about a language's
    spelling than a rare one.
    """
    damped = ((np.sqrt(4.0 * words.counted.counts).astype(np.int64) + 1) // 2).astype(np.uint32)
    unstored = replace(engine, store=NoStore(), plan=None)
    parts = [
        part
        for _, part in unstored.map_ordered(
            "n-grams", CountKeys(), cut([PARTS], 1), state=(words, damped), unit="parts"
        )
    ]
    # Ranges are of the high bits, in order.
    keys, where, sizes, languages, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    del parts
    return link(words, keys, where, np.cumsum(sizes, dtype=np.int64), languages, counts)


def link(
    words: NgramVocabulary,
    keys: NDArray[np.uint64],
    where: NDArray[np.uint64],
    stops: NDArray[np.int64],
    languages: NDArray[np.uint8],
    counts: NDArray[np.uint32],
) -> NgramCounts:
    """Find each n-gram's context and shorter n-gram."""
    groups, ends, contexts, shorter = link_ngrams(
        keys, where, stops, languages, words.words, words.word_stops
    )
    return NgramCounts(keys, where, stops, languages, counts, groups, ends, contexts, shorter)


def select(words: NgramVocabulary, counted: NgramCounts, keep: NDArray[np.bool_]) -> NgramCounts:
    """Keep some entries; features without any go."""
    sizes = np.add.reduceat(keep, counted.stops - counted.sizes, dtype=np.int64)
    left = sizes > 0
    return link(
        words,
        counted.keys[left],
        counted.where[left],
        np.cumsum(sizes[left]),
        counted.languages[keep],
        counted.counts[keep],
    )
