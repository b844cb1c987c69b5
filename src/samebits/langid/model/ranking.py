"""Predictions of a compact model: scores to languages and probabilities, allowed languages, noise, explanations.

Probabilities halve with every so many bits a language is behind; how many depends on the length of the text, because its
n-grams are not independent. The figures are measured on held-out sources (dev/LOG.md, guide). Longer texts are read only
until the answer stands (``kernels/langid/enough``): scores, letters and explanations are of what was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.data.readers.rows import TextColumn
from samebits.kernels.langid.compact import CompactScorer, WordCache
from samebits.kernels.langid.enough import Enough
from samebits.kernels.langid.shares import best_shares, settle
from samebits.kernels.langid.spans import words_of
from samebits.langid.config import MOST_POINTS
from samebits.langid.model.compact_files import CompactFiles
from samebits.langid.model.features import powers_of_two

__all__ = ["Contribution", "Ranker", "column_of", "settle_scores"]

NO_LANGUAGE = "zxx"
UNITS_PER_BIT = 64
TABLE_BITS = 10
OUT_OF_REACH = -(1 << 30)
TEXTS_PER_BLOCK = 1024  # their scores stay in the cache
MOST_LETTERS = 400
# A probability halves with every (FIRST + GROWTH * root of letters) / 64 bits.
FIRST, GROWTH = 16, 50
# Between near languages, of 1,024: what comparing like with like says (stored fourfold) counts in full, what the model says by
# one over the root of the letters, and from SENTENCE letters on by one over the letters: its errors of source add up, letter by
# letter. Both times what SURER says, from three up to twice SENTENCE letters to four, which changes probabilities alone.
FULL, STORED, SENTENCE = 1024, 4, 40
SURER = (3, 4)
# A longer text is read until a language leads all others by so many halvings of the probability, and its near ones by so many:
# of 19,737 held-out sentences one was named differently than when read whole (dev/LOG.md).
LEADS = (10, 15)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one feature of a text adds to the lead of the top language, in bits."""

    feature: str
    kind: str
    bits: float


@dataclass(frozen=True)
class Ranker:
    """A compact model in use."""

    files: CompactFiles

    def __getstate__(self) -> dict[str, Any]:
        return {"files": self.files}  # the kernel's view is made again

    @cached_property
    def scorer(self) -> CompactScorer:
        """The kernel."""
        return self.files.scorer()

    @cached_property
    def halving(self) -> NDArray[np.int64]:
        """Units of score per halving, by known letters."""
        return np.array([FIRST + isqrt(GROWTH * GROWTH * n) for n in range(MOST_LETTERS + 1)], np.int64)

    @property
    def noise(self) -> int:
        """The number of the class without a language, -1 if the model has none."""
        names = self.files.languages
        return names.index(NO_LANGUAGE) if NO_LANGUAGE in names else -1

    @cached_property
    def groups(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Near languages, as the kernel takes them."""
        return self.files.groups()

    @cached_property
    def group_of(self) -> dict[int, tuple[int, ...]]:
        """For each language that has near ones, the numbers of its group."""
        number = self.files.languages.index
        groups = [tuple(number(name) for name in group) for group in self.files.near]
        return {member: group for group in groups for member in group}

    @cached_property
    def near_columns(self) -> dict[int, int]:
        """For each language that has near ones, its further column."""
        members = [name for group in self.files.near for name in group]
        first = len(self.files.languages)
        return {self.files.languages.index(name): first + k for k, name in enumerate(members)}

    def top(self, column: TextColumn) -> NDArray[np.int64]:
        """Return the best language of each text, -1 for none."""
        found, cache, mask = np.empty(len(column), np.int64), WordCache(), self._mask(None)
        enough = self.enough(mask)
        for part in _parts(len(column)):
            scores, letters, noise = self._scores(column, part, cache, mask, enough)
            best = scores.argmax(axis=1)
            if self.noise >= 0:
                best[noise > 0] = self.noise
            found[part] = np.where(letters > 0, best, self.noise if self.noise >= 0 else -1)
            found[part][(letters == 0) & (noise == 0)] = -1
        return found

    def rank(
        self, column: TextColumn, top: int, allowed: NDArray[np.bool_] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the best languages (-1: none) of each text and their probabilities, (texts, top)."""
        numbers, shares = np.empty((len(column), top), np.int64), np.empty((len(column), top))
        mask = self._mask(allowed)
        enough = self.enough(mask)
        noisy, cache = self.noise >= 0 and (allowed is None or bool(allowed[self.noise])), WordCache()
        for part in _parts(len(column)):
            scores, letters, noise = self._scores(column, part, cache, mask, enough)
            if top == 1:
                numbers[part, 0], shares[part, 0] = best_shares(
                    scores, letters, self.halving, powers_of_two(TABLE_BITS), mask, TABLE_BITS
                )
            else:
                scores[:, mask == 0] = OUT_OF_REACH
                numbers[part], shares[part] = self._best(scores, letters, top)
            if noisy:
                rows = np.flatnonzero(noise) + part.start
                numbers[rows], shares[rows] = -1, 0.0
                numbers[rows, 0], shares[rows, 0] = self.noise, 1.0
        return numbers, shares

    def _mask(self, allowed: NDArray[np.bool_] | None) -> NDArray[np.uint8]:
        return np.ones(len(self.files.languages), np.uint8) if allowed is None else allowed.astype(np.uint8)

    def _scores(
        self, column: TextColumn, part: slice, cache: WordCache, mask: NDArray[np.uint8], enough: Enough
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.uint8]]:
        scores, letters, noise = self.scorer.score(
            column.buffer, column.starts[part], column.stops[part], MOST_POINTS, cache, enough
        )
        return settle_scores(self.files, scores, letters, self.groups, mask), letters, noise

    def enough(self, mask: NDArray[np.uint8]) -> Enough:
        """When the kernel may stop reading, if these languages are allowed."""
        files, places = self.files, self.scorer.places
        return Enough(
            places,
            files.biases,
            files.all_floors(),
            mask,
            self.groups,
            self.halving,
            near_weights(),
            LEADS,
        )

    def _best(
        self, scores: NDArray[np.int32], letters: NDArray[np.int32], top: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        order = np.argsort(-scores.astype(np.int64), axis=1, kind="stable")[:, :top]
        behind = (scores.max(axis=1, keepdims=True) - scores).astype(np.int64)
        per = self.halving[np.minimum(letters, MOST_LETTERS)][:, None]
        steps = np.minimum((behind << TABLE_BITS) // per, 31 << TABLE_BITS)
        table = powers_of_two(TABLE_BITS)
        weights = table[steps & ((1 << TABLE_BITS) - 1)] >> (steps >> TABLE_BITS).astype(np.uint32)
        shares = np.take_along_axis(weights, order, axis=1) / weights.sum(axis=1, dtype=np.int64)[:, None]
        return np.where(letters[:, None] > 0, order, -1), shares

    def explain(self, text: str) -> dict[str, Any]:
        """Say which words and n-grams decided: their bits add up to the lead of the top language."""
        column = column_of([text])
        numbers, _ = self.rank(column, min(2, len(self.files.languages)), None)
        pair = [i for i in numbers[0].tolist() if i >= 0]
        if len(pair) < 2:
            label = self.files.languages[pair[0]] if pair else "und"
            return {"label": label, "against": None, "lead_bits": 0.0, "features": []}
        totals = self._differences(text, pair[0], pair[1])
        order = sorted(totals.items(), key=lambda item: (-abs(item[1]), item[0]))
        return {
            "label": self.files.languages[pair[0]],
            "against": self.files.languages[pair[1]],
            "lead_bits": sum(totals.values()) / UNITS_PER_BIT,
            "features": [Contribution(shown, kind, value / UNITS_PER_BIT) for (shown, kind), value in order],
        }

    def _differences(self, text: str, first: int, second: int) -> dict[tuple[str, str], float]:
        """What each feature adds to the lead of the first over the second, in units."""
        mask = self._mask(None)
        scores, letters, _ = self._scores(
            column_of([text]), slice(0, 1), WordCache(), mask, self.enough(mask)
        )
        if second in self.group_of.get(first, ()):
            model, near = (float(weights[letters[0]]) / FULL for weights in near_weights())
            return self._sums(text, first, second, (model, near))
        totals = self._sums(text, first, second, (1.0, 0.0))
        among = float(scores[0, first] - scores[0, second]) - sum(totals.values())
        return {**totals, ("among near languages", "near"): among} if among else totals

    def _sums(
        self, text: str, first: int, second: int, weights: tuple[float, float]
    ) -> dict[tuple[str, str], float]:
        floors, biases, near = self.files.floors, self.files.biases, self.near_columns
        of_model, of_near = weights
        totals = {("prior odds", "prior"): of_model * float(biases[first] - biases[second])}
        data, enough = text.encode("utf-8", "replace"), self.enough(self._mask(None))
        for edged, features in words_of(self.scorer, data, MOST_POINTS, enough):
            for start, length, entries in features:
                values = dict(entries)
                value = values.get(first, 0) - values.get(second, 0)
                if length == 1 and start > 0:
                    value -= int(floors[first] - floors[second])
                own = values.get(near.get(first, -1), 0) - values.get(near.get(second, -1), 0)
                shown = edged[start : start + length] if length else edged[1:-1]
                kind = f"{length}-gram" if length else "word"
                totals[shown, kind] = totals.get((shown, kind), 0.0) + of_model * value + of_near * own
        return totals


def settle_scores(
    files: CompactFiles,
    columns: NDArray[np.int32],
    letters: NDArray[np.int32],
    groups: tuple[NDArray[np.int32], NDArray[np.int32]],
    allowed: NDArray[np.uint8] | None = None,
) -> NDArray[np.int32]:
    """Turn the kernel's columns into one score per language: prior odds are added, near languages settled."""
    mask = np.ones(len(files.languages), np.uint8) if allowed is None else allowed
    return settle(columns, letters, files.biases, *groups, mask, *near_weights())


@cache
def near_weights() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return the weights between near languages of the model's scores and of their own columns, by known letters."""
    of_model, of_near = [], []
    low, high = SURER
    for letters in range(MOST_POINTS + 1):
        whole = min(letters, SENTENCE)
        sure = low * SENTENCE + (high - low) * min(letters - whole, SENTENCE)  # times SENTENCE
        root = isqrt(FULL * FULL // (whole + 1))
        of_model.append(sure * root * max(whole, 1) // (SENTENCE * max(letters, 1)))
        of_near.append(sure * FULL // (SENTENCE * STORED))
    return np.array(of_model, np.int32), np.array(of_near, np.int32)


def _parts(num: int) -> list[slice]:
    return [slice(i, min(i + TEXTS_PER_BLOCK, num)) for i in range(0, num, TEXTS_PER_BLOCK)]


def column_of(texts: Sequence[str]) -> TextColumn:
    """Put texts into one buffer; lone surrogates become U+FFFD."""
    data = [text.encode("utf-8", "replace") for text in texts]
    lengths = np.array([len(item) for item in data], np.int64)
    stops = np.cumsum(lengths)
    return TextColumn(np.frombuffer(b"".join(data) + b"\0", np.uint8), stops - lengths, stops)
