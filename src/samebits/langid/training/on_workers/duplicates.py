"""Equal rows find each other: one task for each partition of the identities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from samebits.core.plan import Shard
from samebits.data.folding.piece_files import PieceFolder
from samebits.data.folding.tree import KeptPart, kept_part
from samebits.kernels.langid.dict import first_rows
from samebits.langid.training.identities import with_labels
from samebits.langid.training.on_workers.row_files import FIRST, NodeLayout

__all__ = ["DUPLICATES", "FindDuplicates"]

DUPLICATES = "duplicates"  # the stage


@dataclass(frozen=True, slots=True)
class FindDuplicates:
    """Find the rows of one partition that repeat an earlier row; one piece for each node says which.

    Attributes:
        by_label: Equal texts with different labels are no duplicates.
    """

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    by_label: bool

    def __call__(self, shard: Shard, state: NodeLayout, /) -> KeptPart:
        """Keep for each node its repeated rows, the row each repeats, and whether their labels differ."""
        partition = shard.start
        pieces = [self.folder.read(index, FIRST + partition) for index in state.files]
        nodes = [node for node, piece in enumerate(pieces) if piece is not None]
        found: list[list[object] | None] = [None] * len(pieces)
        if nodes:
            local = [pieces[node][0].astype(np.int64) for node in nodes]
            rows = np.concatenate(
                [state.first_row[node] + own for node, own in zip(nodes, local, strict=True)]
            )
            labels = np.concatenate([state.label_ranks[node][pieces[node][2]] for node in nodes])
            hashes = np.concatenate([pieces[node][1] for node in nodes])
            if self.by_label:
                hashes = with_labels(hashes, labels)
            first = first_rows(hashes, np.ones(len(rows), np.uint8))
            again = np.flatnonzero(first != np.arange(len(first)))
            stops = np.cumsum([len(own) for own in local])
            for node, stop, own in zip(nodes, stops.tolist(), local, strict=True):
                mine = again[np.searchsorted(again, stop - len(own)) : np.searchsorted(again, stop)]
                if len(mine):
                    of = first[mine]
                    found[node] = [own[mine - (stop - len(own))], rows[of], labels[mine] != labels[of]]
        return kept_part(self.folder, DUPLICATES, partition, None, found)
