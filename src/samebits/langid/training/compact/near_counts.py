"""Count the words of near languages by language and source: Croatian in Firefox, Bosnian in Firefox, and so on.

One language's text is mostly news, another's mostly menus. What sets their counts apart is then the kind of text, not the
language. Counts by source can be compared like with like (``near_values``). Rows name their source in a column
(``--source-column``); only rows of the languages below are read again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.core.ports.store import NoStore
from samebits.data.readers.rows import TextColumn, iter_rows
from samebits.errors import ConfigError, InputError
from samebits.kernels.langid.text.fold import fold_rows
from samebits.kernels.langid.text.words import Vocabulary
from samebits.langid.config import MOST_POINTS, LangidConfig
from samebits.langid.sources import Sources
from samebits.langid.tables import load_tables

__all__ = ["GROUPS", "MEMBERS", "MOST_SOURCES", "NearCounts", "check_sources", "count_near"]

# Languages that held-out sources showed to be taken for one another (dev/LOG.md), each in one group at most.
_GROUPS = "af nl|ba tt|be bg mk ru uk|bs hr sr|cs sk|da nb nn sv|hi mr ne|id ms|ss xh zu"
GROUPS = tuple(tuple(names.split()) for names in _GROUPS.split("|"))
MEMBERS = tuple(name for names in GROUPS for name in names)
MOST_SOURCES = 256
SOURCE_BITS = 8
# Serbian is written in both scripts, letter for letter; its neighbours only in the second.
SERBIAN = MEMBERS.index("sr")
CYRILLIC = "абвгдђежзијклљмнњопрстћуфхцчџш"
_LATIN = "a b v g d đ e ž z i j k l lj m n nj o p r s t ć u f h c č dž š"
IN_LATIN = str.maketrans(dict(zip(CYRILLIC, _LATIN.split(), strict=True)))


class NearCounts(NamedTuple):
    """All words of near languages; entries ``stops[w-1]:stops[w]`` are a word's cells (member << 8 | source) and counts."""

    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    stops: NDArray[np.int64]
    cells: NDArray[np.int32]
    counts: NDArray[np.uint32]


class NearPart(NamedTuple):
    """One shard's words and sources, and its entries: word << 16 | cell, with their counts."""

    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    sources: NDArray[np.uint8]
    source_stops: NDArray[np.int64]
    entries: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CountNear:
    """The task: count the words of a shard's rows that are in a near language."""

    part_type: ClassVar = NearPart
    config: LangidConfig

    def __call__(self, shard: Shard, state: Sources, /) -> NearPart:
        """Return the shard's words, sources and counts."""
        config = self.config
        words, sources = Vocabulary(), Vocabulary()
        found = [(np.empty(0, np.int64), np.empty(0, np.int64))]
        for block in iter_rows(
            state.corpus, shard, (config.text_column, config.lang_column, config.source_column)
        ):
            members = _members(block.columns[config.lang_column])
            chosen = members >= 0
            text, source = (
                _take(block.columns[name], chosen) for name in (config.text_column, config.source_column)
            )
            numbers = sources.add(source.buffer, source.starts, source.stops).astype(np.int64)
            _check(len(sources), config)
            folded = fold_rows(load_tables(), text.buffer, text.starts, text.stops, MOST_POINTS)
            cells = np.repeat(
                members[chosen] << SOURCE_BITS | numbers, np.diff(folded["token_stops"], prepend=0)
            )
            known = _add(words, folded["words"], folded["word_stops"]).astype(np.int64)
            found.append(_summed(known[folded["tokens"]] << 16 | cells, np.ones(len(cells), np.int64)))
        entries, counts = _summed(*(np.concatenate(column) for column in zip(*found, strict=True)))
        return NearPart(*words.export(), *sources.export(), entries, counts)


def check_sources(plan: Plan, config: LangidConfig) -> None:
    """Refuse inputs without the column before any work is done; reads as far as the first row that has it.

    Raises:
        ConfigError: if the inputs have no columns, or the first rows name more than 256 sources.
        InputError: if no row has the column.
    """
    inputs: Sources = plan.inputs
    if inputs.is_json or any(source.format == "txt" for source in inputs.corpus.sources[: inputs.num_train]):
        raise ConfigError(
            "--source-column needs rows with columns",
            hint="give JSON lines, CSV or Parquet, or leave it out",
        )
    columns = (config.text_column, config.lang_column, config.source_column)
    for shard in plan.shards:
        for block in iter_rows(inputs.corpus, shard, columns) if shard.source < inputs.num_train else ():
            members = _members(block.columns[config.lang_column])
            if len(members):
                source, sources = _take(block.columns[config.source_column], members >= 0), Vocabulary()
                sources.add(source.buffer, source.starts, source.stops)
                return _check(len(sources), config)
    raise InputError(
        f"no row has a column {config.source_column!r}",
        path=", ".join(plan.source_names),
        hint="--source-column names the column that says where a row is from; leave it out where there is none",
    )


def count_near(plan: Plan, config: LangidConfig, engine: Engine) -> NearCounts:
    """Count all training rows of near languages, of inputs that ``check_sources`` let pass.

    Raises:
        ConfigError: if the column names more than 256 sources.
    """
    inputs: Sources = plan.inputs
    shards = [shard for shard in plan.shards if shard.source < inputs.num_train]
    unstored = replace(engine, store=NoStore(), plan=None)
    words, sources = Vocabulary(), Vocabulary()
    found = []
    for _, part in unstored.map_ordered("near", CountNear(config), shards, state=inputs, unit="bytes"):
        known = _add(words, part.words, part.word_stops).astype(np.int64)
        named = _add(sources, part.sources, part.source_stops).astype(np.int64)
        _check(len(sources), config)
        member, source = part.entries >> SOURCE_BITS & 0xFF, part.entries & (MOST_SOURCES - 1)
        found.append((known[part.entries >> 16] << 16 | member << SOURCE_BITS | named[source], part.counts))
    entries, counts = _summed(*(np.concatenate(column) for column in zip(*found, strict=True)))
    return _in_latin(*words.export(), entries, counts)


def _check(num_sources: int, config: LangidConfig) -> None:
    if num_sources > MOST_SOURCES:
        raise ConfigError(
            f"--source-column {config.source_column} has more than {MOST_SOURCES} different values",
            hint="a source is a collection of many texts, such as a newspaper; leave the flag out where there is none",
        )


def _members(labels: TextColumn) -> NDArray[np.int64]:
    """The number of each row's language in ``MEMBERS``, -1 for the others."""
    names = Vocabulary()
    numbers = names.add(labels.buffer, labels.starts, labels.stops)
    data, stops = names.export()
    starts = stops - np.diff(stops, prepend=0)
    found = [data[a:b].tobytes().decode() for a, b in zip(starts, stops, strict=True)]
    table = np.array([MEMBERS.index(name) if name in MEMBERS else -1 for name in found], np.int64)
    return table[numbers] if len(table) else np.empty(0, np.int64)


def _take(column: TextColumn, rows: NDArray[np.bool_]) -> TextColumn:
    return TextColumn(column.buffer, column.starts[rows], column.stops[rows])


def _add(vocabulary: Vocabulary, words: NDArray[np.uint8], stops: NDArray[np.int64]) -> NDArray[np.uint32]:
    return vocabulary.add(words, stops - np.diff(stops, prepend=0), stops)


def _summed(
    entries: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each entry once, in order, with the sum of its counts."""
    order = np.argsort(entries, kind="stable")
    entries = entries[order]
    first = np.flatnonzero(np.diff(entries, prepend=-1))
    return entries[first], np.add.reduceat(counts[order], first) if len(first) else counts[:0]


def _in_latin(
    words: NDArray[np.uint8],
    word_stops: NDArray[np.int64],
    entries: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> NearCounts:
    """Write Serbian words in Latin letters, and lay the entries out by word."""
    serbian = entries >> SOURCE_BITS & 0xFF == SERBIAN
    numbers = np.unique(entries[serbian] >> 16)
    starts = word_stops - np.diff(word_stops, prepend=0)
    written = [
        words[a:b].tobytes().decode().translate(IN_LATIN).encode()
        for a, b in zip(starts[numbers].tolist(), word_stops[numbers].tolist(), strict=True)
    ]
    vocabulary = Vocabulary()
    _add(vocabulary, words, word_stops)
    sizes = np.cumsum([len(word) for word in written], dtype=np.int64)
    latin = _add(vocabulary, np.frombuffer(b"".join(written) + b"\0", np.uint8)[:-1].copy(), sizes)
    changed = entries[serbian]
    entries[serbian] = (
        latin[np.searchsorted(numbers, changed >> 16)].astype(np.int64) << 16 | changed & 0xFFFF
    )
    entries, counts = _summed(entries, counts)
    words, word_stops = vocabulary.export()
    stops = np.searchsorted(entries >> 16, np.arange(len(word_stops)), side="right")
    return NearCounts(words, word_stops, stops, (entries & 0xFFFF).astype(np.int32), counts.astype(np.uint32))
