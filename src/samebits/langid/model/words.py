"""What can be done with a model's word counts: add models up, compare languages, exchange with other tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.core.regular_file import read_regular
from samebits.errors import ConfigError, InputError
from samebits.kernels.langid.dict import Dictionary
from samebits.kernels.langid.text.words import Vocabulary
from samebits.langid.model.model_files import ModelFiles
from samebits.langid.training.tasks import WordCounts

__all__ = [
    "WordTable",
    "as_label_lines",
    "as_lines",
    "as_vocabulous",
    "from_label_lines",
    "from_vocabulous",
    "merge_tables",
    "overlap",
]

LABEL = "__label__"


@dataclass(frozen=True, slots=True)
class WordTable:
    """Words, languages and counts, without anything derived from them."""

    mode: str
    languages: list[str]
    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    counted: WordCounts

    @classmethod
    def of(cls, files: ModelFiles) -> WordTable:
        """Take the table out of a model."""
        return cls(files.mode, files.languages, files.words, files.word_stops, files.counted)

    def entries(self) -> Iterator[tuple[str, list[tuple[str, int]]]]:
        """Yield each word with its languages and counts, in first-seen order."""
        data, ends = self.words.tobytes(), self.word_stops.tolist()
        names = [self.languages[i] for i in self.counted.languages.tolist()]
        pairs = list(zip(names, self.counted.counts.tolist(), strict=True))
        stops = self.counted.stops.tolist()
        for i, end in enumerate(ends):
            word = data[ends[i - 1] if i else 0 : end].decode()
            yield word, pairs[stops[i - 1] if i else 0 : stops[i]]


def merge_tables(tables: Sequence[WordTable]) -> WordTable:
    """Add counts up, words and languages in first-seen order over the tables.

    Raises:
        ConfigError: if the modes differ: their words are cut differently.
    """
    modes = sorted({table.mode for table in tables})
    if len(modes) != 1:
        raise ConfigError(
            f"cannot merge models of different modes: {', '.join(modes)}", hint="merge models of one mode"
        )
    languages = sorted({name for table in tables for name in table.languages})
    vocabulary = Vocabulary()
    numbers = [
        vocabulary.add(t.words, t.word_stops - np.diff(t.word_stops, prepend=0), t.word_stops) for t in tables
    ]
    total = Dictionary(len(vocabulary))
    for table, words in zip(tables, numbers, strict=True):
        rank = np.array([languages.index(name) for name in table.languages], np.int32)
        counted = table.counted
        total.add(words, counted.stops, rank[counted.languages], counted.counts)
    data, word_stops = vocabulary.export()
    return WordTable(modes[0], languages, data, word_stops, WordCounts(*total.export()))


def overlap(table: WordTable, metric: str) -> list[list[float]]:
    """How alike the languages' words are: cosine of P(word | language), or the share of common words (Jaccard).

    Sums of products of counts are whole numbers, so the result does not depend on the order of adding.
    """
    num = len(table.languages)
    sizes = np.diff(table.counted.stops, prepend=0)
    shared: dict[tuple[int, int], int] = {}
    start = 0
    for size in sizes.tolist():
        languages = table.counted.languages[start : start + size].tolist()
        counts = table.counted.counts[start : start + size].tolist() if metric == "cosine" else [1] * size
        start += size
        for i, a in zip(languages, counts, strict=True):
            for j, b in zip(languages, counts, strict=True):
                shared[i, j] = shared.get((i, j), 0) + a * b
    own = [shared.get((i, i), 0) for i in range(num)]

    def similarity(i: int, j: int) -> float:
        if i == j:
            return 1.0
        both = shared.get((i, j), 0)
        below = sqrt(own[i]) * sqrt(own[j]) if metric == "cosine" else float(own[i] + own[j] - both)
        return both / below if below else 0.0

    return [[similarity(i, j) for j in range(num)] for i in range(num)]


def as_vocabulous(table: WordTable) -> bytes:
    """The reference's model file; the order of a word's languages decides its ties, so it is kept."""
    frequencies = {word: dict(pairs) for word, pairs in table.entries()}
    return msgspec.json.encode({"word_lang_freq": frequencies, "languages": table.languages})


def as_lines(table: WordTable) -> Iterator[str]:
    """Yield ``word<TAB>language<TAB>count`` lines."""
    for word, pairs in table.entries():
        for language, count in pairs:
            yield f"{word}\t{language}\t{count}"


def as_label_lines(table: WordTable) -> Iterator[str]:
    """Yield one fastText-style line for each word and language: the word as often as it was counted.

    Raises:
        ConfigError: if a language's name holds white space: the label of a line ends there.
    """
    if odd := [name for name in table.languages if len(name.split()) != 1]:
        raise ConfigError(
            f"the label {odd[0]!r} holds white space, which a {LABEL} line cannot say", hint="--format tsv"
        )
    for word, pairs in table.entries():
        for language, count in pairs:
            yield f"{LABEL}{language} {' '.join([word] * count)}"


def from_label_lines(path: str | Path) -> WordTable:
    """Count the words of ``__label__xx word word ...`` lines, cut at white space and otherwise as they are.

    Raises:
        InputError: for a line without a label, naming it.
    """
    frequencies: dict[str, dict[str, int]] = {}
    listed: dict[str, None] = {}
    for number, line in enumerate(_read(path).decode("utf-8", "replace").splitlines(), start=1):
        label, *words = line.split() or [LABEL]
        if not label.startswith(LABEL) or (words and label == LABEL):
            raise InputError(f"line {number} does not start with {LABEL}", path=str(path))
        language = label.removeprefix(LABEL)
        if words:
            listed[language] = None
        for word in words:
            counts = frequencies.setdefault(word, {})
            counts[language] = counts.get(language, 0) + 1
    return _table_of(frequencies, list(listed), path)


def _read(path: str | Path) -> bytes:
    try:
        return read_regular(Path(path))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None


def from_vocabulous(path: str | Path) -> WordTable:
    """Read the reference's model file; it predicts in exact mode.

    Raises:
        InputError: if it is not such a file.
    """
    try:
        found: dict[str, Any] = msgspec.json.decode(_read(path), type=dict[str, Any])
        frequencies = msgspec.convert(found["word_lang_freq"], dict[str, dict[str, int]])
        listed = msgspec.convert(found["languages"], list[str])
    except (msgspec.MsgspecError, KeyError, RecursionError, UnicodeDecodeError) as error:
        hint = "it must hold word_lang_freq and languages, as vocabulous saves them"
        raise InputError(f"not a vocabulous model: {error}", path=str(path), hint=hint) from None
    return _table_of(frequencies, listed, path)


def _table_of(frequencies: dict[str, dict[str, int]], listed: list[str], path: str | Path) -> WordTable:
    """Put counts into arrays, words and their languages in the order given."""
    languages = sorted({*listed, *(name for pairs in frequencies.values() for name in pairs)})
    rank = {name: i for i, name in enumerate(languages)}
    words = [word for word, pairs in frequencies.items() if word and pairs]
    data = [word.encode("utf-8", "replace") for word in words]
    entries = [pair for word in words for pair in frequencies[word].items()]
    if any(not 0 < count < 2**32 for _, count in entries):
        raise InputError("a count is not between 1 and 2**32", path=str(path))
    counted = WordCounts(
        np.cumsum([len(frequencies[word]) for word in words], dtype=np.int64),
        np.array([rank[name] for name, _ in entries], np.int32),
        np.array([count for _, count in entries], np.uint32),
    )
    stops = np.cumsum([len(item) for item in data], dtype=np.int64)
    return WordTable("exact", languages, np.frombuffer(b"".join(data), np.uint8), stops, counted)
