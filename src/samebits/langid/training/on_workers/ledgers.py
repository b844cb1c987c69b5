"""The ledger of a node: what was found out about its rows, stage by stage, put together; and its lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Shard, ShardTable
from samebits.data.folding.output_file import row_pieces
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.tree import KeptPart, kept_part
from samebits.data.table import json_lines
from samebits.langid.config import LangidConfig
from samebits.langid.sources import Sources, iter_labelled
from samebits.langid.training.ledger import REASONS, SUSPECT, Ledger, RowPlaces
from samebits.langid.training.on_workers.row_files import PLACES, NodeLayout, NodeRows

__all__ = ["LEDGER", "LedgerState", "RowState", "WriteLedger", "notes_piece"]

LEDGER = "ledger"  # the stage


class RowState(NamedTuple):
    """What is known of all rows: who they are, which repeat others, and what each cycle has noted."""

    layout: NodeLayout
    duplicates: list[Index]
    notes: list[list[Index]]

    def ledger(self, folder: PieceFolder, node: int, rows: NodeRows) -> tuple[Ledger, NDArray[np.bool_]]:
        """Return a node's ledger, and whether each row repeats one with another label."""
        ledger, conflict = Ledger(rows.num_train), np.zeros(rows.num_train, bool)
        ledger.drop_empty(rows.kept[: rows.num_train])
        for again, of, differ in folder.read_all(self.duplicates, node):
            ledger.note_duplicates(again, of)
            conflict[again] = differ
        for files in self.notes:
            noted = folder.read(files[node], 0)
            if noted is not None:
                ledger.note(
                    noted["rows"],
                    noted["reasons"],
                    cycle=noted["cycle"],
                    top=noted["top"],
                    score=noted["score"],
                    second=noted["second"],
                    drop=noted["drop"],
                )
        return ledger, conflict


def notes_piece(
    rows: NDArray[np.int64],
    reasons: NDArray[np.uint8],
    *,
    cycle: int,
    top: NDArray[np.int32],
    score: NDArray[np.float64],
    second: NDArray[np.float64],
    drop: bool,
) -> dict[str, Any] | None:
    """Return what ``Ledger.note`` is to be told of a node later, or None if nothing."""
    if not len(rows):
        return None
    noted = {"rows": rows, "reasons": reasons, "cycle": cycle, "top": top, "score": score}
    return {**noted, "second": second, "drop": drop}


class LedgerState(NamedTuple):
    """What the lines of the ledger need besides: the inputs, how they are cut, and the lines of its first source before each node."""

    rows: RowState
    sources: Sources
    shards: ShardTable
    starts: NDArray[np.int64]
    first_line: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WriteLedger:
    """The task: the lines of one node, and how its rows add up."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    config: LangidConfig
    source_names: tuple[str, ...]

    def __call__(self, shard: Shard, state: LedgerState, /) -> KeptPart:
        """Keep the lines; tell how many rows each reason dropped, and how many suspects stayed."""
        node, layout = shard.start, state.rows.layout
        rows = layout.read(self.folder, node)
        ledger, conflict = state.rows.ledger(self.folder, node, rows)
        stayed = int(((ledger.reason == SUSPECT) & ~ledger.dropped).sum())
        dropped = np.bincount(ledger.reason[ledger.dropped], minlength=len(REASONS))
        pieces = []
        if self.config.ledger != "none":
            pieces = row_pieces(self._lines(node, state, rows, ledger, conflict))
        return kept_part(self.folder, LEDGER, node, [rows.num_train, dropped.tolist(), stayed], pieces)

    def _lines(
        self, node: int, state: LedgerState, rows: NodeRows, ledger: Ledger, conflict: NDArray[np.bool_]
    ) -> bytes:
        layout, listed = state.rows.layout, np.flatnonzero(ledger.reason)
        first, last = [*state.starts[node : node + 2].tolist(), len(state.shards)][:2]
        found = self.folder.read(layout.files[node], PLACES)
        own = np.repeat(np.arange(last - first), found["shard_rows"])[listed]
        shards, before = own + first, self._lines_before(node, state, found["shard_lines"])
        sentence = found["sentence"][listed] if len(found["sentence"]) else np.zeros(len(listed), np.int64)
        in_shard = found["lines"][listed].astype(np.int64)
        sources = state.shards.columns[0][shards].astype(np.int32)
        places = RowPlaces(sources, in_shard + before[own], sentence)
        columns = ledger.columns(
            listed, places, rows.labels, conflict[listed], layout.languages, self.source_names
        )
        columns["row"] = listed + layout.first_row[node]
        if self.config.ledger_text:
            columns["text"] = self._texts(state, shards, in_shard)
        return json_lines(columns)

    @staticmethod
    def _lines_before(node: int, state: LedgerState, num_lines: Sequence[int]) -> NDArray[np.int64]:
        """Return the lines of its source before each shard of a node; the shards of a source follow one another."""
        start = int(state.starts[node])
        sources = state.shards.columns[0][start : start + len(num_lines)]
        before = np.cumsum([0, *num_lines])[:-1]
        _, firsts, numbers = np.unique(sources, return_index=True, return_inverse=True)
        found = before - before[firsts][numbers]
        found[sources == sources[0]] += state.first_line[node]
        return np.asarray(found, np.int64)

    def _texts(
        self, state: LedgerState, shards: NDArray[np.int64], lines: NDArray[np.int64]
    ) -> Sequence[str]:
        """Read the texts of the listed rows once more."""
        texts: dict[tuple[int, int], str] = {}
        for number in np.unique(shards).tolist():
            wanted = np.unique(lines[shards == number])
            for block in iter_labelled(
                state.sources,
                state.shards[number],
                text_column=self.config.text_column,
                lang_column=self.config.lang_column,
            ):
                for i in np.flatnonzero(np.isin(block.lines, wanted)).tolist():
                    texts[number, int(block.lines[i])] = block.text[i].decode()
        return [texts[key] for key in zip(shards.tolist(), lines.tolist(), strict=True)]
