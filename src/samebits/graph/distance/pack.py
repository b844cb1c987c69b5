"""Many graphs as flat arrays: what kernels read, what workers get, no Python object a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ConfigError
from samebits.graph.data import Graph, Label

__all__ = ["GraphSet", "pack"]


@dataclass(frozen=True, slots=True)
class GraphSet:
    """Graphs one after the other; graph g has the nodes ``node_at[g]:node_at[g + 1]`` and its edges likewise.

    Attributes:
        labels: A number for each node's label; equal labels have equal numbers in the whole set.
        node_at: Where each graph's nodes start.
        sources: Start of each edge, as a node number within its graph.
        targets: Its end.
        edge_labels: A number from 1 for its label.
        edge_at: Where each graph's edges start.
        directed: Whether edges have a direction; one answer for all.
        num_labels: Number of node labels.
        num_edge_labels: Number of edge labels.
    """

    labels: NDArray[np.int32]
    node_at: NDArray[np.int64]
    sources: NDArray[np.int32]
    targets: NDArray[np.int32]
    edge_labels: NDArray[np.int32]
    edge_at: NDArray[np.int64]
    directed: bool
    num_labels: int
    num_edge_labels: int

    def __len__(self) -> int:
        return len(self.node_at) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Nodes of each graph."""
        return np.diff(self.node_at)

    def edges_of(self, graph: int) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return sources, targets and labels of one graph's edges."""
        here = slice(int(self.edge_at[graph]), int(self.edge_at[graph + 1]))
        return self.sources[here], self.targets[here], self.edge_labels[here]

    def labels_of(self, graph: int) -> NDArray[np.int32]:
        """Return one graph's node labels."""
        return self.labels[self.node_at[graph] : self.node_at[graph + 1]]


def pack(graphs: Sequence[Graph]) -> GraphSet:
    """Number the labels in order of first sight and lay the graphs out.

    Raises:
        ConfigError: if some graphs are directed and some are not.
    """
    base = next((number for number, graph in enumerate(graphs) if len(graph)), None)
    directed = base is not None and graphs[base].directed
    for number, graph in enumerate(graphs):
        if graph.directed != directed and len(graph):
            kinds = ("undirected", "directed")
            raise ConfigError(
                f"graph {number} is {kinds[graph.directed]}, graph {base} is {kinds[directed]}; they cannot be compared",
                hint="make all of them one or the other",
            )
    node_number: dict[Label, int] = {}
    edge_number: dict[Label, int] = {}
    labels = [node_number.setdefault(label, len(node_number)) for graph in graphs for label in graph.labels]
    edges = [
        (u, v, edge_number.setdefault(label, len(edge_number) + 1))
        for graph in graphs
        for u, v, label in graph.triples
    ]
    columns = np.array(edges, np.int32).reshape(-1, 3).T.copy()
    return GraphSet(
        np.array(labels, np.int32),
        _starts([len(graph) for graph in graphs]),
        columns[0],
        columns[1],
        columns[2],
        _starts([len(graph.edges) for graph in graphs]),
        directed,
        len(node_number),
        len(edge_number),
    )


def _starts(lengths: Sequence[int]) -> NDArray[np.int64]:
    return np.cumsum([0, *lengths], dtype=np.int64)
