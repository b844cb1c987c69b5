"""Count the compact model's n-grams and words by language, a part of the key space per task, and link them up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Shard, cut
from samebits.core.ports.store import NoStore
from samebits.kernels.langid.ngrams import FeatureIndex, count_ngrams, link_ngrams
from samebits.langid.training.tasks import WordCounts
from samebits.machine.caps import give_back_freed_memory

__all__ = [
    "NgramCounts",
    "NgramVocabulary",
    "Selected",
    "count",
    "in_ranges",
    "link",
    "select",
    "text_per_language",
]

PARTS = 16  # of the key space; a part of a 200-language corpus takes about 100 MB while it is counted, and every part reads all words
RANGES_PER_THREAD = 4  # one may take longer than the others
AT_ONCE = 1 << 18  # words
LEAST = 2  # a pair of feature and language counted less often is left out


class NgramVocabulary(NamedTuple):
    """All words, and how often each language has each."""

    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    counted: WordCounts
    num_languages: int


def text_per_language(words: NgramVocabulary, *, in_bytes: bool) -> NDArray[np.int64]:
    """How many words each language has, or bytes of words; a part of the words at a time."""
    total = np.zeros(words.num_languages, np.int64)
    num_bytes, entry = 0, 0
    for first in range(0, len(words.word_stops), AT_ONCE):
        word_stops, stops = (
            words.word_stops[first : first + AT_ONCE],
            words.counted.stops[first : first + AT_ONCE],
        )
        part = slice(entry, int(stops[-1]))
        weights = words.counted.counts[part].astype(np.int64)
        if in_bytes:
            weights *= np.repeat(np.diff(word_stops, prepend=num_bytes), np.diff(stops, prepend=entry))
        languages = words.counted.languages[part]
        found = np.bincount(languages, weights=weights, minlength=words.num_languages)
        total += found.astype(np.int64)  # exact below 2**53
        num_bytes, entry = int(word_stops[-1]), int(stops[-1])
    return total


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
    def starts(self) -> NDArray[np.int64]:
        """Where the entries of each feature begin."""
        return np.append(0, self.stops)[:-1]

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
    give_back_freed_memory()  # of the tables that tasks counted in
    keys, where, sizes, languages, counts = _joined(parts)
    stops = np.cumsum(sizes, dtype=np.int64)
    del sizes
    give_back_freed_memory()  # of the parts
    return link(words, keys, where, stops, languages, counts, threads=engine.tasks_in_memory)


def _joined(parts: list[KeysPart]) -> Iterator[NDArray[Any]]:
    """Yield the columns of all parts, whose ranges are in order; a part's column goes as soon as it was joined."""
    columns = [list(column) for column in zip(*parts, strict=True)]
    parts.clear()
    while columns:
        yield np.concatenate(columns.pop(0))


def link(
    words: NgramVocabulary,
    keys: NDArray[np.uint64],
    where: NDArray[np.uint64],
    stops: NDArray[np.int64],
    languages: NDArray[np.uint8],
    counts: NDArray[np.uint32],
    *,
    threads: int = 1,
) -> NgramCounts:
    """Find each n-gram's context and shorter n-gram."""
    index = FeatureIndex(keys)
    groups, ends = np.empty(len(keys), np.uint8), np.empty(len(keys), np.uint8)
    contexts, shorter = np.full(len(languages), -1, np.int32), np.full(len(languages), -1, np.int32)

    def link_range(first: int, last: int) -> None:
        link_ngrams(
            index,
            where,
            stops,
            languages,
            words.words,
            words.word_stops,
            first,
            last,
            groups,
            ends,
            contexts,
            shorter,
        )

    in_ranges(link_range, len(keys), threads)
    return NgramCounts(keys, where, stops, languages, counts, groups, ends, contexts, shorter)


def in_ranges(act: Callable[[int, int], None], number: int, threads: int) -> None:
    """Do something without the GIL for each range of features, on so many threads."""
    if threads == 1:
        act(0, number)
        return
    cuts = [number * i // (RANGES_PER_THREAD * threads) for i in range(RANGES_PER_THREAD * threads + 1)]
    with ThreadPoolExecutor(threads) as pool:
        deque(pool.map(act, cuts[:-1], cuts[1:]), maxlen=0)  # raises what a range raised


class Selected(NamedTuple):
    """What is left of counts: features sorted by key, and their entries; not linked up yet."""

    keys: NDArray[np.uint64]
    where: NDArray[np.uint64]
    stops: NDArray[np.int64]
    languages: NDArray[np.uint8]
    counts: NDArray[np.uint32]


def select(counted: NgramCounts, keep: NDArray[np.bool_]) -> Selected:
    """Keep some entries; features without any go."""
    sizes = np.add.reduceat(keep, counted.starts, dtype=np.int64)
    left = sizes > 0
    return Selected(
        counted.keys[left],
        counted.where[left],
        np.cumsum(sizes[left]),
        counted.languages[keep],
        counted.counts[keep],
    )
