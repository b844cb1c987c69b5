"""Compact mode's training: count words, count their n-grams, prune to a size, smooth, round, pack.

Nothing needs the rows but the first step, so a corpus of any size costs what its distinct words cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.data.readers.rows import TextColumn
from samebits.errors import ConfigError, InputError
from samebits.kernels.langid.dict import first_rows
from samebits.langid.config import MOST_POINTS, LangidConfig, parse_odds
from samebits.langid.constants import UNITS_PER_BIT
from samebits.langid.model.compact_files import MOST_LANGUAGES, CompactFiles, levels_of, pack
from samebits.langid.model.ranking import settle_scores
from samebits.langid.training.backoff import take_rows
from samebits.langid.training.compact.near_counts import NearCounts
from samebits.langid.training.compact.near_entries import ModelEntries, attach, groups_of
from samebits.langid.training.compact.near_values import near_values
from samebits.langid.training.compact.ngram_counts import NgramCounts, NgramVocabulary, count, link, select
from samebits.langid.training.compact.noise_words import NO_LANGUAGE, noise_words
from samebits.langid.training.compact.priors import biases
from samebits.langid.training.compact.pruning import bucket_count, choose
from samebits.langid.training.compact.smoothing import Smoothed, smooth
from samebits.langid.training.gather import Rows
from samebits.langid.training.identities import sample_rows, with_labels
from samebits.langid.training.ledger import Ledger
from samebits.langid.training.report import make_report
from samebits.langid.training.tasks import TokenRows, WordCounts, count_words
from samebits.machine.caps import give_back_freed_memory

__all__ = [
    "REPORT_ROWS",
    "CompactResult",
    "Draft",
    "check_number",
    "complete",
    "draft",
    "score_texts",
    "texts_of",
    "train_compact",
    "with_noise",
]

REPORT_ROWS = 20_000
NEAR_PART = 30  # one part in so many is for what tells near languages apart
OTHER_FILES = 64_000  # bytes of the names, the report and the manifest
OCCURRENCES, COUNTED_AS = 20, 7
MANY_WORDS = 10_000_000
SHIFT = 4  # from 1/1024 bit to 1/64


@dataclass(frozen=True, slots=True)
class CompactResult:
    """What training gives."""

    files: CompactFiles
    num_words: int
    reports: list[dict[str, Any]]


def train_compact(
    rows: Rows, config: LangidConfig, engine: Engine, ledger: Ledger, near: NearCounts | None = None
) -> CompactResult:
    """Train; empty rows and duplicates go to the ledger; ``near`` are counts of near languages by source.

    Raises:
        ConfigError: for more languages than an entry has room for.
    """
    check_number(rows.languages)
    n = rows.num_train
    tokens = TokenRows(rows.tokens, rows.stops[:n])
    ledger.drop_empty(rows.kept[:n])
    identities = with_labels(rows.identities[:n], rows.labels[:n])
    ledger.drop_duplicates(first_rows(identities, rows.kept[:n].view(np.uint8)))
    keep = ~ledger.dropped
    num = len(rows.languages)
    counted = count_words(
        engine,
        "count",
        tokens,
        rows.labels[:n],
        keep,
        num_words=rows.num_words,
        num_languages=num,
        once_per_row=False,
    )
    languages, vocabulary = with_noise(rows, counted)
    del counted
    rows.words = vocabulary.words[: len(rows.words)]  # the same words, once
    rows.word_stops = vocabulary.word_stops[: rows.num_words]
    drafted = draft(engine, languages, vocabulary, config, with_near=near is not None)
    files = complete(engine, drafted, near)
    report = _report(rows, files, sample_rows(identities, keep, REPORT_ROWS))
    samples = {"samples": int(keep.sum()), "removed": 0, "suspects": 0}
    return CompactResult(files, rows.num_words, [{"cycle": 1, **samples, **report}])


def check_number(languages: list[str]) -> None:
    """Refuse more languages than an entry has room for.

    Raises:
        ConfigError: if there are.
    """
    if len(languages) >= MOST_LANGUAGES:
        raise ConfigError(
            f"{len(languages)} languages; compact mode takes up to {MOST_LANGUAGES - 1}",
            hint="is --lang-column right? --mode backoff takes up to 65,535",
        )


class WordRows(Protocol):
    """What has languages and words: the rows, or what was counted of them."""

    @property
    def languages(self) -> list[str]:
        """Names, sorted."""
        ...

    @property
    def words(self) -> NDArray[np.uint8]:
        """Bytes of all words, one after another."""
        ...

    @property
    def word_stops(self) -> NDArray[np.int64]:
        """Where each ends."""
        ...


def with_noise(rows: WordRows, counted: WordCounts) -> tuple[list[str], NgramVocabulary]:
    """Thin out the counts of a large corpus, and add the class of texts in no language, unless the rows have one.

    Its name sorts last or is put in its place.
    """
    languages = list(rows.languages)
    counted = counted._replace(counts=thinned(counted.counts))
    if NO_LANGUAGE in languages:
        return languages, NgramVocabulary(rows.words, rows.word_stops, counted, len(languages))
    noise = [word.encode() for word in noise_words()]
    ends = np.cumsum([len(word) for word in noise], dtype=np.int64)
    last = int(rows.word_stops[-1]) if len(rows.word_stops) else 0
    stops = int(counted.stops[-1]) if len(counted.stops) else 0
    merged = WordCounts(
        np.append(counted.stops, stops + 1 + np.arange(len(noise), dtype=np.int64)),
        np.append(counted.languages, np.full(len(noise), len(languages), np.int32)),
        np.append(counted.counts, np.ones(len(noise), np.uint32)),
    )
    words = np.append(rows.words, np.frombuffer(b"".join(noise), np.uint8))
    return [*languages, NO_LANGUAGE], NgramVocabulary(
        words, np.append(rows.word_stops, last + ends), merged, len(languages) + 1
    )


def thinned(counts: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Of a corpus with many words count 20 occurrences as 7, a word that is there at least as one.

    A text repeats its words, so they tell less than their number. What is rare is then left out sooner and what was never seen is
    expected more, which held-out sources reward; a small corpus has nothing to spare (dev/LOG.md).

    >>> thinned(np.array([1, 2, 4, 5, 20, 4_000_000_000], np.uint32)).tolist()
    [1, 1, 1, 2, 7, 1400000000]
    >>> thinned(np.array([1, 2, 4, 5, 20], np.uint32)).tolist()
    [1, 2, 4, 5, 20]
    """
    if int(counts.sum(dtype=np.int64)) < MANY_WORDS:
        return counts
    whole, rest = np.divmod(counts, np.uint32(OCCURRENCES))
    found: NDArray[np.uint32] = COUNTED_AS * whole + (COUNTED_AS * rest + OCCURRENCES // 2) // OCCURRENCES
    return np.maximum(found, 1).astype(np.uint32)


class Draft(NamedTuple):
    """A model without evidence between near languages, and how many bytes are left for it."""

    languages: list[str]
    entries: ModelEntries
    floors: NDArray[np.int32]
    biases: NDArray[np.int32]
    of_near: int


def draft(
    engine: Engine, languages: list[str], words: NgramVocabulary, config: LangidConfig, *, with_near: bool
) -> Draft:
    """Make a model of at most the configured size from word counts; nothing after it needs the words.

    Raises:
        InputError: if no n-gram occurs twice.
    """
    give_back_freed_memory()  # of the rows
    counted = count(engine, words)
    if not len(counted.keys):
        raise InputError("no n-gram occurs twice", path="inputs", hint="compact mode needs more text")
    threads = engine.tasks_in_memory
    room = config.megabytes * 1_000_000 - OTHER_FILES
    of_near = room // NEAR_PART if with_near else 0
    gains = smooth(words, counted, threads=threads).gains
    keep = choose(counted, gains, num_bytes=room - of_near)
    selected = select(counted, keep)
    del counted, gains, keep  # the largest tables there are
    give_back_freed_memory()
    counted = link(words, *selected, threads=threads)
    smoothed = smooth(words, counted, threads=threads)
    floors = (smoothed.floors >> SHIFT).astype(np.int32)
    odds = biases(languages, words, parse_odds(config.odds))
    return Draft(languages, _entries(counted, smoothed), floors, odds, of_near)


def complete(engine: Engine, drafted: Draft, near: NearCounts | None) -> CompactFiles:
    """Add the evidence between near languages, if their words were counted, and pack."""
    languages, entries, floors, odds, of_near = drafted
    buckets = bucket_count(len(entries.keys))
    if near is not None:
        give_back_freed_memory()  # of what the draft was made from
        compared = near_values(engine, near, entries.keys)
        give_back_freed_memory()
        entries = attach(entries, compared, languages, num_bytes=of_near)
    groups = groups_of(languages) if near is not None else ()
    return CompactFiles(languages, *pack(*entries, buckets), floors, odds, groups)


def _entries(counted: NgramCounts, smoothed: Smoothed) -> ModelEntries:
    levels = levels_of(smoothed.values.astype(np.int64) >> SHIFT)
    return ModelEntries(counted.keys, counted.sizes, counted.languages, levels)


def _report(rows: Rows, files: CompactFiles, chosen: NDArray[np.int64]) -> dict[str, Any]:
    """Report on the evaluation rows, or on a sample of the training rows; margins are in bits."""
    if rows.has_eval:
        chosen = rows.num_train + np.flatnonzero(rows.kept[rows.num_train :])
    sample = take_rows(TokenRows(rows.tokens, rows.stops), chosen)
    top, lead = score_texts(files, texts_of(sample, rows.words, rows.word_stops))
    trained = np.isin(np.arange(len(files.languages)), rows.labels[: rows.num_train])
    return make_report(
        rows.labels[chosen], top, lead / UNITS_PER_BIT, trained=trained, languages=files.languages
    )


def score_texts(files: CompactFiles, column: TextColumn) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return for each text its top language (-1: no letter is known) and the lead in 1/64 bit, a whole bit without one."""
    top, lead = np.full(len(column), -1, np.int32), np.full(len(column), UNITS_PER_BIT, np.int64)
    scorer = files.scorer()
    for first in range(0, len(column), REPORT_ROWS):
        part = slice(first, first + REPORT_ROWS)
        scores, letters, _ = scorer.score(column.buffer, column.starts[part], column.stops[part], MOST_POINTS)
        scores = settle_scores(files, scores, letters, files.groups())
        best = scores.argmax(axis=1)
        ranked = np.partition(scores, -2, axis=1) if scores.shape[1] > 1 else np.repeat(scores, 2, axis=1)
        top[part] = np.where(letters > 0, best, -1)
        lead[part] = np.where(letters > 0, ranked[:, -1] - ranked[:, -2], UNITS_PER_BIT)
    return top, lead


def texts_of(sample: TokenRows, words: NDArray[np.uint8], word_stops: NDArray[np.int64]) -> TextColumn:
    """Return rows as text again: their words with spaces between."""
    starts = np.concatenate([[0], word_stops[:-1]])
    sizes = (word_stops - starts)[sample.tokens] + 1
    ends = np.cumsum(sizes)
    places = np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - sizes, sizes)
    source = np.repeat(starts[sample.tokens], sizes) + places
    buffer = words[np.minimum(source, len(words) - 1)].copy()
    buffer[ends - 1] = 32
    stops = np.concatenate([[0], ends])[sample.stops]
    return TextColumn(np.append(buffer, 0).astype(np.uint8), np.concatenate([[0], stops[:-1]]), stops)
