"""What a layout is: which files a split has, and what each row becomes in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.data.array_file import npy_header
from samebits.tokens.keeping.kept_rows import KeptRows, RowTable
from samebits.tokens.layouts.store_file import Column, Section, StoreFile, StoreShape

if TYPE_CHECKING:
    from samebits.data.token_store import TokenStore

__all__ = ["Extras", "StoreLayout", "npy_column", "prompts_of", "source_of", "split_files"]


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
        files: The files of a split with so many rows: the end of each name, and the sections of the file.
        num_bytes: Disk that this many rows and tokens will take.
        stored_ids: The ids of a range of rows of a store, one row after the other, without padding.
    """

    default_length: int | None
    targets: int
    settings: tuple[str, ...]
    files: Callable[[int, StoreShape, Extras], dict[str, tuple[Section, ...]]]
    num_bytes: Callable[[int, int, StoreShape, Extras], int]
    stored_ids: Callable[[TokenStore, int, int], NDArray[Any]]


def split_files(
    layout: StoreLayout, split: str, table: RowTable, shape: StoreShape, extras: Extras
) -> dict[str, StoreFile]:
    """Return the files of a split by name."""
    sections = layout.files(table.num_rows, shape, extras)
    return {f"{split}.{name}": StoreFile(table, shape, parts) for name, parts in sections.items()}


def npy_column(num_rows: int, column: Column) -> tuple[Section, ...]:
    """Return the sections of a ``.npy`` file that holds one column."""
    shape = (num_rows,) if column.width is None else (num_rows, column.width)
    return npy_header(column.dtype, shape), column


def source_of(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[np.int64]:
    """The column of row numbers in the input."""
    return rows.source[start:stop]


def prompts_of(rows: KeptRows, start: int, stop: int, shape: StoreShape) -> NDArray[np.int64]:
    """The column of the lengths of prompts."""
    return rows.prompts[start:stop]
