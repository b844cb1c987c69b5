"""From probabilities to one graph.

``argmax``  the best label and head of every position on its own; arcs to positions that are no node are dropped
``tree``    the best tree over the predicted nodes, with exactly one root (Chu-Liu/Edmonds)
``slots``   the best projective tree in which every node has the children that its label had in training
All are exact and break ties by the lowest index. Where ``slots`` finds no tree, ``tree`` answers; the checker says what is wrong with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.matrices import total
from samebits.graph.anchored import ROOT, ROOT_ARC, Anchored
from samebits.graph.parser.lexicon import ROOT_ID, Lexicon
from samebits.graph.parser.structure import Decoder
from samebits.kernels.graph.decode import slot_tree, spanning_tree

__all__ = ["MOST_CHART_NODES", "Scores", "decode_nodes", "decode_words"]

Floats = NDArray[np.float64]
MOST_CHART_NODES = 160  # the chart takes time of n^4: about a second at this size


@dataclass(frozen=True, slots=True)
class Scores:
    """Log-probabilities of one text.

    Attributes:
        nodes: (positions, node labels).
        heads: (positions, positions + 1); column 0 is the root.
        arcs: (positions, arc labels).
    """

    nodes: Floats
    heads: Floats
    arcs: Floats


def decode_nodes(scores: Scores, lexicon: Lexicon, decoder: Decoder) -> tuple[Anchored, float]:
    """Return the graph of a text and its log-probability."""
    labels = scores.nodes.argmax(1)
    at = np.flatnonzero(labels)
    rest = labels == 0
    certain = total(scores.nodes[np.arange(len(labels)), labels])
    if not len(at):
        return Anchored((), (), (), ()), certain
    # heads: (nodes, nodes + 1) with the root in column 0; arcs: (nodes, arc labels)
    heads = scores.heads[at][:, np.concatenate([[0], at + 1])]
    arcs = scores.arcs[at]
    found = None
    if decoder == "slots" and len(at) <= MOST_CHART_NODES:
        found = _slots(heads, arcs, labels[at], lexicon)
    if found is None and decoder != "argmax":
        found = _tree(heads, arcs)
    if found is None:
        found = _argmax(scores, at, rest)
    above, chosen = found
    certain += total(arcs[np.arange(len(at)), chosen])
    certain += total(np.array([heads[i, above[i] + 1] for i in range(len(at)) if above[i] >= -1]))
    return _graph(at, labels[at], above, chosen, lexicon), certain


def _argmax(scores: Scores, at: NDArray[np.int64], rest: NDArray[np.bool_]) -> tuple[list[int], list[int]]:
    """Take the best head of each node; -2 marks one that points to a position that is no node."""
    place = {int(position): i for i, position in enumerate(at)}
    above, chosen = [], []
    for position in at.tolist():
        arc = int(scores.arcs[position].argmax())
        head = 0 if arc == ROOT_ID else int(scores.heads[position].argmax())
        above.append(-1 if head == 0 else place.get(head - 1, -2))
        chosen.append(arc)
    return above, chosen


def _tree(heads: Floats, arcs: Floats) -> tuple[list[int], list[int]]:
    n = len(heads)
    below = arcs.copy()
    below[:, [0, ROOT_ID]] = -np.inf
    top = np.full((n + 1, n + 1), -1e12)
    label = below.argmax(1) if below.shape[1] > 2 else np.full(n, ROOT_ID)
    best = below[np.arange(n), label] if below.shape[1] > 2 else np.zeros(n)
    top[1:, 1:] = heads[:, 1:] + best[:, None]
    top[1:, 0] = heads[:, 0] + arcs[:, ROOT_ID]
    above = (spanning_tree(np.maximum(top, -1e12))[1:] - 1).tolist()
    return above, [ROOT_ID if head < 0 else int(label[i]) for i, head in enumerate(above)]


def _slots(
    heads: Floats, arcs: Floats, labels: NDArray[np.int64], lexicon: Lexicon
) -> tuple[list[int], list[int]] | None:
    structure, num_arcs = lexicon.structure, arcs.shape[1]
    needs = np.full((len(lexicon.nodes), num_arcs), -1, np.int32)
    may = np.zeros((len(lexicon.nodes), num_arcs), np.int8)
    for number, name in enumerate(lexicon.nodes):
        for bit, arc in enumerate(structure.needs.get(name, ())):
            needs[number, lexicon.arc_ids[arc]] = bit
        for arc in structure.may.get(name, ()):
            may[number, lexicon.arc_ids[arc]] = 1
    scores = np.ascontiguousarray(heads[:, 1:, None] + arcs[:, None, :])
    roots = np.ascontiguousarray(heads[:, 0] + arcs[:, ROOT_ID])
    found = slot_tree(np.maximum(scores, -1e12), roots, needs[labels], may[labels])
    if found is None:
        return None
    above, chosen = found
    return above.tolist(), [ROOT_ID if arc < 0 else int(arc) for arc in chosen]


def _graph(
    at: NDArray[np.int64], labels: NDArray[np.int64], above: list[int], chosen: list[int], lexicon: Lexicon
) -> Anchored:
    positions = at.tolist()
    return Anchored(
        tuple(positions),
        tuple(lexicon.nodes[label] for label in labels.tolist()),
        tuple(positions[head] if head >= 0 else ROOT for head in above),
        tuple(ROOT_ARC if head < 0 else lexicon.arcs[arc] for head, arc in zip(above, chosen, strict=True)),
    )


def decode_words(heads: Floats, decoder: Decoder) -> NDArray[np.int64]:
    """Return the head of every word: 0 for the root, j + 1 for word j; one tree unless ``argmax`` is asked for."""
    n = len(heads)
    top = np.full((n + 1, n + 1), -1e12)
    top[1:] = heads
    np.fill_diagonal(top, -1e12)  # no word is its own head
    best = np.asarray(top[1:].argmax(1), np.int64)
    if decoder == "argmax" or _is_tree(best):
        return best
    return spanning_tree(top)[1:].astype(np.int64)


def _is_tree(heads: NDArray[np.int64]) -> bool:
    """Tell whether every word hangs from the one root: then no tree has a better sum than the best head of each word."""
    if np.count_nonzero(heads == 0) != 1:
        return False
    above = np.concatenate([[0], heads])
    for _ in range(len(heads).bit_length()):
        above = above[above]  # twice as far up each time
    return not above.any()
