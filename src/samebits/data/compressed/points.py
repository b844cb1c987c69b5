"""The places where a compressed file may be entered, thinned out: where its shards may begin.

They come from the file itself (``tables``) or from a pass over its content (``index``). Whoever reads from one checks those
that he passes (``reading``), so none has to be believed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from samebits.data.compressed.decoders import RestartPoint

__all__ = ["POINT", "SPACING", "RestartPoints", "digest_of_window", "is_in_order", "point_of"]

#: Content between two points, at least: the smallest cell of any job. A point inside a gzip member has a window of 32 KiB, about
#: 10 KiB compressed: 0.5 % of the content.
SPACING = 2 << 20
#: ``window`` is where a window lies in the index file; -1 for the start of a member or frame, which needs none.
POINT = np.dtype(
    [
        ("content", "<i8"),
        ("position", "<i8"),
        ("member", "<i8"),
        ("window", "<i8"),
        ("window_bytes", "<i4"),
        ("checksum", "<u4"),
        ("digest", "V16"),
        ("state", "u1"),
    ]
)
WHAT_IS_TRUE = ("content", "position", "member", "checksum", "digest")  # where a window lies is an accident
NO_DIGEST = bytes(16)


def digest_of_window(window: bytes | None) -> bytes:
    """Return what identifies a window."""
    return NO_DIGEST if window is None else xxhash.xxh3_128_digest(window)


def point_of(
    place: RestartPoint, *, window: int = -1, window_bytes: int = 0, state: int = 0
) -> tuple[object, ...]:
    """Return a row of the table for a place; its window is kept elsewhere."""
    return (
        place.content,
        place.position,
        place.member,
        window,
        window_bytes,
        place.checksum,
        digest_of_window(place.window),
        state,
    )


@dataclass(frozen=True, slots=True, eq=False)
class RestartPoints:
    """All points of one file.

    Attributes:
        table: One ``POINT`` for each, in order; the first is the start of the file.
        end: Bytes of content, as far as it is known; the last shard reads to the end of the file whatever this says.
        index: The file with the windows; empty where no point needs one.
    """

    table: NDArray[np.void]
    end: int
    index: str = ""

    def cells(self, cell_bytes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return starts and stops of shards, in bytes of content: each begins at the first point a cell after the last."""
        contents = self.table["content"]
        numbers = [0]
        while True:
            number = int(np.searchsorted(contents, int(contents[numbers[-1]]) + cell_bytes))
            if number >= len(contents):
                break
            numbers.append(number)
        starts = contents[numbers].astype(np.int64)
        return starts, np.append(starts[1:], max(self.end, int(starts[-1]) + 1))

    def number_of(self, content: int) -> int:
        """Return which point is at a byte of the content."""
        number = int(np.searchsorted(self.table["content"], content))
        if number == len(self.table) or self.table["content"][number] != content:
            raise ValueError(f"no shard begins at byte {content} of the content")
        return number

    def agrees(self, number: int, place: RestartPoint) -> bool:
        """Tell whether a place is this point."""
        row = self.table[number]
        found = np.array([point_of(place)], POINT)[0]
        return all(row[name] == found[name] for name in WHAT_IS_TRUE)

    def is_like(self, other: RestartPoints) -> bool:
        """Tell whether two tables hold the same points, wherever their windows lie."""
        return all(np.array_equal(self.table[name], other.table[name]) for name in (*WHAT_IS_TRUE, "state"))


def is_in_order(table: NDArray[np.void], end: int, size: int) -> bool:
    """Tell whether a table can be one of a file of this size: it begins with the start of the file, and goes on."""
    contents, positions = table["content"], table["position"]
    return bool(
        len(table)
        and table[0] == np.array([point_of(RestartPoint(0, 0))], POINT)[0]
        and (np.diff(contents) > 0).all()
        and (np.diff(positions) > 0).all()
        and contents[-1] <= end
        and positions[-1] <= 8 * size
    )
