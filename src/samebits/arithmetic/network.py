"""Models of your own on arithmetic 1: a network of operations whose losses and gradients have the same bits on every CPU.

A model is any class with two methods. ``samebits.fit`` trains it, on any number of workers, to the same weights:

>>> class Classifier:
...     def parameters(self):
...         return {"hidden": matrix(64, 20), "hidden.bias": zeros(64), "out": matrix(3, 64)}
...     def loss(self, network, batch):
...         x, labels = batch
...         hidden = network.relu(network.linear(network.rows(x), "hidden", "hidden.bias"))
...         return network.cross_entropy(network.linear(hidden, "out"), labels)

Values are kept in panels of 32 rows, (panels, features, 32), so a lane is a row and no instruction adds across lanes; the orders
of all sums are in docs/reference/arithmetic-1.md. ``sequences`` has what reads rows of different length: LSTM, convolution, pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.arithmetic import layers
from samebits.arithmetic._native import isa
from samebits.arithmetic.matrices import sum_squares
from samebits.arithmetic.panels import ids_of, panels_of
from samebits.arithmetic.parameters import First, first_values, matrix, table, zeros
from samebits.arithmetic.recording.ops import PANEL, round_up
from samebits.arithmetic.values import Activation, Loss

__all__ = ["Activation", "First", "Loss", "Network", "first_values", "matrix", "panels_of", "table", "zeros"]

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]
Drops = tuple[
    int, int, int, float
]  # key of the run, number of the dropout, limit of random bits, scale of what is kept
BLOCK = 1 << 22  # floats of a piece of working memory
TURNED = 8 * PANEL  # tokens that the gradient of weights takes together, as in native/sequences.h


class Network:
    """Runs a model: operations are methods, parameters are named.

    Args:
        params: Float32 arrays by name; their memory is read at every run. After every change of them, call ``changed``.
    """

    def __init__(self, params: Mapping[str, Floats]) -> None:
        self.params = params
        self.grads: Mapping[str, Floats] | None = None
        self._packed: dict[tuple[str, int, int, bool], Floats] = {}
        self._packed_for = ""
        self._blocks: list[Floats] = []
        self._block = self._used = self._place = self._key = 0
        self._back: list[Callable[[], None]] = []
        self._begun: set[str] = set()

    def changed(self) -> None:
        """Take over the parameters as they are now."""
        self._packed.clear()

    def start(self, grads: Mapping[str, Floats] | None = None, *, key: int = 0) -> None:
        """Begin a run.

        Args:
            grads: Where gradients go, one array a parameter; without them nothing is kept for the way back.
            key: 64 bits that decide what dropout drops; 0 drops nothing.
        """
        if self._packed_for != isa():
            self._packed.clear()
            self._packed_for = isa()
        self.grads, self._key = grads, key
        self._block = self._used = self._place = 0
        self._back.clear()
        self._begun.clear()

    def finish(self, loss: Loss) -> float:
        """Write the gradients of a loss, all of them, and return its number."""
        assert self.grads is not None, "the run was begun without gradients"
        for value, grad in loss.begins:
            if value.grad is None:
                value.grad = grad
            else:
                self.elementwise("sum", value.grad, grad, value.grad)
        for step in reversed(self._back):
            step()
        for name, grad in self.grads.items():
            if name not in self._begun:
                grad[...] = 0.0
        return loss.number

    # Working memory, and the way back: for operations.

    def take(self, *shape: int) -> Floats:
        """Return memory for this run; what is in it is left over from others."""
        size = round_up(int(np.prod(shape)), 16)
        while self._block < len(self._blocks) and self._used + size > len(self._blocks[self._block]):
            self._block, self._used = self._block + 1, 0
        if self._block == len(self._blocks):
            raw = np.zeros(max(size, BLOCK) + 16, np.float32)
            skip = -raw.ctypes.data % 64 // 4
            self._blocks.append(raw[skip : skip + max(size, BLOCK)])
        start = self._used
        self._used += size
        return self._blocks[self._block][start : start + int(np.prod(shape))].reshape(shape)

    def on_the_way_back(self, made: Activation, step: Callable[[Floats], None]) -> Activation:
        """Call ``step`` with the gradient of a value when it is known; a value without one is passed over."""
        if self.grads is not None:

            def back() -> None:
                if made.grad is not None:
                    step(made.grad)

            self._back.append(back)
        return made

    def into(self, value: Activation) -> tuple[Floats, bool]:
        """Return where the gradient of a value is written, and whether something is there already to go on from."""
        if value.grad is None:
            value.grad = self.take(*value.data.shape)
            return value.grad, False
        return value.grad, True

    def adding_to(self, value: Activation) -> Floats:
        """Return the gradient of a value to add to, zeros at first."""
        found, begun = self.into(value)
        if not begun:
            found[...] = 0.0
        return found

    def begin_grad(self, name: str) -> tuple[Floats, bool]:
        """Return the gradient of a parameter, and whether another use of it has begun it."""
        assert self.grads is not None
        begun = name in self._begun
        self._begun.add(name)
        return self.grads[name], begun

    def packed(
        self, name: str, first: int = 0, width: int = 0, *, turned: bool = False, index: int = -1
    ) -> Floats:
        """Return weights packed for products: columns ``first`` to ``first + width`` (all of them: 0), of matrix ``index`` of a stack."""
        key = (f"{name}.{index}", first, width, turned)
        if key not in self._packed:
            weights = self.params[name] if index < 0 else self.params[name][index]
            width = width or weights.shape[1]
            out = np.empty(weights.shape[0] * width, np.float32)
            layers.pack(weights, out, first, width, turned)
            self._packed[key] = out
        return self._packed[key]

    def elementwise(self, what: str, a: Floats, b: Floats | None, out: Floats, *, add: bool = False) -> None:
        """Write an operation of two arrays, or add it."""
        other = b.reshape(-1) if b is not None else None
        layers.elementwise(layers.ELEMENTWISE[what], a.reshape(-1), other, out.reshape(-1), add)

    # Operations.

    def rows(self, x: ArrayLike) -> Activation:
        """Return an array (rows, features) as a value."""
        return Activation(self, panels_of(np.asarray(x, np.float32)), needs_grad=False)

    def embed(self, name: str, ids: Ids) -> Activation:
        """Return rows of a table by id, (n,) or (panels, 32); -1 gives zeros."""
        return self.embed_all([(name, ids)])

    def embed_all(
        self, tables: Sequence[tuple[str, Ids]], parts: Sequence[tuple[Activation, Ids]] = ()
    ) -> Activation:
        """Return rows of tables by id, and columns of values by place (panel * 32 + lane), one below the other."""
        where = [ids_of(ids) for _, ids in (*tables, *parts)]
        widths = [self.params[name].shape[1] for name, _ in tables] + [value.features for value, _ in parts]
        starts = np.concatenate([[0], np.cumsum(widths)]).tolist()
        made = Activation(self, self.take(len(where[0]), starts[-1], PANEL))
        for (name, _), ids, at in zip(tables, where, starts, strict=False):
            if ids.size and int(ids.max()) >= len(self.params[name]):
                raise ValueError(f"an id is outside of the {len(self.params[name])} rows of {name!r}")
            layers.look_up(self.params[name], ids, made.data, at)
        for (value, _), places, at in zip(parts, where[len(tables) :], starts[len(tables) :], strict=False):
            layers.gather(value.data, places, made.data, at)

        def back(grad: Floats) -> None:
            for (name, _), ids, at in zip(tables, where, starts, strict=False):
                into, begun = self.begin_grad(name)
                if not begun:
                    into[...] = 0.0
                layers.look_up_back(into, ids, grad, at)
            for (value, _), places, at in zip(
                parts, where[len(tables) :], starts[len(tables) :], strict=False
            ):
                layers.gather_back(self.adding_to(value), places, grad, at)

        return self.on_the_way_back(made, back)

    def gather(self, x: Activation, places: Ids) -> Activation:
        """Return columns of ``x`` by place (panel * 32 + lane); -1 gives zeros."""
        return self.embed_all([], [(x, places)])

    def linear(self, x: Activation, weight: str, bias: str = "") -> Activation:
        """Return weight times ``x``, plus a bias."""
        outputs, inputs = self.params[weight].shape
        if inputs != x.features:
            raise ValueError(f"{weight!r} multiplies {inputs} features, and it is given {x.features}")
        made = Activation(self, self.take(len(x.data), outputs, PANEL))
        layers.affine(self.packed(weight), self.params[bias] if bias else None, x.data, 0, 1, made.data)

        def back(grad: Floats) -> None:
            work = self.take(TURNED * round_up(inputs, PANEL))
            into, begun = self.begin_grad(weight)
            layers.weights_back(grad, x.data, 0, 1, into, begun, work)
            if bias:
                layers.bias_back(grad, *self.begin_grad(bias))
            if x.needs_grad:
                to, there = self.into(x)
                layers.affine_back(self.packed(weight, turned=True), grad, to, 0, there)

        return self.on_the_way_back(made, back)

    def _curve(self, what: str, x: Activation) -> Activation:
        made = Activation(self, self.take(*x.data.shape))
        self.elementwise(what, x.data, None, made.data)

        def back(grad: Floats) -> None:
            to, there = self.into(x)
            self.elementwise(f"{what}_back", grad, made.data, to, add=there)

        return self.on_the_way_back(made, back)

    def relu(self, x: Activation) -> Activation:
        """Return what is above 0, and 0 elsewhere."""
        return self._curve("relu", x)

    def tanh(self, x: Activation) -> Activation:
        """Return the hyperbolic tangent."""
        return self._curve("tanh", x)

    def sigmoid(self, x: Activation) -> Activation:
        """Return 1 / (1 + e^-x)."""
        return self._curve("sigmoid", x)

    def add(self, x: Activation, y: Activation) -> Activation:
        """Return the sum of two values."""
        made = Activation(self, self.take(*x.data.shape))
        self.elementwise("sum", x.data, y.data, made.data)

        def back(grad: Floats) -> None:
            for value in (x, y):
                if value.needs_grad:
                    to, there = self.into(value)
                    self.elementwise("copy", grad, None, to, add=there)

        return self.on_the_way_back(made, back)

    def multiply(self, x: Activation, y: Activation) -> Activation:
        """Return the product of two values, element by element."""
        made = Activation(self, self.take(*x.data.shape))
        self.elementwise("times", x.data, y.data, made.data)

        def back(grad: Floats) -> None:
            for value, other in ((x, y), (y, x)):
                if value.needs_grad:
                    to, there = self.into(value)
                    self.elementwise("times", grad, other.data, to, add=there)

        return self.on_the_way_back(made, back)

    def concat(self, *values: Activation) -> Activation:
        """Return the features of all values, one below the other."""
        starts = np.concatenate([[0], np.cumsum([value.features for value in values])]).tolist()
        made = Activation(self, self.take(len(values[0].data), starts[-1], PANEL))
        for value, at in zip(values, starts, strict=False):
            made.data[:, at : at + value.features] = value.data

        def back(grad: Floats) -> None:
            for value, at in zip(values, starts, strict=False):
                if value.needs_grad:
                    to, there = self.into(value)
                    piece = np.ascontiguousarray(grad[:, at : at + value.features])
                    self.elementwise("copy", piece, None, to, add=there)

        return self.on_the_way_back(made, back)

    def dropout(self, x: Activation, rate: float, *, alike: bool = False) -> Activation:
        """Return ``x`` with a share of its elements dropped by their address; ``alike``: the same ones in all panels."""
        drops = self.next_dropout(rate)
        if drops is None:
            return x
        made = Activation(self, self.take(*x.data.shape))
        layers.drop(x.data, made.data, alike, *drops, False)

        def back(grad: Floats) -> None:
            to, there = self.into(x)
            layers.drop(grad, to, alike, *drops, there)

        return self.on_the_way_back(made, back)

    def next_dropout(self, rate: float) -> Drops | None:
        """Return what decides which elements the next dropout of this run drops, for ``layers.drop``; None if it drops none."""
        place, self._place = self._place, self._place + 1
        return (self._key, place, int(rate * 2**32), 1.0 / (1.0 - rate)) if rate and self._key else None

    # Losses.

    def cross_entropy(
        self,
        logits: Activation,
        targets: Ids,
        *,
        weights: Floats | None = None,
        norm: float | None = None,
        smoothing: float = 0.0,
    ) -> Loss:
        """Return the cross-entropy of a softmax over the features.

        Args:
            logits: One row per example.
            targets: The right feature of each row, (n,) or (panels, 32); -1 does not count.
            weights: Of each row, shaped like targets; 1 if not given.
            norm: What the sum is divided by; without it, the number of rows that count.
            smoothing: Share of the expectation that is spread over all features.
        """
        wanted = ids_of(targets)
        counts = wanted >= 0
        if wanted.shape[0] != len(logits.data) or int(wanted.max(initial=0)) >= logits.features:
            raise ValueError(
                f"targets of shape {targets.shape} for {len(logits.data)} panels of {logits.features} features"
            )
        given = np.zeros(wanted.shape, np.float32)
        given.reshape(-1)[: targets.size] = 1.0 if weights is None else weights.reshape(-1)
        given = np.where(counts, given, np.float32(0.0))
        norm = norm or float(max(1, int(np.count_nonzero(counts))))
        gradient = self.take(*logits.data.shape)
        gradient[...] = logits.data
        limits = np.full(PANEL, logits.features, np.float32)
        total = layers.choice_loss(
            gradient,
            0,
            len(wanted),
            logits.features,
            limits,
            False,
            np.maximum(wanted, 0),
            given,
            0,
            1.0 / norm,
            smoothing,
        )
        return Loss(total / norm, ((logits, gradient),))

    def squared_error(self, x: Activation, targets: ArrayLike) -> Loss:
        """Return the mean over rows of the squared distance to targets (rows, features)."""
        wanted = np.asarray(targets, np.float32)
        wanted = wanted.reshape(len(wanted), -1)
        if wanted.shape[1] != x.features or round_up(max(1, len(wanted)), PANEL) != len(x.data) * PANEL:
            raise ValueError(
                f"targets of shape {wanted.shape} for {len(x.data)} panels of {x.features} features"
            )
        there = np.arange(len(x.data) * PANEL).reshape(-1, 1, PANEL) < len(wanted)
        away = np.where(there, x.data - panels_of(wanted), np.float32(0.0))
        return Loss(sum_squares(away) / len(wanted), ((x, away * np.float32(2.0 / len(wanted))),))

    def shares(self, logits: Activation) -> Floats:
        """Return the softmax over the features, (panels, features, 32), until the next run."""
        found = self.take(*logits.data.shape)
        found[...] = logits.data
        limits = np.full(PANEL, logits.features, np.float32)
        layers.choice_shares(found, 0, len(found), logits.features, limits, False)
        return found

    def output(self, x: Activation, rows: int) -> Floats:
        """Return the first ``rows`` rows of a value as an array (rows, features) of its own."""
        return np.ascontiguousarray(x.data.transpose(0, 2, 1).reshape(-1, x.features)[:rows])
