"""What a layout is: how rows lie on disk. A writer takes rows in order and never holds more than one batch."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from samebits.data.token_store import TokenStore
from samebits.tokens.layouts.npy_stream import NpyStream

__all__ = ["Batch", "Extras", "PathOf", "RowWriter", "StoreLayout", "StoreShape", "close_all"]

PathOf = Callable[[str], Path]


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows on their way to disk: row ``i`` has ``lengths[i]`` tokens of ``ids`` and came from line ``source[i]``."""

    ids: NDArray[Any]
    lengths: NDArray[np.int64]
    source: NDArray[np.int64] | NDArray[np.uint64]
    prompts: NDArray[np.int64]


class RowWriter(Protocol):
    """Takes batches, in order, for one split."""

    num_rows: int
    num_tokens: int

    def append(self, batch: Batch) -> None:
        """Write the rows of a batch."""
        ...

    def close(self) -> None:
        """Finish the files."""
        ...


@dataclass(frozen=True, slots=True)
class StoreShape:
    """What the files of a split have in common.

    Attributes:
        dtype: Type of a stored id, e.g. ``<u2``.
        width: Longest row; None when rows are never cut.
        pad: Id of padding.
        prompts: Whether the length of each row's prompt is stored.
    """

    dtype: str
    width: int | None
    pad: int
    prompts: bool


@dataclass(frozen=True, slots=True)
class Extras:
    """Further files, for other programs: exports by name, and plain arrays."""

    export: tuple[str, ...] = ()
    materialize: bool = False


class StoreLayout(NamedTuple):
    """One layout; see ``table``.

    Attributes:
        default_length: Tokens of an input row when the user does not say; None: rows are not cut.
        targets: Tokens stored beyond the input, for the shifted target.
        settings: Settings that only this layout takes.
        writer: Opens the files of a split.
        extras: Writes the further files of a finished split.
        num_bytes: Disk that this many rows and tokens will take.
        stored_ids: The ids of a range of rows of a store, one row after the other, without padding.
    """

    default_length: int | None
    targets: int
    settings: tuple[str, ...]
    writer: Callable[[PathOf, str, StoreShape], RowWriter]
    extras: Callable[[PathOf, str, StoreShape, Extras], None]
    num_bytes: Callable[[int, int, StoreShape, Extras], int]
    stored_ids: Callable[[TokenStore, int, int], NDArray[Any]]


def close_all(*streams: RowWriter | IO[bytes] | NpyStream | None) -> None:
    """Close each of them even if one fails, as on a full disk; then raise what was wrong."""
    with ExitStack() as stack:
        for stream in streams:
            if stream is not None:
                stack.callback(stream.close)
