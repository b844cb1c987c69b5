"""What the driver is told of the first stage, shard by shard and node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from samebits.core.plan import Plan, Shard
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.piece_files import Index
from samebits.langid.training.gather import check_languages, no_rows, only_empty_rows
from samebits.langid.training.on_workers.row_files import NodeLayout

__all__ = ["EncodedNodes"]


class EncodedNodes:
    """Numbers of lines and rows, and the labels.

    Attributes:
        first_line: Of each node the lines of its first source before it.
        num_rows: All rows.
        num_train: Rows for training.
        num_kept: Those of which cleaning leaves something.
        num_blank: Blank lines.
        num_cut: Texts that were cut.
        num_bytes: Bytes of the texts, where they are counted.
        num_left: Bytes of their words.
    """

    def __init__(self, partitions: int) -> None:
        self.partitions = partitions
        self.first_line: list[int] = []
        self.num_rows = 0
        self.num_train = self.num_kept = self.num_blank = 0
        self.num_cut = self.num_bytes = self.num_left = 0
        self._lines: dict[int, int] = {}
        self._labels: list[list[str]] = []
        self._node_rows: list[int] = []
        self._node_seen: list[int] = []

    def take(self, plan: Plan, shard: Shard, told: dict[str, Any], out: ArtifactWriter) -> None:
        """Take what is told of a run of shards of one source; they come in order."""
        out.bad_rows.take(plan, shard, told["bad"], num_lines=told["num_lines"])
        before = self._lines.get(shard.source, 0)
        self._lines[shard.source] = before + told["num_lines"]
        self.num_rows += told["num_rows"]
        self.num_blank += told["num_blank"]
        if "node" in told:  # the first of its node
            node = told["node"]
            self.first_line.append(before)
            self._labels.append(node["labels"])
            self._node_rows.append(0)
            self._node_seen.append(node["num_seen"])
            self.num_train += node["num_train"]
            self.num_kept += node["num_kept"]
            self.num_cut, self.num_bytes, self.num_left = (
                before + more
                for before, more in zip(
                    (self.num_cut, self.num_bytes, self.num_left), node["texts"], strict=True
                )
            )
        self._node_rows[-1] += told["num_rows"]

    @property
    def share_kept(self) -> float:
        """Of the texts' bytes, how many are words and a space behind each; 1 in exact mode."""
        return min(1.0, self.num_left / self.num_bytes) if self.num_bytes else 1.0

    def layout(self, plan: Plan, files: list[Index]) -> NodeLayout:
        """Return what all nodes are.

        Raises:
            InputError: if there is no row to train on.
            ConfigError: if there are too many labels.
        """
        if not self.num_train:
            raise no_rows(plan)
        if not self.num_kept:
            raise only_empty_rows(plan, self.num_train)
        languages = sorted({name for names in self._labels for name in names})
        check_languages(len(languages))
        rank = {name: number for number, name in enumerate(languages)}
        return NodeLayout(
            files,
            languages,
            [np.array([rank[name] for name in names], np.int32) for names in self._labels],
            np.cumsum([0, *self._node_rows], dtype=np.int64),
            np.cumsum([0, *self._node_seen], dtype=np.int64),
            has_eval=plan.inputs.num_train < len(plan.source_names),
            partitions=self.partitions,
        )
