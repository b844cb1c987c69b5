"""What a task that keeps pieces gives the driver: sizes and digests, and what else it is to be told."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from samebits.core.light_dataclass import dataclass
from samebits.core.plan import Shard
from samebits.data.folding.piece_files import Index, PieceFolder

__all__ = ["KeptPart", "Several", "SeveralParts", "kept_part"]


class KeptPart(NamedTuple):
    """The part of a task that keeps pieces.

    Attributes:
        told: What the driver is told.
        where: The pieces are, as ``Index.plain`` gives it.
        data: The file itself, from a worker that does not see the folder; else empty.
    """

    told: Any
    where: list[Any]
    data: bytes

    @property
    def pieces(self) -> Index:
        """Where the pieces are."""
        return Index.from_plain(self.where)


class SeveralParts(NamedTuple):
    """The parts of several consecutive shards, in one: it costs the driver little more than a single one."""

    plain: list[list[Any]]

    @property
    def each(self) -> list[KeptPart]:
        """The parts."""
        return [KeptPart(*one) for one in self.plain]


@dataclass(frozen=True, slots=True)
class Several:
    """A task done for each of some consecutive numbers, in one go."""

    part_type: ClassVar = SeveralParts
    task: Callable[[Shard, Any], KeptPart]

    def __call__(self, shard: Shard, state: Any, /) -> SeveralParts:
        """Do it for all of ``[shard.start, shard.stop)``."""
        numbers = range(shard.start, shard.stop)
        return SeveralParts([list(self.task(Shard(i, 0, i, i + 1), state)) for i in numbers])


def _file_name(stage: str, index: int) -> str:
    """Return a name that is one file's whatever characters a stage has."""
    return f"{hashlib.sha256(stage.encode()).hexdigest()[:12]}-{index}"


def kept_part(folder: PieceFolder, stage: str, number: int, told: Any, pieces: Sequence[Any]) -> KeptPart:
    """Write a task's pieces; return its part: what the driver is told, and where they are."""
    index, data = folder.write(_file_name(stage, number), pieces)
    return KeptPart(told, index.plain(), data)
