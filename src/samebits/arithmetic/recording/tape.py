"""A model, recorded once: what it does to panels of tokens, where everything is kept, and how the gradient flows back.

The model's description calls the methods of a ``Tape`` as if they computed; ``finish`` plans the way back, allocates every
buffer, and returns a ``Program`` that does the same steps for every batch without allocating anything.

>>> tape = Tape({"table": table, "w": w, "head": head}, windows=4, block=64)        # doctest: +SKIP
>>> x = tape.embed("table")                                                         # doctest: +SKIP
>>> x = tape.product(tape.norm(x, eps=1e-6), "w", add=x)                            # doctest: +SKIP
>>> program = tape.finish(loss=(x, "head"))                                         # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.functions import cos, power, sin
from samebits.arithmetic.recording.backward import plan_gradients
from samebits.arithmetic.recording.ops import EPILOGUES, PANEL, Arena, Op, Value, round_up
from samebits.arithmetic.recording.program import Program

__all__ = ["Tape", "rotation"]

Floats = NDArray[np.float32]
MOST_NGRAM = 4  # as in native/layers.h
MOST_IDS = 1 << 29  # so that a hash of four of them fits into 63 bits
CHUNK = 128  # tokens that go forward and back together, or one window: more of them take more memory and no less CPU


def rotation(length: int, size: int, base: float = 10000.0) -> tuple[Floats, Floats]:
    """Return cosines and sines (size / 2, length) of the angles by which positions turn the pairs of a head."""
    rates = power(base, -np.arange(0, size, 2) / size)
    angles = rates[:, None] * np.arange(length)[None, :]
    return cos(angles).astype(np.float32), sin(angles).astype(np.float32)


class Tape:
    """Records operations.

    Args:
        params: Float32 arrays by name; their memory is read at every run.
        windows: Most windows of a batch.
        block: Tokens of a window, any number.
        gradients: Whether the way back is planned; without it a tape can only predict.
        cache: Positions that are kept for reading on token by token; 0 reads whole windows.
    """

    def __init__(
        self,
        params: Mapping[str, Floats],
        *,
        windows: int,
        block: int,
        gradients: bool = True,
        cache: int = 0,
    ) -> None:
        for name, value in params.items():
            if value.dtype != np.float32 or not value.flags.c_contiguous:
                raise ValueError(f"the parameter {name!r} is not a contiguous float32 array")
        self.params, self.gradients, self.cache = params, gradients, cache
        self.windows, self.block = windows, block
        per_window = round_up(block, PANEL)
        self.chunk = min(windows, max(1, CHUNK // per_window))
        self.tokens = self.chunk * per_window
        self.arena = Arena()
        self.ops: list[Op] = []
        self._segment = self._places = 0
        self._tables: dict[str, Floats] = {}

    def segment(self) -> None:
        """Begin a new part of the model: on the way back it uses the memory of what came before."""
        self._segment += 1

    def embed(self, table: str, positions: str = "") -> Value:
        """Return rows of a table by token id, plus rows by position."""
        vocab, rows = self.params[table].shape
        fields = {"table": vocab, "capacity": len(self.params[positions]) if positions else 0}
        return self._record(Op("embed", fields, weight=table, second=positions), rows)

    def ngram(self, x: Value | None, table: str, *, length: int, vocab: int) -> Value:
        """Return rows of a table by the last ``length`` tokens, plus ``x``: their own row each where all fit, else by a hash.

        The first tokens of a window have too few before them and get nothing.
        """
        if not 2 <= length <= MOST_NGRAM:
            raise ValueError(f"rows go by 2 to {MOST_NGRAM} tokens, not {length}")
        if vocab > MOST_IDS:
            raise ValueError(f"rows by several tokens are for up to {MOST_IDS} ids, not {vocab}")
        table_rows, rows = self.params[table].shape
        fields = {"table": table_rows, "capacity": vocab, "flags": length}
        return self._record(Op("ngram", fields, other=x, weight=table), rows)

    def norm(self, x: Value, weight: str = "", *, eps: float) -> Value:
        """Return ``x`` over its root mean square; with a weight: less its mean, over its deviation, times the weight."""
        op = Op("norm", {"number": eps, "flags": int(bool(weight))}, x=x, weight=weight)
        op.places["saved"] = self.arena.take(2 * self.tokens)
        return self._record(op, x.rows)

    def product(self, x: Value, weight: str, *, add: Value | None = None, activation: str = "") -> Value:
        """Return weight times ``x``, plus ``add``, or through an activation (``relu2`` or ``gelu``)."""
        if add is not None and activation:
            raise ValueError("a product takes a sum or an activation, not both")
        op = Op("product", {"flags": EPILOGUES["add" if add is not None else activation]}, x=x, other=add)
        found = self._weights(op, weight)
        if activation:
            found.slope = op.places["slope"] = self.arena.take(self.tokens * found.rows)
        return found

    def heads(
        self,
        x: Value,
        *,
        heads: int,
        norm_eps: float | None = None,
        turns: tuple[Floats, Floats] | None = None,
    ) -> Value:
        """Make queries and keys of ``x`` (queries, keys, values) ready for attention, in place.

        Args:
            x: Three times as many rows as the model is wide.
            heads: Number of heads.
            norm_eps: Divide each head's queries and keys by their root mean square.
            turns: Turn pairs by position; see ``rotation``.
        """
        flags = int(norm_eps is not None) + 2 * int(turns is not None)
        op = Op("heads", {"heads": heads, "flags": flags, "number": norm_eps or 0.0}, x=x, out=x)
        op.places["saved"] = self.arena.take(2 * heads * self.tokens)
        op.segment, op.fields["rows"], op.fields["num_k"] = self._segment, x.rows, x.rows
        if turns is not None:
            self._tables |= {"cosines": turns[0], "sines": turns[1]}
            op.fields["table"] = turns[0].shape[1]
        self.ops.append(op)
        return x

    def attention(self, x: Value, *, heads: int) -> Value:
        """Return causal attention of the heads of ``x`` (queries, keys, values)."""
        op = Op("attention", {"heads": heads}, x=x)
        op.places["saved"] = self.arena.take(3 * heads * self.tokens)
        if self.cache:
            panels = round_up(self.cache + 2 * PANEL, 2 * PANEL) // PANEL
            op.places["cache"] = self.arena.take(panels * PANEL * x.rows // 3 * 2)
        return self._record(op, x.rows // 3)

    def gate(self, x: Value, gate: Value) -> Value:
        """Return silu(gate) * x."""
        return self._record(Op("gate", {}, x=x, other=gate), x.rows)

    def dropout(self, x: Value, rate: float, *, add: Value | None = None) -> Value:
        """Return ``x`` with a share of its elements dropped by their address, plus ``add``."""
        fields = {"place": self._places, "threshold": int(rate * 2**32), "number": 1.0 / (1.0 - rate)}
        self._places += 1
        return self._record(Op("drop", fields, x=x, other=add), x.rows)

    def finish(self, loss: tuple[Value, str]) -> Program:
        """Record the logits and the loss of a value, plan the way back, and allocate.

        Args:
            loss: The value, and the name of the weights (vocabulary, rows) it is multiplied by.
        """
        x, weight = loss
        op = Op("loss", {}, x=x)
        self._weights(op, weight)
        for other in self.ops:
            if other.kind == "embed" and other.weight == weight and self.gradients:
                other.fields["flags"] = 1
                other.places["saved"] = self.arena.take(self.windows * round_up(self.block, PANEL) * x.rows)
        if self.gradients:
            plan_gradients(self.ops, self.arena, self.tokens)
        sizes = (self.windows, self.block, self.chunk, self.cache)
        return Program(self.ops, self.arena, self.params, self._tables, *sizes)

    def _weights(self, op: Op, weight: str) -> Value:
        assert op.x is not None
        num_k = self.params[weight].shape[-1]
        rows = self.params[weight].size // num_k
        if num_k != op.x.rows:
            raise ValueError(f"{weight!r} multiplies {num_k} rows, and it is given {op.x.rows}")
        op.weight = weight
        op.places["packed"] = self.arena.take(rows * num_k)
        if self.gradients:
            op.places["turned"] = self.arena.take(rows * num_k)
        return self._record(op, rows)

    def _record(self, op: Op, rows: int) -> Value:
        op.out = Value(rows, self.arena.take(self.tokens * rows), self._segment)
        op.segment, op.fields["rows"], op.fields["num_k"] = self._segment, rows, op.x.rows if op.x else 0
        self.ops.append(op)
        return op.out
