"""Folds on workers: the driver is told digests and sizes, and no part passes through it.

A job says once how it folds (``Fold``): what a run of consecutive shards gives, cut into disjoint *partitions* by key, and how pieces of
one partition become one. Then
    stage                 ``fan_in`` consecutive shards are a *node*: one task counts them and writes a file of pieces
    stage + " merge N"    while there are more than ``most_files``, some consecutive ones become one, at most ``MERGED_NODES``
    stage + " reduce"     one task for each partition folds its pieces in shard order
The shape of the tree comes from the number of shards alone. All of it are tasks of the engine: order, retries, the check of two
runs, journal and resume are those of every stage, so a lost worker costs the tasks it had in hand, and its files stay.

A file that is lost or damaged afterwards (``PieceLost``) is made again: the stages are run once more, and all that is whole comes out of
the journal. Where workers do not see the folder, the driver folds: docs/decisions/folds-on-workers.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from samebits.core.engine import Engine
from samebits.core.light_dataclass import dataclass
from samebits.core.observing.events import Warned
from samebits.core.plan import Shard, ShardTable
from samebits.data.folding.kept_parts import KeptPart, Several, SeveralParts, kept_part
from samebits.data.folding.piece_files import Index, PieceFolder, PieceLost
from samebits.data.folding.runs import in_runs, taking_once
from samebits.data.folding.shape import consecutive, fan_in_of, group_shards, light_nodes, row_starts
from samebits.data.folding.stages import fold_stages

__all__ = [
    "Fold",
    "Folding",
    "KeptPart",
    "Node",
    "Several",
    "SeveralParts",
    "folding",
    "kept_part",
    "merged_nodes",
    "most_files",
]

Result = TypeVar("Result")

MOST_NODES = 512  # files that one task reads at the end where partitions are few, so that many workers have merged them
FILES_PER_PARTITION = 16  # where partitions are many, reducers are: what is merged first is read twice
MERGED_NODES = 32


class Node(Protocol):
    """What a job does with a run of consecutive shards: a module-level frozen dataclass, so that plain pickle carries it."""

    def count(self, shards: Sequence[Shard], state: Any, /) -> tuple[list[Any], list[Any]]:
        """Return what the driver is told of each shard, and pieces."""
        ...


class Fold(Node, Protocol):
    """How a job folds on workers; ``count`` gives one piece for each partition, None where there is none."""

    def merge(self, pieces: Iterable[Any], /) -> Any:
        """Return one piece for pieces of one partition, in shard order."""
        ...

    def reduce(self, pieces: Iterable[Any], partition: int, /) -> tuple[Any, list[Any]]:
        """Merge for the last time: return what the driver is told of a partition, and pieces for a later stage."""
        ...


@contextmanager
def folding(engine: Engine, token: str) -> Iterator[Folding]:
    """Open the folder for pieces: in the journal, or a temporary one where nothing is kept for a resume.

    Args:
        engine: Where tasks run.
        token: Digest of the plan.
    """
    if engine.parts is not None:
        yield Folding(engine, PieceFolder.make(engine.parts, token))
        return
    from tempfile import (
        TemporaryDirectory,
    )  # brings shutil and random: 3 ms that runs with a journal do without

    with TemporaryDirectory(prefix="samebits-parts-") as folder:
        yield Folding(engine, PieceFolder.make(Path(folder), token))


class Folding:
    """The folds of one run.

    Attributes:
        folder: Where pieces are.
    """

    def __init__(self, engine: Engine, folder: PieceFolder) -> None:
        self.folder = folder
        self._engine = engine
        self._here = False  # workers do not see the folder: this process goes on alone
        self._parts: dict[str, dict[int, Any]] = {}  # stage -> shard index -> part

    @property
    def num_here(self) -> int:
        """How many tasks run at once in this process; 0 where they run elsewhere."""
        return self._engine.tasks_here

    def run(
        self,
        stage: str,
        fold: Fold,
        shards: ShardTable,
        take: Callable[[Shard, Any], None],
        *,
        partitions: int,
        state: Any = None,
        unit: str,
        then: Callable[[list[tuple[Any, Index]]], Result],
    ) -> Result:
        """Fold all shards; return what ``then`` makes of the partitions.

        Args:
            stage: Name of the first stage.
            fold: How.
            shards: What.
            take: Is given what the first stage tells of each shard, or run of shards (``runs``), once, in shard order.
            partitions: How many pieces ``fold.count`` gives.
            state: For ``fold.count``.
            unit: What shards count.
            then: Is given what was told of each partition, with the index of the pieces it keeps; it may read them, on the
                workers by ``map``, and is called again if one was lost.
        """
        once = taking_once(shards, take)
        return self._until_whole(lambda: then(self._fold(stage, fold, shards, once, partitions, state, unit)))

    def run_rows(
        self,
        stage: str,
        node: Node,
        shards: ShardTable,
        take: Callable[[Shard, Any], None],
        *,
        state: Any = None,
        unit: str,
        then: Callable[[list[Index]], Result],
        starts: NDArray[np.int64] | None = None,
        full: Callable[[], bool] = lambda: False,
        kept: Callable[[int, Index], None] = lambda number, file: None,
    ) -> Result:
        """Keep what nodes of shards give, in shard order, without folding it; as ``run`` else.

        Args:
            stage: Name of the stage.
            node: What a node gives.
            shards: What.
            take: As for ``run``.
            state: For ``node.count``.
            unit: What shards count.
            then: Is given the files of the nodes; else as for ``run``.
            starts: First shard of each node; None takes as many shards as one worker can well hold.
            full: Asked after each node; once it is true, shards after that node are left out.
            kept: Is given number and file of each node as it comes, in order, and from the first one again if a piece was lost.
        """
        once = taking_once(shards, take)
        starts = row_starts(shards) if starts is None else starts
        return self._until_whole(
            lambda: then(self._keep(stage, node, shards, once, starts, state, unit, full, kept))
        )

    def _until_whole(self, act: Callable[[], Result]) -> Result:
        """Do something that reads pieces, again after one was lost: what is missing is made again on the way."""
        for tries_left in range(self._engine.retries, -1, -1):
            try:
                return act()
            except PieceLost as lost:
                self._here = self._here or lost.unseen
                if not tries_left:
                    raise
                self._engine.observer(Warned(f"a part was lost ({lost.message}); making it again"))
        raise AssertionError("the last try returns or raises")

    def _fold(
        self,
        stage: str,
        fold: Fold,
        shards: ShardTable,
        take: Callable[[int, Sequence[Any]], bool],
        partitions: int,
        state: Any,
        unit: str,
    ) -> list[tuple[Any, Index]]:
        starts = np.arange(0, len(shards), fan_in_of(len(shards)))
        indexes = self._keep(stage, fold, shards, take, starts, state, unit)
        _, merging, reducing = fold_stages(stage)
        level = 1
        while len(indexes) > most_files(partitions):
            name = f"{merging} {level}"
            groups = consecutive(len(indexes), merged_nodes(len(indexes), partitions))
            merge = MergeFiles(self.folder, fold, name, partitions)
            parts = self.map(name, merge, groups, indexes, unit="parts")
            indexes = [part.pieces for _, part in parts]
            level += 1
        reduce = ReducePartition(self.folder, fold, reducing)
        filled = [p for p in range(partitions) if any(index.sizes[p] for index in indexes)]
        each = ShardTable.from_ranges(source=[0] * len(filled), start=filled, stop=[p + 1 for p in filled])
        parts = self.map(reduce.stage, reduce, each, indexes, unit="partitions")
        found = {shard.start: part for shard, part in parts}
        for p in set(range(partitions)) - set(filled):  # nothing to fold: not worth sending
            found[p] = reduce(Shard(p, 0, p, p + 1), indexes)
        return [(found[p].told, found[p].pieces) for p in range(partitions)]

    def _keep(
        self,
        stage: str,
        node: Node,
        shards: ShardTable,
        take: Callable[[int, Sequence[Any]], bool],
        starts: NDArray[np.int64],
        state: Any,
        unit: str,
        full: Callable[[], bool] = lambda: False,
        kept: Callable[[int, Index], None] = lambda number, file: None,
    ) -> list[Index]:
        count = CountNode(self.folder, node, stage)
        nodes, indexes = group_shards(shards, starts), []
        for shard, part in self.map(stage, count, nodes, (shards, starts, state), unit=unit):
            is_last = take(int(starts[shard.index]), part.told)
            self._parts[stage][shard.index] = part._replace(told=())  # bad rows may be many
            indexes.append(part.pieces)
            kept(shard.index, indexes[-1])
            if is_last and full():
                break
        return indexes

    def map(
        self,
        stage: str,
        task: Callable[[Shard, Any], KeptPart],
        shards: Sequence[Shard],
        state: Any,
        *,
        unit: str,
    ) -> Iterator[tuple[Shard, KeptPart]]:
        """Run a stage whose parts are files of pieces; what this run has made already, and is whole, is not made again."""
        return self._map(stage, task, shards, state, unit)

    def _map(
        self, stage: str, task: Callable[[Shard, Any], Any], shards: Sequence[Shard], state: Any, unit: str
    ) -> Iterator[tuple[Shard, Any]]:
        known = self._parts.setdefault(stage, {})
        missing = [shard for shard in shards if not self.usable(known.get(shard.index))] if known else shards
        wanted = {shard.index for shard in missing} if known else None
        if self._here:
            fresh: Iterator[tuple[Shard, Any]] = ((shard, task(shard, state)) for shard in missing)
        else:
            fresh = self._engine.map_ordered(
                stage, task, missing, state=state, unit=unit, usable=self.usable, kept=True
            )
        for shard in shards:
            if wanted is None or shard.index in wanted:
                _, part = next(fresh)
                known[shard.index] = self._arrived(part)
            yield shard, known[shard.index]
        deque(fresh, maxlen=0)  # the engine tells of the end of its stage

    def map_light(
        self, stage: str, task: Callable[[Shard, Any], KeptPart], number: int, state: Any, *, unit: str
    ) -> list[KeptPart]:
        """Return the parts of a task that is done in no time, for all of ``range(number)``: several at once where there are many."""
        size = light_nodes(number)
        if size == 1:
            return [part for _, part in self.map(stage, task, consecutive(number, 1), state, unit=unit)]
        groups = self._map(stage, Several(task), consecutive(number, size), state, unit)
        return [part for _, several in groups for part in several.each]

    def usable(self, part: KeptPart | SeveralParts | None) -> bool:
        """Whether a part from before can be used: its file is there, or it came with its bytes."""
        if isinstance(part, SeveralParts):
            return all(map(self.usable, part.each))
        return part is not None and (bool(part.data) or self.folder.holds(part.pieces))

    def _arrived(self, part: KeptPart | SeveralParts) -> KeptPart | SeveralParts:
        """Put the file of a worker that does not see the folder into it; from then on this process goes on alone."""
        if isinstance(part, SeveralParts):
            return SeveralParts([list(self._arrived(one)) for one in part.each])
        if part.data:
            self._here = True
            self.folder.put(part.pieces.name, [part.data])
        return part._replace(data=b"")


def most_files(partitions: int) -> int:
    """Return how many files the reducers of so many partitions read.

    >>> [most_files(number) for number in (1, 64, 512)]
    [512, 1024, 8192]
    """
    return max(MOST_NODES, FILES_PER_PARTITION * partitions)


def merged_nodes(number: int, partitions: int) -> int:
    """Return how many files become one: as few as do, because every worker is to have some.

    >>> [merged_nodes(number, 4) for number in (600, 5000, 1_000_000)]
    [2, 10, 32]
    """
    return min(-(-number // most_files(partitions)), MERGED_NODES)


@dataclass(frozen=True, slots=True)
class CountNode:
    """The first stage: a node's shards become a file of pieces."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    fold: Node
    stage: str

    def __call__(self, shard: Shard, state: tuple[ShardTable, NDArray[np.int64], Any], /) -> KeptPart:
        """Count the shards of a node."""
        shards, starts, inner = state
        first, last = [*starts[shard.index : shard.index + 2].tolist(), len(shards)][:2]
        own = shards[first:last]
        told, pieces = self.fold.count(own, inner)
        return kept_part(self.folder, self.stage, shard.index, in_runs(self.fold, own, told), pieces)


@dataclass(frozen=True, slots=True)
class MergeFiles:
    """A stage between: consecutive files become one."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    fold: Fold
    stage: str
    partitions: int

    def __call__(self, shard: Shard, state: Sequence[Index], /) -> KeptPart:
        """Merge each partition of some files."""
        files = state[shard.start : shard.stop]
        pieces = [
            self.fold.merge(self.folder.read_all(files, partition))
            if any(index.sizes[partition] for index in files)
            else None
            for partition in range(self.partitions)
        ]
        return kept_part(self.folder, self.stage, shard.index, None, pieces)


@dataclass(frozen=True, slots=True)
class ReducePartition:
    """The last stage: one partition of all files."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    fold: Fold
    stage: str

    def __call__(self, shard: Shard, state: Sequence[Index], /) -> KeptPart:
        """Fold one partition."""
        told, pieces = self.fold.reduce(self.folder.read_all(state, shard.start), shard.start)
        return kept_part(self.folder, self.stage, shard.start, told, pieces)
