"""A recorded model, ready to run: losses, gradients and logits of token ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic import runner
from samebits.arithmetic._native import isa
from samebits.arithmetic.recording.ops import KINDS, PANEL, RECORD, Arena, Op, round_up

__all__ = ["Program"]

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]


class Program:
    """Runs what a ``Tape`` recorded; holds all buffers, and refers to the parameters' own memory."""

    def __init__(
        self,
        ops: Sequence[Op],
        arena: Arena,
        params: Mapping[str, Floats],
        tables: Mapping[str, Floats],
        windows: int,
        block: int,
        chunk: int,
        cache: int,
    ) -> None:
        self.windows, self.block, self.chunk, self.cache = windows, block, chunk, cache
        self._ops, self._arena, self._params, self._tables = ops, arena, params, dict(tables)
        arena.allocate()
        self._records = np.zeros(len(ops), RECORD)
        for record, op in zip(self._records, ops, strict=True):
            self._fill(record, op)
        self._bytes = self._records.view(np.uint8)
        assert RECORD.itemsize == runner.OP_BYTES
        self._work = np.zeros(runner.work_size(self._bytes, chunk * round_up(block, PANEL)), np.float32)
        self._vocab = int(params[ops[-1].weight].shape[0])
        self._packed_for = ""
        self._read = np.zeros(max(cache, block), np.int64)  # what ``logits`` has read, by position

    def _fill(self, record: np.void, op: Op) -> None:
        record["kind"] = KINDS.index(op.kind)
        for name, value in op.fields.items():
            record[name] = value
        for name, value in (("x", op.x), ("out", op.out), ("other", op.other)):
            if value is not None:
                record[name] = self._arena.address(value.data)
        for name, place in op.places.items():
            record[name] = self._arena.address(place)
        if op.weight:
            record["weight"] = self._params[op.weight].ctypes.data
        if op.second:
            record["second"] = self._params[op.second].ctypes.data
        if op.kind == "heads":
            for name, table in self._tables.items():
                record[name] = table.ctypes.data

    @property
    def num_bytes(self) -> int:
        """Memory of all buffers."""
        return 4 * self._arena.size + self._work.nbytes

    def pack(self) -> None:
        """Take over the parameters as they are now; to be called after every change of them."""
        runner.pack(self._bytes)
        self._packed_for = isa()

    def gradient(self, ids: Ids, targets: Ids, grads: Mapping[str, Floats], *, key: int = 0) -> float:
        """Return the mean loss of a batch and overwrite ``grads`` with its gradient.

        Args:
            ids: Token ids (windows, block).
            targets: The ids to predict, of the same shape.
            grads: One array a parameter, shaped alike, float32 and in one piece.
            key: 64 bits that decide what dropout drops; 0 drops nothing.
        """
        self._check(ids, targets)
        if "x_grad" not in self._ops[-1].places:
            raise ValueError("this program was recorded without gradients")
        self._point_at(grads)
        total = runner.gradient(self._bytes, ids, targets, chunk=self.chunk, work=self._work, key=key)
        return total / ids.size

    def _point_at(self, grads: Mapping[str, Floats]) -> None:
        """Let the operations write to these arrays; trainers hand over other ones for every shard."""
        addresses = {"": 0}
        for name, grad in grads.items():
            if (
                grad.dtype != np.float32
                or not grad.flags.c_contiguous
                or grad.shape != self._params[name].shape
            ):
                raise ValueError(f"the gradient of {name!r} is not a float32 array of the same shape")
            addresses[name] = grad.__array_interface__["data"][0]
        self._records["weight_grad"] = [addresses[op.weight] for op in self._ops]
        self._records["second_grad"] = [addresses[op.second] for op in self._ops]

    def sum_of_losses(self, ids: Ids, targets: Ids) -> float:
        """Return the sum of the losses of all tokens of a batch, without dropout."""
        self._check(ids, targets)
        return runner.sum_of_losses(self._bytes, ids, targets, chunk=self.chunk, work=self._work)

    def logits(self, ids: Ids, *, start: int = 0) -> Floats:
        """Return the logits (tokens, vocabulary) of one sequence.

        Args:
            ids: Up to a window of tokens; with a cache up to 32, and what was read before stays known.
            start: How many tokens were read before; 0 begins anew.
        """
        if self._packed_for != isa():
            self.pack()
        self._check_ids(ids)
        most, room = (PANEL, self.cache) if self.cache else (self.block, self.block)
        if not 0 < ids.size <= most or start < 0 or start + ids.size > room:
            raise ValueError(f"{ids.size} tokens after {start}, where {most} at once fit into {room}")
        runner.logits(self._bytes, ids.reshape(1, -1), start=start, work=self._work, before=self._read)
        self._read[start : start + ids.size] = ids.reshape(-1)
        out = self._ops[-1].out
        assert out is not None
        panels = -(-ids.size // PANEL)
        found = self._arena.array(out.data)[: panels * self._vocab * PANEL].reshape(
            panels, self._vocab, PANEL
        )
        return found.transpose(0, 2, 1).reshape(-1, self._vocab)[: ids.size]

    def _check(self, ids: Ids, targets: Ids) -> None:
        if ids.shape != targets.shape or ids.ndim != 2 or ids.shape[1] != self.block:
            raise ValueError(f"ids of shape {ids.shape} and {targets.shape} are not windows of {self.block}")
        if not 0 < len(ids) <= self.windows:
            raise ValueError(f"{len(ids)} windows in a program for up to {self.windows}")
        self._check_ids(ids)
        self._check_ids(targets)
        if self._packed_for != isa():
            self.pack()

    def _check_ids(self, ids: Ids) -> None:
        if ids.dtype != np.int64 or not ids.flags.c_contiguous:
            raise ValueError("token ids must be an int64 array in one piece")
        if ids.size and not 0 <= int(ids.min()) <= int(ids.max()) < self._vocab:
            raise ValueError(f"a token id is outside 0 to {self._vocab - 1}")
