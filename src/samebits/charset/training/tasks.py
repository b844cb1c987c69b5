"""What is done with one slice of the training texts: count it once for all encodings of its languages.

The stage ``scan`` (only with a limit on rows or lines) counts texts by language; ``count`` counts characters, pairs and runs.
Everything is an integer until the retention, which is divided once.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from samebits.charset.block import TextBlock, block_of, texts_of
from samebits.charset.pairs import Pair
from samebits.charset.recipes.recipe import PLACEHOLDER, load_book
from samebits.charset.training.count import count_block
from samebits.charset.training.images import ImageTable
from samebits.charset.training.project import PairCounts
from samebits.charset.training.slices import Slices, Texts, read_slice
from samebits.charset.training.tables import LanguageCounts, PlainCounts, add_counts
from samebits.core.plan import Shard
from samebits.data.artifact import ArtifactWriter

__all__ = [
    "SUMS",
    "CountSlice",
    "Inputs",
    "ProjectedPart",
    "ScanSlice",
    "Sums",
    "image_tables",
    "pair_from_plain",
    "pairs_by_language",
]

SUMS = ("read", "blank", "left_out", "placeholders")  # fields of a SlicePart that are added up
#: How many first texts a recipe book may make extra samples from, and how much of each it sees.
NUM_FIRST_TEXTS = 20
FIRST_TEXT_CHARS = 2000


@functools.lru_cache(maxsize=512)
def image_tables(recipe: str, pairs: tuple[Pair, ...]) -> tuple[ImageTable, ...]:
    """Image tables of one language's pairs, shared by all tasks of a process."""
    book = load_book(recipe)
    return tuple(ImageTable(book.recipe(*pair)) for pair in pairs)


@dataclass(frozen=True)
class Inputs:
    """What the tasks read.

    Attributes:
        slices: The texts.
        quotas: Per shard, how many texts of each language to take, when rows or lines are limited.
    """

    slices: Slices
    quotas: tuple[Mapping[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ScanSlice:
    """The task that counts texts by language."""

    def __call__(self, shard: Shard, state: Inputs, /) -> dict[str, int]:
        """Return the number of usable texts of each language in the shard."""
        counts: Counter[str] = Counter()
        for texts in read_slice(state.slices, shard):
            for language, block in _by_language(texts, state.slices.languages[shard.source]):
                counts[language] += len(block.starts)
        return dict(sorted(counts.items()))


class SlicePart(NamedTuple):
    """What one slice holds: counts and first texts by language, and what became of its texts.

    Attributes:
        languages: Counts by language.
        first: The first texts of each language.
        read: Texts read.
        blank: Texts without a character.
        left_out: Texts beyond the quota of their language.
        placeholders: Placeholders removed from texts.
        other: Texts of languages that have no pair.
        used: Texts counted, by language.
        items: For each item of the slice its number, its lines and its faults.
    """

    languages: dict[str, PlainCounts]
    first: dict[str, list[str]]
    read: int
    blank: int
    left_out: int
    placeholders: int
    other: dict[str, int]
    used: dict[str, int]
    items: list[list[Any]]


@dataclass(frozen=True, slots=True)
class CountSlice:
    """The task that counts one slice for all encodings of its languages."""

    part_type: ClassVar = SlicePart
    recipe: str
    pairs: tuple[Pair, ...]

    def __call__(self, shard: Shard, state: Inputs, /) -> SlicePart:
        """Return counts by language, and how the texts add up."""
        by_language = pairs_by_language(self.pairs)
        quota = dict(state.quotas[shard.index]) if state.quotas else None
        found: dict[str, list[LanguageCounts]] = {}
        first: dict[str, list[str]] = {}
        report = _Report()
        for texts in read_slice(state.slices, shard):
            report.take(texts)
            texts = _without_placeholder(texts, report)
            for language, block in _by_language(texts, state.slices.languages[shard.source]):
                if language not in by_language:
                    report.other[language] += len(block.starts)
                    continue
                block = _take(language, block, quota, report)
                if not len(block.starts):
                    continue
                _keep_first(first.setdefault(language, []), block)
                counts = count_block(image_tables(self.recipe, by_language[language]), block)
                found.setdefault(language, []).append(counts)
        counted = {name: add_counts(slices).to_part() for name, slices in sorted(found.items())}
        return report.part(counted, dict(sorted(first.items())))


@dataclass(slots=True)
class _Report:
    """What became of the texts of one slice."""

    read: int = 0
    blank: int = 0
    left_out: int = 0
    placeholders: int = 0
    other: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    items: list[list[Any]] = field(default_factory=list)

    def take(self, texts: Texts) -> None:
        self.read += texts.num_read
        self.blank += texts.num_blank
        by_item: dict[int, list[list[Any]]] = {}
        for item, fault in texts.faults:
            by_item.setdefault(item, []).append(list(fault))
        if texts.num_lines:  # needed without faults too: they shift the line numbers of the file's next item
            by_item.setdefault(texts.item, [])
        self.items.extend([item, texts.num_lines, faults] for item, faults in sorted(by_item.items()))

    def part(self, languages: dict[str, PlainCounts], first: dict[str, list[str]]) -> SlicePart:
        return SlicePart(
            languages=languages,
            first=first,
            read=self.read,
            blank=self.blank,
            left_out=self.left_out,
            placeholders=self.placeholders,
            other=dict(sorted(self.other.items())),
            used=dict(sorted(self.used.items())),
            items=self.items,
        )


def pairs_by_language(pairs: Sequence[Pair]) -> dict[str, tuple[Pair, ...]]:
    """Pairs of each language, in their order."""
    out: dict[str, list[Pair]] = {}
    for pair in pairs:
        out.setdefault(pair.language, []).append(pair)
    return {language: tuple(found) for language, found in out.items()}


def _by_language(texts: Texts, language: str) -> Iterator[tuple[str, TextBlock]]:
    """Texts of each language, over one shared buffer; languages in order of first sight."""
    if texts.languages is None:
        yield language, texts.block
        return
    numbers: dict[str, list[int]] = {}
    for number, name in enumerate(texts.languages):
        numbers.setdefault(name, []).append(number)
    for name, rows in numbers.items():
        chosen = np.array(rows, np.int64)
        yield name, TextBlock(texts.block.buffer, texts.block.starts[chosen], texts.block.stops[chosen])


def _take(language: str, block: TextBlock, quota: dict[str, int] | None, report: _Report) -> TextBlock:
    """The first texts of a block, as many as its language may still have."""
    num_texts = len(block.starts)
    if quota is not None:
        taken = min(quota.get(language, 0), num_texts)
        quota[language] = quota.get(language, 0) - taken
        report.left_out += num_texts - taken
        num_texts = taken
    report.used[language] += num_texts
    return TextBlock(block.buffer, block.starts[:num_texts], block.stops[:num_texts])


def _without_placeholder(texts: Texts, report: _Report) -> Texts:
    """Remove the noncharacter that stands for an encoding's name in extra samples; no real text holds it."""
    if PLACEHOLDER.encode() not in bytes(texts.block.buffer):
        return texts
    found = texts_of(texts.block)
    report.placeholders += sum(text.count(PLACEHOLDER) for text in found)
    return texts._replace(block=block_of([text.replace(PLACEHOLDER, "") for text in found]))


def _keep_first(first: list[str], block: TextBlock) -> None:
    wanted = NUM_FIRST_TEXTS - len(first)
    if wanted > 0:
        head = TextBlock(block.buffer, block.starts[:wanted], block.stops[:wanted])
        first.extend(text[:FIRST_TEXT_CHARS] for text in texts_of(head))


@dataclass(slots=True)
class Sums:
    """How the texts of all slices add up; their counts are folded on the workers (``fold.py``)."""

    totals: Counter[str] = field(default_factory=Counter)
    other: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    lines_before: Counter[int] = field(default_factory=Counter)

    def add(self, part: SlicePart, slices: Slices, out: ArtifactWriter) -> None:
        """Take one shard's part; shards come in order."""
        for name in SUMS:
            self.totals[name] += getattr(part, name)
        self.other.update(part.other)
        self.used.update(part.used)
        out.bad_rows.num_read += part.read
        for item, num_lines, faults in part.items:
            self._report_faults(slices, item, num_lines, faults, out)

    def _report_faults(
        self, slices: Slices, item: int, num_lines: int, faults: Sequence[Sequence[Any]], out: ArtifactWriter
    ) -> None:
        source = int(slices.items[0, item])
        for line, offset, reason in faults:
            number = None if line is None else self.lines_before[source] + line + 1
            out.bad_rows.add(
                source=slices.corpus.sources[source].name, line=number, offset=offset, reason=reason
            )
        self.lines_before[source] += num_lines


class ProjectedPart(NamedTuple):
    """One language: the encodings that failed and why, and each other's counts as lists of their fields."""

    failed: dict[str, str]
    pairs: dict[str, list[Any]]


def pair_to_plain(pair: PairCounts) -> list[Any]:
    """Plain data of one pair, in the order of its fields."""
    values = [getattr(pair, name) for name in PairCounts.__slots__]
    return [[list(item) for item in value] if isinstance(value, tuple) else value for value in values]


def pair_from_plain(values: Sequence[Any]) -> PairCounts:
    """The inverse of `pair_to_plain`."""
    plain: list[Any] = [tuple(map(tuple, value)) if isinstance(value, list) else value for value in values]
    return PairCounts(*plain)
