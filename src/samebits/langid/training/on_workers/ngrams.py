"""N-grams of all words, on the workers: counted with the words of a partition, added up by ranges of their keys.

A range is a run of sorted keys, so the tables of the model are what the ranges give, one after the other. Short n-grams are one
range: their keys are letters, and there are not many. Longer ones and words are hashed, so equal shares of their keys
are equal shares of the work. What the floors need of all features are sums, which the driver is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.data.array_file import npy_header
from samebits.data.folding.output_file import Content, KeptBytes
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.tree import KeptPart, kept_part
from samebits.kernels.langid.features import count_features
from samebits.langid.constants import NUM_GROUPS
from samebits.langid.model.features import (
    Features,
    floors_of,
    group_numbers,
    masters_of,
    stored_values,
    sums_by_group,
    values_of,
)

if TYPE_CHECKING:
    from samebits.langid.training.on_workers.training import CountedWords, WorkerTraining

__all__ = [
    "FEATURES",
    "FeatureFiles",
    "FeatureTables",
    "SumFeatures",
    "feature_pieces",
    "num_ranges",
    "sum_features",
]

FEATURES = "n-grams"  # the stage
FIRST_HASHED, NUM_HASHED = 1 << 63, 1 << 62  # keys of four letters; those of words follow
TABLES = (
    ("keys.npy", "<u8"),
    ("key_sizes.npy", "<u4"),
    ("value_languages.npy", "<u2"),
    ("values.npy", "<i2"),
    ("counts", "<u4"),
    ("master", "<i8"),
)
WRITTEN = 4  # the first so many are files of the model
KEYS, KEY_SIZES, LANGUAGES, VALUES, COUNTS, MASTER = range(6)


def num_ranges(partitions: int) -> int:
    """Return how many ranges the keys have: one for short n-grams, and twice as many as words have partitions."""
    return 1 + 2 * partitions


def _bounds(partitions: int) -> NDArray[np.uint64]:
    """Return the first key of each range but the first.

    >>> [hex(bound) for bound in _bounds(2).tolist()]
    ['0x8000000000000000', '0xa000000000000000', '0xc000000000000000', '0xe000000000000000']
    """
    return np.array([FIRST_HASHED + NUM_HASHED * i // partitions for i in range(2 * partitions)], np.uint64)


def feature_pieces(
    words: NDArray[np.uint8],
    word_stops: NDArray[np.int64],
    stops: NDArray[np.int64],
    languages: NDArray[np.int32],
    counts: NDArray[np.uint32],
    partitions: int,
) -> list[Any]:
    """Return the features of some counted words, a piece for each range of keys."""
    keys, speech, times = count_features(words, word_stops, stops, languages, counts)
    order = np.lexsort((speech, keys))
    keys, speech, times = keys[order], speech[order].astype(np.uint16), times[order]
    cuts = [0, *np.searchsorted(keys, _bounds(partitions)).tolist(), len(keys)]
    return [
        [keys[start:stop], speech[start:stop], times[start:stop]] if stop > start else None
        for start, stop in pairwise(cuts)
    ]


class FeatureFiles(NamedTuple):
    """Pieces of features: in the files of the partitions of words, from piece ``first`` on."""

    files: list[Index]
    first: int
    num_languages: int


@dataclass(frozen=True, slots=True)
class SumFeatures:
    """The task: add up the features of one range; one raw piece for each table."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str

    def __call__(self, shard: Shard, state: FeatureFiles, /) -> KeptPart:
        """Keep the range's share of the tables; tell of each group how many features it has, and the sum by language."""
        number = shard.start
        found = list(self.folder.read_all(state.files, state.first + number))
        if not found:
            return kept_part(self.folder, self.stage, number, [], [])
        keys, languages, counts = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((languages, keys))
        keys, languages, counts = keys[order], languages[order], counts[order]
        other_key = np.append(True, keys[1:] != keys[:-1])
        first = np.flatnonzero(other_key | np.append(True, languages[1:] != languages[:-1]))
        counts = np.add.reduceat(counts, first, dtype=np.uint32)
        keys, languages = keys[first], languages[first]
        starts = np.flatnonzero(other_key[first])
        groups = group_numbers(keys)
        sums = sums_by_group(languages, counts, groups, groups[starts], state.num_languages)
        told = [[group, *sums[group]] for group in range(NUM_GROUPS) if sums[group][0]]
        sizes = np.diff(starts, append=len(keys))
        master = values_of(counts, groups)
        tables = (keys[starts], sizes, languages, stored_values(master), counts, master)
        raw = [
            memoryview(table.astype(kind).tobytes()) for (_, kind), table in zip(TABLES, tables, strict=True)
        ]
        return kept_part(self.folder, self.stage, number, told, raw)


class FeatureTables(NamedTuple):
    """The features of a model as they lie with the workers.

    Attributes:
        files: Of the ranges, one after the other.
        num_features: How many there are.
        num_entries: How many languages they have together.
        floors: Of the model.
        refined: File with the values after refinement, if there was one.
    """

    files: list[Index]
    num_features: int
    num_entries: int
    floors: NDArray[np.int32]
    refined: Index | None = None

    def read(self, folder: PieceFolder) -> Features:
        """Read all of them into this process.

        Raises:
            PieceLost: a file is not there, or not what was written.
        """
        keys, sizes, languages, counts = (
            self._table(folder, table) for table in (KEYS, KEY_SIZES, LANGUAGES, COUNTS)
        )
        if self.refined is None:
            master = self._table(folder, MASTER)
        else:
            master = masters_of(np.frombuffer(folder.read_bytes(self.refined, 0), TABLES[VALUES][1]))
        stops = np.cumsum(sizes, dtype=np.int64)
        return Features(keys, stops, languages, counts, master, self.floors)

    def _table(self, folder: PieceFolder, table: int) -> NDArray[Any]:
        data = b"".join(folder.read_bytes(index, table) for index in self.files)
        return np.frombuffer(data, TABLES[table][1])

    def contents(self) -> dict[str, Content]:
        """Return the files of the model that workers write."""
        lengths = (self.num_features, self.num_features, self.num_entries, self.num_entries)
        contents: dict[str, Content] = {}
        for table, ((name, kind), length) in enumerate(zip(TABLES[:WRITTEN], lengths, strict=True)):
            head = npy_header(kind, (length,))
            if table == VALUES and self.refined is not None:
                contents[name] = KeptBytes.of([self.refined], head)
            else:
                contents[name] = KeptBytes.of(self.files, head, [[table]] * len(self.files))
        return contents


def sum_features(training: WorkerTraining, counted: CountedWords) -> FeatureTables:
    """Let workers add up the features of counted words."""
    task = SumFeatures(training.folder, f"{FEATURES} {counted.cycle}")
    num_languages = len(training.layout.languages)
    state = FeatureFiles(counted.files, 2 * len(training.layout.files), num_languages)
    parts = training.map_parts(task.stage, task, num_ranges(training.layout.partitions), state, unit="ranges")
    sums = [(0, np.zeros(num_languages, np.uint64)) for _ in range(NUM_GROUPS)]
    for group, number, totals in (told for part in parts for told in part.told):
        sums[group] = (sums[group][0] + number, sums[group][1] + totals)
    files = [part.pieces for part in parts if part.pieces.sizes]
    num_features = sum(number for number, _ in sums)
    num_entries = sum(index.sizes[COUNTS] for index in files) // np.dtype(TABLES[COUNTS][1]).itemsize
    return FeatureTables(files, num_features, num_entries, floors_of(sums))
