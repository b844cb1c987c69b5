"""How the counts of all slices become models, on the workers: one partition for each language.

Counting: slices are counted one by one and added up by language. Reducing: all counts of a language are added up and
projected to byte pairs of each of its encodings. The driver gets the models, and of the texts how they add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from samebits.charset.block import block_of
from samebits.charset.pairs import Pair
from samebits.charset.recipes.recipe import load_book
from samebits.charset.training.count import count_block
from samebits.charset.training.project import project_language
from samebits.charset.training.tables import LanguageCounts, PlainCounts, add_counts
from samebits.charset.training.tasks import (
    NUM_FIRST_TEXTS,
    SUMS,
    CountSlice,
    Inputs,
    ProjectedPart,
    image_tables,
    pair_to_plain,
    pairs_by_language,
)
from samebits.core.plan import Shard

__all__ = ["CharsetFold"]

MOST_PENDING = 8  # adding in groups keeps both memory and the number of sorts small


class _Language:
    """The counts of one language so far, and its first texts."""

    def __init__(self) -> None:
        self._pending: list[LanguageCounts] = []
        self.first: list[str] = []

    def add(self, counts: PlainCounts, first: Sequence[str]) -> None:
        self._pending.append(LanguageCounts.from_part(counts))
        if len(self._pending) >= MOST_PENDING:
            self._pending = [add_counts(self._pending)]
        self.first.extend(first[: NUM_FIRST_TEXTS - len(self.first)])

    def total(self) -> LanguageCounts:
        return add_counts(self._pending)

    def piece(self) -> list[Any]:
        return [self.total().to_part(), self.first]


@dataclass(frozen=True, slots=True)
class CharsetFold:
    """Counts of each language that a pair is chosen for, and the byte pairs that follow from them."""

    recipe: str
    pairs: tuple[Pair, ...]
    html_samples: bool

    @property
    def languages(self) -> list[str]:
        """The language of each partition."""
        return sorted(pairs_by_language(self.pairs))

    def count(self, shards: Sequence[Shard], state: Inputs, /) -> tuple[list[Any], list[Any]]:
        """Count some slices; tell how the texts of each add up, as the fields of ``SlicePart`` without counts."""
        task = CountSlice(self.recipe, self.pairs)
        found: dict[str, _Language] = {}
        told = []
        for shard in shards:
            part = task(shard, state)
            told.append(part._replace(languages={}, first={})._asdict())
            for language, counts in part.languages.items():
                found.setdefault(language, _Language()).add(counts, part.first[language])
        return told, [found[name].piece() if name in found else None for name in self.languages]

    def together(self, before: dict[str, Any], after: dict[str, Any], /) -> dict[str, Any]:
        """Add up what two runs of slices tell: faults have the numbers of their items."""
        added = {name: before[name] + after[name] for name in (*SUMS, "items")}
        for name in ("other", "used"):
            counts = Counter(before[name])
            counts.update(after[name])
            added[name] = dict(counts)
        return {**before, **added}

    def merge(self, pieces: Iterable[Any], /) -> list[Any]:
        """Add up the counts of one language."""
        return _added(pieces).piece()

    def reduce(self, pieces: Iterable[Any], partition: int, /) -> tuple[Any, list[Any]]:
        """Add up a language; tell the fields of ``ProjectedPart``, or None without text."""
        language, found = self.languages[partition], list(pieces)
        if not found:
            return None, []
        tables = image_tables(self.recipe, pairs_by_language(self.pairs)[language])
        added = _added(found)
        counts = [added.total()]
        if self.html_samples:
            markup = load_book(self.recipe).markup(language, added.first)
            counts.append(count_block(tables, block_of(markup)))
        total = add_counts(counts)
        projected = ProjectedPart(
            failed=dict(sorted(total.failed.items())),
            pairs={name: pair_to_plain(pair) for name, pair in project_language(total, tables).items()},
        )
        return projected._asdict(), []


def _added(pieces: Iterable[Any]) -> _Language:
    language = _Language()
    for counts, first in pieces:
        language.add(counts, first)
    return language
