"""What workers have kept is removed by workers: freeing the pages of gigabytes takes time, and is theirs to spend.

It happens when the output is in its place, so nothing depends on it: what is left for whatever reason, the driver removes with the
journal.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from samebits.core.engine import Engine
from samebits.core.light_dataclass import dataclass
from samebits.core.plan import Shard
from samebits.core.ports.executor import Executor
from samebits.data.folding.piece_files import TOKEN, PieceFolder
from samebits.data.folding.shape import consecutive
from samebits.errors import SamebitsError

__all__ = ["RemoveKept", "remove_on_workers"]

FEWEST_FILES = 16  # fewer are not worth sending a task for
MOST_TASKS = 64


@dataclass(frozen=True, slots=True)
class RemoveKept:
    """The task: one of ``number`` shares of the files in a folder of pieces, by their names; the token stays."""

    folder: PieceFolder
    number: int

    def __call__(self, shard: Shard, state: Any, /) -> None:
        """Remove what is there, as far as that is possible."""
        if not self.folder.is_seen:
            return
        for path in Path(self.folder.path).iterdir():
            if path.name != TOKEN and zlib.crc32(path.name.encode()) % self.number == shard.index:
                with suppress(OSError):
                    path.unlink()


def remove_on_workers(executor: Executor, path: Path, token: str) -> None:
    """Let workers remove the files of a folder of pieces.

    Args:
        executor: Whose workers have made them.
        path: The folder; it need not exist.
        token: Digest of the plan.
    """
    if not path.is_dir() or sum(1 for _ in path.iterdir()) < FEWEST_FILES:
        return
    number = min(executor.workers, MOST_TASKS)
    task = RemoveKept(PieceFolder(str(path.absolute()), token), number)
    with suppress(SamebitsError):  # workers were lost: the output is whole all the same
        for _ in Engine(executor).map_ordered("remove", task, consecutive(number, 1), unit="folders"):
            pass
