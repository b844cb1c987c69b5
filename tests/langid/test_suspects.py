"""Suspects: rows whose label is far behind when their own counts are taken out, as a plain program counts them."""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray

from samebits.core.seeds import rng_for
from samebits.kernels.langid.features import features_of, log2_fixed
from samebits.kernels.langid.suspects.leave_one_out import leave_one_out
from samebits.kernels.langid.suspects.own_counts import OwnCounts
from samebits.langid.constants import CONSTANTS, VALUE_SHIFT
from samebits.langid.model.features import Features, derive
from samebits.langid.training.backoff import by_label
from samebits.langid.training.tasks import WordCounts

Row = tuple[int, list[str]]  # label and words


@cache
def value(group: int, count: int) -> int:
    inverse_alpha, weight = CONSTANTS[group].tolist()
    logs = log2_fixed(np.array([inverse_alpha * count + 1], np.uint64))
    return int(weight * int(logs[0]) >> VALUE_SHIFT)


def plainly(rows: Sequence[Row], num: int, floors: NDArray[np.int32]) -> list[tuple[int, int]]:
    """Top language and lead over the label of every row, feature by feature."""
    counts: Counter[tuple[int, int]] = Counter()  # (feature, language)
    for label, words in rows:
        counts.update((key, label) for word in words for key, _ in features_of(word.encode()))
    found = []
    for label, words in rows:
        times = Counter(feature for word in words for feature in features_of(word.encode()))
        scores = [0] * num
        for (key, group), often in times.items():
            left = {language: counts[key, language] for language in range(num)}
            left[label] -= often
            if any(left.values()):
                for language in range(num):
                    gained = value(group, left[language]) - int(floors[group, language])
                    scores[language] += often * gained
        top = scores.index(max(scores))
        found.append((top, scores[top] - scores[label]))
    return found


class Counted:
    """Rows as the kernels take them, and the features that are derived from them."""

    def __init__(self, rows: Sequence[Row], num: int) -> None:
        numbers = {word: i for i, word in enumerate(dict.fromkeys(w for _, words in rows for w in words))}
        self.tokens = np.array([numbers[w] for _, words in rows for w in words], np.uint32)
        self.stops = np.cumsum([len(words) for _, words in rows], dtype=np.int64)
        self.words = np.frombuffer("".join(numbers).encode(), np.uint8)
        self.word_stops = np.cumsum([len(word.encode()) for word in numbers], dtype=np.int64)
        self.labels = np.array([label for label, _ in rows], np.int32)
        counts = Counter((word, label) for label, words in rows for word in words)
        entries = [
            [(label, counts[word, label]) for label in range(num) if counts[word, label]] for word in numbers
        ]
        flat = [entry for word in entries for entry in word]
        self.features: Features = derive(
            self.words,
            self.word_stops,
            WordCounts(
                np.cumsum([len(word) for word in entries], dtype=np.int64),
                np.array([label for label, _ in flat], np.int32),
                np.array([count for _, count in flat], np.uint32),
            ),
            num,
        )

    def own_counts(self) -> OwnCounts:
        return OwnCounts(self.features.scorer(finds=False), self.features.counts, CONSTANTS)

    def leads(
        self, least: int, order: NDArray[np.int64], counts: OwnCounts | None = None
    ) -> list[tuple[int, int]]:
        given = (self.tokens, self.stops, self.words, self.word_stops, self.labels, order, least)
        top, lead = leave_one_out(counts or self.own_counts(), *given)
        return list(zip(top.tolist(), lead.tolist(), strict=True))


def drawn_rows(num_languages: int, num_rows: int) -> list[Row]:
    """Rows of made-up words: some are of many languages, some come once, some many times in a row."""
    random = rng_for(7, "suspects", num_languages)
    letters = ["abcdeéß", "abcxyz", "деба", "a中文", "abab"]
    rows = []
    for _ in range(num_rows):
        label = int(random.integers(num_languages))
        alphabet = letters[label % len(letters)] if random.random() < 0.9 else letters[0]
        words = [
            "".join(random.choice(list(alphabet), int(random.integers(1, 9))).tolist())
            for _ in range(int(random.integers(1, 12)))
        ]
        rows.append((label, words * int(random.choice([1, 1, 1, 2, 40]))))
    return rows


@pytest.mark.parametrize("num_languages", [1, 3, 40])
@pytest.mark.parametrize("least", [0, 640, 8192])
def test_leads_above_the_least_are_those_of_a_plain_count(num_languages: int, least: int) -> None:
    rows = drawn_rows(num_languages, 300)
    counted = Counted(rows, num_languages)
    order = by_label(counted.labels, np.zeros(len(rows), np.bool_))
    found = counted.leads(least, order)
    expected = plainly(rows, num_languages, counted.features.floors)
    for row, (top, lead) in zip(order.tolist(), found, strict=True):
        if expected[row][1] > least:
            assert (top, lead) == expected[row]
        else:
            assert lead <= least


def test_some_rows_are_far_behind_and_most_are_not() -> None:
    rows = drawn_rows(40, 300)
    leads = [lead for _, lead in plainly(rows, 40, Counted(rows, 40).features.floors)]
    assert 10 < sum(lead > 8192 for lead in leads) < 280


def test_each_row_is_judged_alone() -> None:
    """Any part of the rows, in any order of labels, has the suspects that it has among all."""
    rows = drawn_rows(3, 200)
    counted = Counted(rows, 3)
    order = by_label(counted.labels, np.zeros(len(rows), np.bool_))
    together = dict(zip(order.tolist(), counted.leads(640, order), strict=True))
    assert any(lead > 640 for _, lead in together.values())
    for part in (order[::2].copy(), order[::-1].copy(), order[17:19], order[:0]):
        for row, found in zip(part.tolist(), counted.leads(640, part), strict=True):
            assert found == together[row] or max(found[1], together[row][1]) <= 640


def test_a_count_above_the_table_is_looked_up() -> None:
    """Counts of 2,047 and more share a tag."""
    rows: list[Row] = [(0, ["aba"])] * 3000 + [
        (1, ["aba"]),
        (1, ["xyx"]),
        (0, ["aba"] * 50),
        (0, ["xyx", "aba"]),
    ]
    counted = Counted(rows, 2)
    order = by_label(counted.labels, np.zeros(len(rows), np.bool_))
    expected = plainly(rows, 2, counted.features.floors)
    for row, found in zip(order.tolist(), counted.leads(0, order), strict=True):
        assert found == expected[row]


def test_counts_travel_to_other_processes() -> None:
    rows = drawn_rows(3, 100)
    counted = Counted(rows, 3)
    order = by_label(counted.labels, np.zeros(len(rows), np.bool_))
    sent = pickle.loads(pickle.dumps(counted.own_counts()))
    assert counted.leads(0, order, sent) == counted.leads(0, order)
