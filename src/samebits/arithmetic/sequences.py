"""Operations over sequences of different length, for a ``Network``: LSTM both ways, convolution, scores of pairs.

Sequences go in groups of 32: panel t of a group is position t of its 32 sequences, so a lane is a sequence. Nothing beyond the end
of a lane reaches another position, so a sequence has the same bits whatever else is in its group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic import layers
from samebits.arithmetic.network import TURNED, Activation, First, Floats, Ids, Loss, Network
from samebits.arithmetic.recording.ops import PANEL, round_up

__all__ = [
    "Groups",
    "choose_loss",
    "choose_shares",
    "convolve",
    "lstm",
    "lstm_parameters",
    "pairs",
    "with_root",
]


@dataclass(frozen=True)
class Groups:
    """Where sequences lie.

    Attributes:
        starts: First panel of every group, and the end of the last.
        lengths: Positions of every sequence, (groups, 32), float32; 0 for a lane without one.
    """

    starts: Ids
    lengths: Floats

    @classmethod
    def of(cls, lengths: Sequence[int]) -> Groups:
        """Put sequences into groups in the order given: number i is lane i % 32 of group i // 32."""
        wide = np.zeros(round_up(max(1, len(lengths)), PANEL), np.int64)
        wide[: len(lengths)] = lengths
        table = wide.reshape(-1, PANEL)
        starts = np.concatenate([[0], np.cumsum(np.maximum(table.max(1), 1))]).astype(np.int64)
        return cls(starts, table.astype(np.float32))

    @property
    def panels(self) -> int:
        """Panels of all groups."""
        return int(self.starts[-1])

    def spread(self, rows: Sequence[NDArray[np.int64]], *, empty: int = -1) -> Ids:
        """Return numbers per position, one array a sequence, as (panels, 32)."""
        found = np.full((self.panels, PANEL), empty, np.int64)
        for i, row in enumerate(rows):
            start = self.starts[i // PANEL]
            found[start : start + len(row), i % PANEL] = row
        return found

    def mask(self) -> NDArray[np.bool_]:
        """Tell where there is a position: (panels, 32)."""
        found = np.zeros((self.panels, PANEL), np.bool_)
        for group, lengths in enumerate(self.lengths):
            start, stop = self.starts[group : group + 2].tolist()
            found[start:stop] = np.arange(stop - start)[:, None] < lengths[None]
        return found


def lstm_parameters(name: str, inputs: int, hidden: int) -> dict[str, First]:
    """Return the parameters of a layer that reads both ways; forget gates begin open."""
    spread = 1.0 / float(np.sqrt(hidden)) / float(np.sqrt(3.0))
    return {
        f"{name}.input": First((8 * hidden, inputs), 1.0 / float(np.sqrt(inputs + hidden))),
        f"{name}.state": First((2, 4 * hidden, hidden), spread),
        f"{name}.bias": First((8 * hidden,), 0.0, kind="vector"),
    }


def lstm(network: Network, x: Activation, groups: Groups, name: str, *, drop: float = 0.0) -> Activation:
    """Return the states of a layer that reads every sequence both ways: the forward ones above, the others below.

    Gates are in the order input, forget, new, output, first those of the way forward. One is added to what the forget gate sees.
    ``drop`` is the share of weights between one state and the next that are dropped, the same ones in the whole run.
    """
    hidden = network.params[f"{name}.state"].shape[2]
    panels = len(x.data)
    gates, cells = network.take(panels, 8 * hidden, PANEL), network.take(4, panels, hidden, PANEL)
    made = Activation(network, network.take(panels, 2 * hidden, PANEL))
    state = _StateWeights(network, f"{name}.state", drop)
    bias = network.params[f"{name}.bias"].copy()
    for way in range(2):
        bias[(4 * way + 1) * hidden : (4 * way + 2) * hidden] += np.float32(1.0)
    layers.affine(network.packed(f"{name}.input"), bias, x.data, 0, 1, gates)
    for way in range(2):
        layers.lstm(gates, cells, made.data, way, state.packed(way), groups.starts, groups.lengths)

    def back(grad: Floats) -> None:
        work = network.take(TURNED * round_up(max(x.features, hidden), PANEL))
        into, begun = state.begin_grad()
        for way in range(2):
            turned = state.packed(way, turned=True)
            layers.lstm_back(
                gates,
                cells,
                made.data,
                grad,
                way,
                turned,
                groups.starts,
                groups.lengths,
                into[way],
                begun,
                work,
            )
        state.end_grad()
        into, begun = network.begin_grad(f"{name}.input")
        layers.weights_back(gates, x.data, 0, 1, into, begun, work)
        layers.bias_back(gates, *network.begin_grad(f"{name}.bias"))
        if x.needs_grad:
            to, there = network.into(x)
            layers.affine_back(network.packed(f"{name}.input", turned=True), gates, to, 0, there)

    return network.on_the_way_back(made, back)


class _StateWeights:
    """The weights between one state and the next, (2, 4 * hidden, hidden), some of them dropped for a whole run."""

    def __init__(self, network: Network, name: str, drop: float) -> None:
        self.network, self.name = network, name
        self.drops = network.next_dropout(drop) if drop else None
        if self.drops is not None:
            self.kept = self._room()
            self._shaped(self.kept)[...] = network.params[name]
            layers.drop(self.kept, self.kept, False, *self.drops, False)

    def _room(self) -> Floats:
        """Return memory for all weights behind one another, in rows of 32."""
        room = self.network.take(-(-self.network.params[self.name].size // PANEL), 1, PANEL)
        room[-1] = 0.0
        return room

    def _shaped(self, room: Floats) -> Floats:
        weights = self.network.params[self.name]
        return room.reshape(-1)[: weights.size].reshape(weights.shape)

    def packed(self, way: int, *, turned: bool = False) -> Floats:
        """Return those of one way, packed for products."""
        if self.drops is None:
            return self.network.packed(self.name, turned=turned, index=way)
        weights = self._shaped(self.kept)[way]
        out = self.network.take(weights.size)
        layers.pack(weights, out, 0, weights.shape[1], turned)
        return out

    def begin_grad(self) -> tuple[Floats, bool]:
        """Return where the gradient is written, and whether it has begun."""
        if self.drops is None:
            return self.network.begin_grad(self.name)
        self.found = self._room()
        return self._shaped(self.found), False

    def end_grad(self) -> None:
        """Let the gradient of what was kept through."""
        if self.drops is not None:
            layers.drop(self.found, self.found, False, *self.drops, False)
            into, begun = self.network.begin_grad(self.name)
            np.add(into if begun else np.float32(0.0), self._shaped(self.found), out=into)


def convolve(network: Network, x: Activation, groups: Groups, weight: str, bias: str) -> Activation:
    """Return the largest value, or 0, that each filter has over a sequence: one panel a group.

    Args:
        network: The run.
        x: Panels of the groups; every group has ``window - 1`` more of them than its longest sequence.
        groups: Of the positions of filters.
        weight: (filters, window * features); the first of the window comes first.
        bias: (filters,).
    """
    filters, width = network.params[weight].shape
    window = width // x.features
    starts = groups.starts.tolist()
    seen = network.take(groups.panels, filters, PANEL)
    made = Activation(network, network.take(len(starts) - 1, filters, PANEL))
    chosen = network.take(len(starts) - 1, filters, PANEL)
    for g in range(len(starts) - 1):
        first, stop = starts[g], starts[g + 1]
        here = first + g * (window - 1)
        layers.affine(network.packed(weight), network.params[bias], x.data, here, window, seen[first:stop])
        layers.largest(seen, first, stop - first, groups.lengths[g], made.data[g], chosen[g])

    def back(grad: Floats) -> None:
        work = network.take(TURNED * round_up(width, PANEL))
        into, begun = network.begin_grad(weight)
        for g in range(len(starts) - 1):
            first, stop = starts[g], starts[g + 1]
            layers.largest_back(grad[g], chosen[g], first, stop - first, seen)
            here = first + g * (window - 1)
            layers.weights_back(seen[first:stop], x.data, here, window, into, begun or g > 0, work)
        layers.bias_back(seen, *network.begin_grad(bias))
        to = network.adding_to(x)
        for tap in range(window):
            turned = network.packed(weight, tap * x.features, x.features, turned=True)
            for g in range(len(starts) - 1):
                first, stop = starts[g], starts[g + 1]
                layers.affine_back(turned, seen[first:stop], to, first + g * (window - 1) + tap, True)

    return network.on_the_way_back(made, back)


def with_root(network: Network, x: Activation, groups: Groups, name: str) -> Activation:
    """Return the panels of ``x`` with one more at the start of each group, which holds a parameter in all lanes."""
    starts = groups.starts.tolist()
    made = Activation(network, network.take(len(x.data) + len(starts) - 1, x.features, PANEL))
    roots = [start + g for g, start in enumerate(starts[:-1])]
    for g, root in enumerate(roots):
        made.data[root] = network.params[name][:, None]
        made.data[root + 1 : starts[g + 1] + g + 1] = x.data[starts[g] : starts[g + 1]]

    def back(grad: Floats) -> None:
        layers.bias_back(np.ascontiguousarray(grad[roots]), *network.begin_grad(name))
        to = network.adding_to(x)
        for g, root in enumerate(roots):
            piece = to[starts[g] : starts[g + 1]]
            network.elementwise("sum", piece, grad[root + 1 : starts[g + 1] + g + 1], piece)

    return network.on_the_way_back(made, back)


def pairs(network: Network, below: Activation, above: Activation, groups: Groups) -> Activation:
    """Return the scores of all pairs of each sequence: position i of ``below`` with j of ``above``, which has a root in front.

    They lie one after the other: (1, sum of T * (T + 1), 32), group by group, row by row.
    """
    spans = _spans(groups)
    made = Activation(network, network.take(1, spans[-1][3] if spans else 0, PANEL))
    for g, (start, steps, first, _) in enumerate(spans):
        layers.pair_scores(below.data, start, steps, above.data, start + g, steps + 1, made.data, first)

    def back(grad: Floats) -> None:
        left, right = network.adding_to(below), network.adding_to(above)
        for g, (start, steps, first, _) in enumerate(spans):
            layers.pair_scores_back(
                grad, first, below.data, start, steps, above.data, start + g, steps + 1, left, right
            )

    return network.on_the_way_back(made, back)


def _spans(groups: Groups) -> list[tuple[int, int, int, int]]:
    """Return for each group its first panel, its positions, and where its pairs begin and end."""
    found, first = [], 0
    for start, stop in zip(groups.starts[:-1].tolist(), groups.starts[1:].tolist(), strict=True):
        steps = stop - start
        found.append((start, steps, first, first + steps * (steps + 1)))
        first += steps * (steps + 1)
    return found


def choose_loss(
    network: Network,
    scores: Activation,
    groups: Groups,
    targets: Ids,
    weights: Floats,
    *,
    norm: float,
    smoothing: float = 0.0,
) -> Loss:
    """Return the cross-entropy of choosing one position, or the root, for every position of a sequence; never itself.

    Args:
        network: The run.
        scores: What ``pairs`` made.
        groups: Of the positions.
        targets: 0 for the root, j + 1 for position j: (panels, 32).
        weights: Of each position; 0 does not count.
        norm: What the sum is divided by.
        smoothing: Share of the expectation that is spread over all choices.
    """
    gradient = network.take(*scores.data.shape)
    gradient[...] = scores.data
    total = 0.0
    wanted = np.maximum(targets, 0)
    for g, (start, steps, first, _) in enumerate(_spans(groups)):
        limits = groups.lengths[g] + np.float32(1.0)
        total += layers.choice_loss(
            gradient, first, steps, steps + 1, limits, True, wanted, weights, start, 1.0 / norm, smoothing
        )
    return Loss(total / norm, ((scores, gradient),))


def choose_shares(scores: Activation, groups: Groups, out: Floats) -> None:
    """Write the probabilities of choosing each position, or the root, to ``out``, shaped like the scores."""
    out[...] = scores.data
    for g, (_, steps, first, _) in enumerate(_spans(groups)):
        layers.choice_shares(out, first, steps, steps + 1, groups.lengths[g] + np.float32(1.0), True)
