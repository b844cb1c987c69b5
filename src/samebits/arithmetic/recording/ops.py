"""The records of operations that the C side runs: which there are, their fields, and the buffers they point to.

A record is a row of a NumPy array with the memory layout of ``Op`` in ``native/api.h``: 8 bytes a field. Pointers into the
buffers of a model are written down as places in one arena, which is allocated when all places are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["EPILOGUES", "FIELDS", "KINDS", "PANEL", "RECORD", "Arena", "Buffer", "Op", "Value", "round_up"]

PANEL = 32  # tokens of a panel, as in native/simd.h
# the order of native/program.h
KINDS = (
    "embed",
    "norm",
    "product",
    "heads",
    "attention",
    "gate",
    "drop",
    "loss",
    "ngram",
)
EPILOGUES = {"": 0, "add": 2, "relu2": 4, "gelu": 5}  # as in native/tiles.h
_NUMBERS = ("kind", "rows", "num_k", "heads", "flags")
_PLACES_1 = ("x", "out", "other", "slope", "x_slope", "x_grad", "out_grad", "other_grad", "around")
_PLACES_2 = (
    "weight",
    "weight_grad",
    "second",
    "second_grad",
    "packed",
    "turned",
    "flipped",
    "saved",
    "cosines",
)
_PLACES_3 = ("sines", "cache")
FIELDS = (*_NUMBERS, *_PLACES_1, *_PLACES_2, *_PLACES_3, "table", "capacity")
RECORD = np.dtype(
    [*((name, "<i8") for name in FIELDS), ("number", "<f8"), ("place", "<u8"), ("threshold", "<u8")]
)


def round_up(number: int, multiple: int) -> int:
    """Return the next multiple.

    >>> round_up(33, 32)
    64
    """
    return -(-number // multiple) * multiple


@dataclass(frozen=True, slots=True)
class Buffer:
    """A place in the arena."""

    start: int
    size: int


class Arena:
    """Places, handed out one after the other on borders of 64 bytes; memory comes with ``allocate``."""

    def __init__(self) -> None:
        self.size = 0
        self._floats: NDArray[np.float32] | None = None

    def take(self, size: int) -> Buffer:
        """Return a place for ``size`` floats."""
        found = Buffer(self.size, size)
        self.size = round_up(self.size + size, 16)
        return found

    def take_at(self, start: int, size: int) -> Buffer:
        """Return a place that others use at other times."""
        self.size = max(self.size, round_up(start + size, 16))
        return Buffer(start, size)

    def allocate(self) -> None:
        """Get the memory, zeroed, beginning on a page where the system gives large ones."""
        raw = np.zeros(self.size + 1024, np.float32)
        skip = -raw.ctypes.data % 4096 // 4
        self._floats = raw[skip : skip + self.size]

    def array(self, buffer: Buffer) -> NDArray[np.float32]:
        """Return the floats of a place."""
        assert self._floats is not None
        return self._floats[buffer.start : buffer.start + buffer.size]

    def address(self, buffer: Buffer) -> int:
        """Return where a place lies in memory."""
        return int(self.array(buffer).ctypes.data)


@dataclass(slots=True, eq=False)
class Value:
    """What an operation makes: one row per feature.

    Attributes:
        rows: Features.
        data: Where it is kept, for the panels of a chunk.
        made_in: Segment of the operation that makes it.
        slope: Where its activation keeps the slope; the gradient of such a value is that before the activation.
    """

    rows: int
    data: Buffer
    made_in: int
    slope: Buffer | None = None


@dataclass(slots=True, eq=False)
class Op:
    """One operation as it is recorded: its fields, the values it takes and makes, and the names of its parameters."""

    kind: str
    fields: dict[str, Any]
    segment: int = 0
    x: Value | None = None
    out: Value | None = None
    other: Value | None = None
    weight: str = ""
    second: str = ""
    places: dict[str, Buffer] = field(default_factory=dict)
