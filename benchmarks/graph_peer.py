"""The peers of the graph benchmark, in their own environment: networkx, edist, apted and zss on pairs given as JSON.

Usage: python graph_peer.py PEER FILE; prints {"values": [...], "seconds": CPU seconds of the comparisons alone}.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Ready = tuple[list[tuple[Any, Any]], Callable[[Any, Any], float]]


def networkx(data: Any) -> Ready:
    """Exact graph edit distance, unit costs, labels compared."""
    import networkx as nx

    def graph(item: Any) -> Any:
        made = nx.Graph()
        for number, label in enumerate(item["labels"]):
            made.add_node(number, label=label)
        for u, v, label in item["edges"]:
            made.add_edge(u, v, label=label)
        return made

    def same(x: Any, y: Any) -> bool:
        return bool(x["label"] == y["label"])

    pairs = [(graph(a), graph(b)) for a, b in data]
    return pairs, lambda a, b: nx.graph_edit_distance(a, b, node_match=same, edge_match=same)


def edist(data: Any) -> Ready:
    """Node lists and adjacency lists in preorder, as edist takes them."""
    from edist.ted import standard_ted

    def spelled(tree: Any) -> tuple[list[str], list[list[int]]]:
        labels: list[str] = []
        children: list[list[int]] = []
        stack: list[tuple[Any, int | None]] = [(tree, None)]
        while stack:
            (label, below), parent = stack.pop()
            labels.append(label)
            children.append([])
            if parent is not None:
                children[parent].append(len(labels) - 1)
            stack += [(child, len(labels) - 1) for child in reversed(below)]
        return labels, children

    return [(spelled(a), spelled(b)) for a, b in data], lambda a, b: standard_ted(*a, *b)


def apted(data: Any) -> Ready:
    """Trees in the bracket notation that apted parses."""
    from apted import APTED
    from apted.helpers import Tree

    def spelled(tree: Any) -> str:
        return f"{{{tree[0]}{''.join(map(spelled, tree[1]))}}}"

    pairs = [(Tree.from_text(spelled(a)), Tree.from_text(spelled(b))) for a, b in data]
    return pairs, lambda a, b: APTED(a, b).compute_edit_distance()


def zss(data: Any) -> Ready:
    """Trees as zss's own nodes."""
    from zss import Node, simple_distance

    def spelled(tree: Any) -> Any:
        node = Node(tree[0])
        for child in tree[1]:
            node.addkid(spelled(child))
        return node

    return [(spelled(a), spelled(b)) for a, b in data], simple_distance


PEERS = {"networkx": networkx, "edist": edist, "apted": apted, "zss": zss}


def main() -> None:
    """Build first, time the comparisons."""
    peer, path = sys.argv[1:]
    pairs, compare = PEERS[peer](json.loads(Path(path).read_text(encoding="utf-8")))
    started = time.process_time()
    values = [int(compare(a, b)) for a, b in pairs]
    print(json.dumps({"values": values, "seconds": time.process_time() - started}))


if __name__ == "__main__":
    main()
