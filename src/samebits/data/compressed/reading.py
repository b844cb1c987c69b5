"""The content of a compressed file from one of its restart points on, with every point on the way checked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np

from samebits.data.compressed.decoders import NEVER, BrokenStream, RestartPoint, content_from
from samebits.data.compressed.index import read_window
from samebits.data.compressed.points import RestartPoints
from samebits.data.inputs.blocks import VerifiedFile
from samebits.errors import InputError

__all__ = ["PointStream"]


class PointStream:
    """Content from a point on.

    Attributes:
        content: Where in the content the stream is, when it begins or goes on after damage.
        wanted: Where in the content the next point is.
        expected: Where in the file, in bits.
        inside: Whether points lie inside gzip members.
    """

    def __init__(self, file: VerifiedFile, compression: str, points: RestartPoints, number: int) -> None:
        self._file = file
        self._compression = compression
        self._points = points
        self._number = number
        self.inside = bool(points.index) and compression == "gz"
        self.content = int(points.table["content"][number])
        self._expect(number + 1)

    def chunks(self) -> Iterator[bytes]:
        """Yield the content to the end of the file.

        Raises:
            BrokenStream: The file is damaged; ``resume`` tells whether reading can go on.
            InputError: The index is not that of this file.
        """
        row = self._points.table[self._number]
        try:
            window = read_window(self._points, self._number)
        except (OSError, ValueError) as error:
            raise self._refused(str(error)) from error
        place = RestartPoint(
            int(row["position"]), int(row["content"]), int(row["member"]), int(row["checksum"]), window
        )
        for data in content_from(self._file, self._compression, place, self):
            self.content += len(data)
            if self.content > self.wanted:
                raise self._wrong()
            yield data

    def resume(self) -> bool:
        """Go to the next point after damage; False if there is none.

        Points that the file tells are independent of one another. An index ends where the damage is.
        """
        if self.wanted == NEVER:
            return False
        self.content = self.wanted
        self._expect(self._next + 1)
        self._number = self._next - 1
        return True

    def reached(self, place: RestartPoint) -> None:
        """Compare the place with the point that should be there.

        Raises:
            BrokenStream: The file says something else about itself.
            InputError: The index does.
        """
        if not self._points.agrees(self._next, place):
            raise self._wrong()
        self._expect(self._next + 1)

    def arrived(self, content: int, state: int) -> None:
        """Compare the state of CSV records where the next shard begins.

        Raises:
            InputError: The index says something else.
        """
        table = self._points.table
        number = int(np.searchsorted(table["content"], content))
        if number < len(table) and table["content"][number] == content and table["state"][number] != state:
            raise self._refused(f"the state at point {number} is another")

    def _wrong(self) -> Exception:
        if self._points.index:
            return self._refused(f"point {self._next} is not where it should be")
        return BrokenStream("the sizes that the file gives for its parts are wrong")

    def _expect(self, number: int) -> None:
        self._next = number
        table = self._points.table
        is_there = number < len(table)
        self.wanted = int(table["content"][number]) if is_there else NEVER
        self.expected = int(table["position"][number]) if is_there else NEVER

    def _refused(self, why: str) -> InputError:
        """Remove an index that is wrong, so that the next run makes it again."""
        with suppress(OSError):
            Path(self._points.index).unlink()
        return InputError(
            f"its index of restart points in the cache is wrong ({why}) and has been removed",
            path=self._file.origin,
            hint="start the command again: the index is made anew",
        )
