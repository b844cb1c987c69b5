"""A sample of the rows that lie with the workers: the one a training in one process would take, by lowest identities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.tree import KeptPart, kept_part
from samebits.kernels.langid.text.words import Vocabulary
from samebits.langid.training.identities import sample_rows, with_labels
from samebits.langid.training.ledger import SUSPECT
from samebits.langid.training.on_workers.ledgers import RowState
from samebits.langid.training.on_workers.row_files import HASHES, TextRows
from samebits.langid.training.on_workers.training import WorkerTraining
from samebits.langid.training.on_workers.word_tables import take_ranges

__all__ = ["SAMPLE", "RowSample", "SampleNode", "keep_sample", "read_sample", "take_sample"]

SAMPLE = "sample"  # the stage
EVERY = (1 << 64) - 1
SLACK = 1.25  # identities are as good as random, so that few more than are wanted lie below a limit


class RowSample(NamedTuple):
    """Some training rows, in their order."""

    text: TextRows
    labels: NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class SampleNode:
    """The task: the rows of a node that can be used and whose identity is at most ``limit``."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    stage: str
    limit: int

    def __call__(self, shard: Shard, state: RowState, /) -> KeptPart:
        """Keep them as numbers of their own words; tell how many they are."""
        node, layout = shard.start, state.layout
        rows = layout.read(self.folder, node)
        ledger, _ = state.ledger(self.folder, node, rows)
        hashes = self.folder.read(layout.files[node], HASHES)
        usable = ~ledger.dropped & (ledger.reason != SUSPECT)
        chosen = np.flatnonzero(usable & (hashes[: rows.num_train, 0] <= np.uint64(self.limit)))
        if not len(chosen):
            return kept_part(self.folder, self.stage, node, 0, [None])
        tokens, lengths = take_ranges(rows.text.tokens, rows.text.stops, chosen)
        used, numbers = np.unique(tokens, return_inverse=True)
        words, sizes = take_ranges(rows.text.words, rows.text.word_stops, used)
        labels = rows.labels[chosen]
        identities = with_labels(hashes[chosen], labels)
        piece = [identities, labels, numbers.astype(np.uint32), lengths, words, sizes]
        return kept_part(self.folder, self.stage, node, len(chosen), [piece])


def take_sample(training: WorkerTraining, number: int, most: int) -> RowSample:
    """Return the rows that ``sample_rows`` chooses, of ``number`` that can be used."""
    return read_sample(training.folder, keep_sample(training, number, most), most)


def keep_sample(training: WorkerTraining, number: int, most: int) -> list[Index]:
    """Let workers keep the rows that ``sample_rows`` chooses, of ``number`` that can be used, and few others."""
    limit = EVERY if number <= most else min(EVERY, int(SLACK * most / number * EVERY))
    attempt = 1
    while True:
        task = SampleNode(training.folder, f"{SAMPLE} {attempt}", limit)
        parts = training.map_nodes(task.stage, task, training.rows, light=True)
        if limit == EVERY or sum(part.told for part in parts) >= most:
            return [part.pieces for part in parts]
        limit, attempt = min(EVERY, 4 * limit), attempt + 1


def read_sample(folder: PieceFolder, files: Sequence[Index], most: int) -> RowSample:
    """Read the rows that were kept, and choose."""
    return _chosen(list(folder.read_all(files, 0)), most)


def _chosen(pieces: Sequence[Any], most: int) -> RowSample:
    """Put the rows of all nodes together and take those that are wanted."""
    vocabulary = Vocabulary()
    tokens = [np.empty(0, np.uint32)]
    for piece in pieces:
        stops = np.cumsum(piece[5], dtype=np.int64)
        tokens.append(vocabulary.add(piece[4], stops - piece[5], stops)[piece[2]])
    identities = np.concatenate([np.empty((0, 2), np.uint64), *(piece[0] for piece in pieces)])
    labels = np.concatenate([np.empty(0, np.int32), *(piece[1] for piece in pieces)])
    lengths = np.concatenate([np.empty(0, np.int64), *(piece[3] for piece in pieces)])
    chosen = sample_rows(identities, np.ones(len(labels), bool), most)
    text, sizes = take_ranges(np.concatenate(tokens), np.cumsum(lengths), chosen)
    return RowSample(TextRows(text, np.cumsum(sizes), *vocabulary.export()), labels[chosen])
