"""A fold for tests: sums of numbers by remainder, told shard by shard; on request its process dies, once."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.core.plan import Shard

__all__ = ["SumFold"]


@dataclass(frozen=True)
class SumFold:
    """Numbers of each shard's range, summed in as many partitions as they have remainders.

    Attributes:
        partitions: Divisor.
        die_in: Method and number (of node or partition) in which to die the first time; needs ``flag``.
        flag: Path that says it has happened.
        pids: Folder in which each call leaves the number of its process.
    """

    partitions: int
    die_in: tuple[str, int] = ("", 0)
    flag: str = ""
    pids: str = ""

    def count(self, shards: Sequence[Shard], state: Any, /) -> tuple[list[Any], list[Any]]:
        self._note("count", shards[0].index)
        numbers = [number for shard in shards for number in range(shard.start, shard.stop)]
        sums = [sum(n for n in numbers if n % self.partitions == p) for p in range(self.partitions)]
        return [[shard.index, state] for shard in shards], [[n] if n else None for n in sums]

    def merge(self, pieces: Iterable[Any], /) -> Any:
        return [sum(piece[0] for piece in pieces)]

    def reduce(self, pieces: Iterable[Any], partition: int, /) -> tuple[Any, list[Any]]:
        self._note("reduce", partition)
        total = sum(piece[0] for piece in pieces)
        return total, [[total]]

    def _note(self, method: str, number: int) -> None:
        if self.pids:
            Path(self.pids, f"{method}-{number}-{os.getpid()}").touch()
        if self.die_in == (method, number) and not Path(self.flag).exists():
            Path(self.flag).touch()
            os.kill(os.getpid(), signal.SIGKILL)
