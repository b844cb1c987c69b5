"""Backoff mode's training: count, look for suspects, refine.

1. Words are counted by language; n-gram counts follow from them.
2. Suspects: each row is scored with its own counts taken out, and one whose label is more than ``drop_bits`` behind goes
   into the ledger. Between cycles suspects are dropped; after the last they stay, because dropping right rows that look
   odd costs more than keeping wrong ones (dev/LOG.md).
3. Refinement: counts say what is frequent, not what tells languages apart. Each pass scores all rows, turns scores into
   probabilities, and moves every value by the sum over rows of (is it the label) - p, divided by the square root of the
   feature's count. Of more than 65,536 rows a sample is looked at, and its share of the count is taken: else steps would
   shrink as rows are added, and grow with the sample until they overshoot (dev/LOG.md). It is plain gradient descent on
   whole numbers over all rows at once: any cut gives the same bits. Suspects do not take part, which keeps wrong labels
   from being learnt by heart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Shard
from samebits.kernels.langid.dict import first_rows
from samebits.kernels.langid.score import Scorer, softmax_gradient
from samebits.kernels.langid.suspects.leave_one_out import leave_one_out
from samebits.kernels.langid.suspects.own_counts import OwnCounts
from samebits.langid.config import LangidConfig
from samebits.langid.constants import CONSTANTS, TEMPERATURE_SHIFT, UNITS_PER_BIT
from samebits.langid.model.features import Features, derive, features_of_words, powers_of_two
from samebits.langid.training.gather import Rows
from samebits.langid.training.identities import sample_rows, with_labels
from samebits.langid.training.ledger import SUSPECT, Ledger
from samebits.langid.training.report import make_report
from samebits.langid.training.tasks import TokenRows, WordCounts, count_words, row_shards, run_rows

__all__ = [
    "REFINE_ROWS",
    "BackoffResult",
    "RefineSample",
    "WordBytes",
    "best_two",
    "by_label",
    "can_refine",
    "refine",
    "roots_of_shares",
    "take_rows",
    "top_two",
    "train_backoff",
]

REFINE_ROWS = 65_536  # a sample this large moves values as all rows would; the cost of a pass is bounded
MOST_FEATURES = 1 << 20  # of a larger model only the features of the sample are refined
REFINE_LANGUAGES = 1_024  # every pass looks at every language for every row; beyond this it is left out
CELLS_PER_BLOCK = 1 << 20  # rows times languages scored at a time: 4 MB


@dataclass(frozen=True, slots=True)
class BackoffResult:
    """What training gives."""

    words: WordCounts
    features: Features
    reports: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class WordBytes:
    """The vocabulary's bytes, for the kernels."""

    data: NDArray[np.uint8]
    stops: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _State:
    """The training rows."""

    rows: TokenRows
    words: WordBytes
    labels: NDArray[np.int32]


def train_backoff(rows: Rows, config: LangidConfig, engine: Engine, ledger: Ledger) -> BackoffResult:
    """Run the cycles, then refine; the ledger is told of every row left out and of every suspect."""
    n, num = rows.num_train, len(rows.languages)
    state = _State(
        TokenRows(rows.tokens, rows.stops[:n]), WordBytes(rows.words, rows.word_stops), rows.labels[:n]
    )
    ledger.drop_empty(rows.kept[:n])
    identities = with_labels(rows.identities[:n], state.labels)
    ledger.drop_duplicates(first_rows(identities, rows.kept[:n].view(np.uint8)))
    reports: list[dict[str, Any]] = []
    for cycle in range(1, config.cycles + 1):
        keep, last = ~ledger.dropped, cycle == config.cycles
        words = count_words(
            engine,
            "count",
            state.rows,
            state.labels,
            keep,
            num_words=rows.num_words,
            num_languages=num,
            once_per_row=False,
        )
        features = derive(rows.words, rows.word_stops, words, num)
        suspects = _note_suspects(engine, state, features, ledger, config, cycle, drop=not last)
        if last and can_refine(config, num, len(features.keys)):
            usable = keep & (ledger.reason != SUSPECT)
            chosen = sample_rows(identities, usable, REFINE_ROWS)
            sample = RefineSample(
                take_rows(state.rows, chosen), state.words, state.labels[chosen], int(usable.sum())
            )
            features = refine(engine, sample, features, config.refine)
        trained = np.bincount(state.labels[keep], minlength=num) > 0
        report = _report(engine, rows, state, features, trained)
        counts = {"samples": int(keep.sum()), "removed": 0 if last else suspects, "suspects": suspects}
        reports.append({"cycle": cycle, **counts, **report})
    return BackoffResult(words, features, reports)


class RowLeads(NamedTuple):
    """For each row its top language and by how much that leads the label."""

    top: NDArray[np.int32]
    lead: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """How far each row's label is behind, its own counts taken out, where that is more than some units."""

    part_type: ClassVar = RowLeads
    units: int

    def __call__(self, shard: Shard, state: Any, /) -> RowLeads:
        """Return top language and its lead over the label."""
        rows, words, counts, labels, order = state
        chosen = order[shard.start : shard.stop]
        found = leave_one_out(
            counts, rows.tokens, rows.stops, words.data, words.stops, labels, chosen, self.units
        )
        return RowLeads(*found)


def by_label(labels: NDArray[np.int32], dropped: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the rows that are not dropped, label by label: a label's words are looked up together.

    >>> by_label(np.array([1, 0, 1, 0]), np.array([False, False, True, False])).tolist()
    [1, 3, 0]
    """
    kept = np.flatnonzero(~dropped)
    return kept[np.argsort(labels[kept].astype(np.uint16), kind="stable")]  # a radix sort


def _note_suspects(
    engine: Engine,
    state: _State,
    features: Features,
    ledger: Ledger,
    config: LangidConfig,
    cycle: int,
    *,
    drop: bool,
) -> int:
    """Find rows whose label is far behind; return how many of the rows still kept they are."""
    units, order = config.drop_bits * UNITS_PER_BIT, by_label(state.labels, ledger.dropped)
    counts = OwnCounts(features.scorer(finds=False), features.counts, CONSTANTS)
    full = (state.rows, state.words, counts, state.labels, order)
    top, lead = np.zeros((2, len(state.labels)), np.int32)
    start = 0
    for part in run_rows(engine, "suspects", LeaveOneOut(units), len(order), full):
        rows = order[start : start + len(part.top)]
        top[rows], lead[rows] = part
        start += len(rows)
    found = np.flatnonzero(lead > units)
    ledger.note(
        found,
        np.full(len(found), SUSPECT, np.uint8),
        cycle=cycle,
        top=top[found],
        score=lead[found] / UNITS_PER_BIT,
        second=np.zeros(len(found)),
        drop=drop,
    )
    return len(found)


@dataclass(frozen=True, slots=True)
class RefineRows:
    """One pass over some rows: the sum over rows of (is it the label) - p, for every entry."""

    def __call__(self, shard: Shard, state: Any, /) -> NDArray[np.int64]:
        """Return one whole number per entry, in 1/65,536."""
        rows, words, scorer, labels, num_entries, num_languages = state
        tokens, stops = rows.of(shard.start, shard.stop)
        sums = np.zeros(num_entries, np.int64)
        powers = powers_of_two(TEMPERATURE_SHIFT)
        for first, last in blocks(len(stops), num_languages):
            scores, _ = scorer.score(tokens, stops, words.data, words.stops, first, last)
            part = labels[shard.start + first : shard.start + last]
            gradient = softmax_gradient(scores, part, powers, TEMPERATURE_SHIFT)
            scorer.scatter(tokens, stops, words.data, words.stops, first, gradient, sums)
        return sums


def blocks(num_rows: int, num_languages: int) -> list[tuple[int, int]]:
    """Cut rows into ranges whose scores fit in a few megabytes."""
    size = max(1, CELLS_PER_BLOCK // max(1, num_languages))
    return [(first, min(first + size, num_rows)) for first in range(0, num_rows, size)]


def can_refine(config: LangidConfig, num_languages: int, num_features: int) -> bool:
    """Whether there is anything to refine, in few enough languages."""
    return bool(config.refine and 1 < num_languages <= REFINE_LANGUAGES and num_features)


class RefineSample(NamedTuple):
    """Rows that refinement looks at, and the number of rows they stand for."""

    rows: TokenRows
    words: WordBytes
    labels: NDArray[np.int32]
    num_rows: int


def refine(engine: Engine | None, sample: RefineSample, features: Features, passes: int) -> Features:
    """Move the values ``passes`` times; only entries that exist are moved, so the model does not grow.

    Without an engine the rows are scored here, one range after the other: sums of whole numbers are the same.
    Values of features that the sample does not have stay, so of a large model only the others are looked at.
    """
    if len(features.keys) <= MOST_FEATURES:
        return _refine_all(engine, sample, features, passes)
    used = np.unique(sample.rows.tokens).astype(np.int64)
    table, entries = features_of_words(features, used, sample.words.data, sample.words.stops)
    master = features.master.copy()
    if len(entries):
        master[entries] = _refine_all(engine, sample, table, passes).master
    return replace(features, master=master)


def _refine_all(engine: Engine | None, sample: RefineSample, features: Features, passes: int) -> Features:
    rows, words, labels, num_rows = sample
    per_feature = np.add.reduceat(
        features.counts.astype(np.int64), np.concatenate([[0], features.stops[:-1]])
    )
    # 256 times the square root of how often a sample of this size has the feature
    roots = np.maximum(roots_of_shares(per_feature, len(labels), max(1, num_rows)), 1)
    divisor = np.repeat(roots, np.diff(features.stops, prepend=0))
    num_languages = features.floors.shape[1]
    for _ in range(passes):
        full = (rows, words, features.scorer(), labels, len(divisor), num_languages)
        sums = np.zeros(len(divisor), np.int64)
        for part in _refine_parts(engine, len(labels), full):
            sums += part
        # sums / 65,536 in bits, times 1,024 for the unit: sums / (64 root), and roots are 256 times too large.
        features = replace(features, master=features.master + 4 * sums // divisor)
    return features


def _refine_parts(engine: Engine | None, num_rows: int, state: Any) -> Iterator[NDArray[np.int64]]:
    if engine is not None:
        return run_rows(engine, "refine", RefineRows(), num_rows, state)
    return (RefineRows()(shard, state) for shard in row_shards(num_rows))


def roots_of_shares(counts: NDArray[np.int64], part: int, whole: int) -> NDArray[np.int64]:
    """Return 256 times the square root of ``count * part / whole`` for each count, rounded down.

    >>> roots_of_shares(np.array([0, 3, 1 << 30]), 7, 2).tolist()
    [0, 829, 15693648]
    """
    most = int(counts.max(initial=0))
    if max(part, 1 << 16) * whole >= 1 << 62 or (most // whole + 1) * (part << 16) >= 1 << 62:
        return np.array([isqrt((count << 16) * part // whole) for count in counts.tolist()], np.int64)
    times, left = np.divmod(counts, whole)
    shares, left = np.divmod(left * part, whole)
    shares = ((times * part + shares) << 16) + (left << 16) // whole
    roots = np.sqrt(shares.astype(np.float64)).astype(np.int64)  # one too many or too few at most
    roots -= roots * roots > shares
    roots += (roots + 1) * (roots + 1) <= shares
    return roots


def take_rows(rows: TokenRows, chosen: NDArray[np.int64]) -> TokenRows:
    """Return the chosen rows on their own."""
    starts = np.concatenate([[0], rows.stops[:-1]])[chosen]
    lengths = rows.stops[chosen] - starts
    stops = np.cumsum(lengths)
    places = np.arange(int(stops[-1]) if len(stops) else 0) + np.repeat(starts - (stops - lengths), lengths)
    return TokenRows(np.asarray(rows.tokens[places]), stops)


class TopTwo(NamedTuple):
    """For each row its top language (-1: no known n-gram), the runner-up, and the lead over it."""

    top: NDArray[np.int32]
    second: NDArray[np.int32]
    lead: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ScoreText:
    """Top two languages of some rows."""

    part_type: ClassVar = TopTwo

    def __call__(self, shard: Shard, state: Any, /) -> TopTwo:
        """Return top language, runner-up and lead."""
        rows, words, scorer, num_languages = state
        return top_two(scorer, rows.of(shard.start, shard.stop), words, num_languages)


def top_two(
    scorer: Scorer,
    rows: tuple[NDArray[np.uint32], NDArray[np.int64]],
    words: WordBytes,
    num_languages: int,
) -> TopTwo:
    """Score rows; there is at least one."""
    found = [
        best_two(*scorer.score(*rows, words.data, words.stops, first, last))
        for first, last in blocks(len(rows[1]), num_languages)
    ]
    return TopTwo(*(np.concatenate(column) for column in zip(*found, strict=True)))


def best_two(
    scores: NDArray[np.int32], known: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Return top language (the lower number of equals; -1 where nothing is known), runner-up and the lead."""
    every = np.arange(len(scores))
    top = scores.argmax(axis=1)
    if scores.shape[1] == 1:
        return (
            np.where(known > 0, 0, -1).astype(np.int32),
            np.full(len(scores), -1, np.int32),
            scores[:, 0].astype(np.int64),
        )
    others = scores.copy()
    others[every, top] = np.iinfo(np.int32).min
    second = others.argmax(axis=1)
    lead = scores[every, top].astype(np.int64) - scores[every, second]
    return np.where(known > 0, top, -1).astype(np.int32), second.astype(np.int32), lead


def _report(
    engine: Engine, rows: Rows, state: _State, features: Features, trained: NDArray[np.bool_]
) -> dict[str, Any]:
    """Report on the evaluation rows, or on the training rows; margins are in bits."""
    start = rows.num_train if rows.has_eval else 0
    first = int(rows.stops[start - 1]) if start else 0
    reported = TokenRows(rows.tokens[first:], rows.stops[start:] - first)
    full = (reported, state.words, features.scorer(), len(rows.languages))
    parts = run_rows(engine, "report", ScoreText(), len(reported.stops), full)
    top, _, lead = (np.concatenate(column) for column in zip(*parts, strict=True))
    kept = rows.kept[start:]
    margins = np.where(top[kept] >= 0, lead[kept] / UNITS_PER_BIT, 1.0)
    return make_report(
        rows.labels[start:][kept], top[kept], margins, trained=trained, languages=rows.languages
    )
