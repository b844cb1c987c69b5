"""Several parts in one: the files of single ones, wherever they are made and whichever is lost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from tests.executors.elsewhere import workers_elsewhere

from samebits.core.engine import Engine
from samebits.core.observing.events import Event, ShardDone
from samebits.core.plan import Shard
from samebits.data.folding import shape, tree
from samebits.data.folding.kept_parts import KeptPart, kept_part
from samebits.data.folding.piece_files import PieceFolder
from samebits.executors.serial import SerialExecutor

NUMBER = 7


@dataclass(frozen=True)
class Square:
    """Tells a number and keeps its square."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder

    def __call__(self, shard: Shard, state: Any, /) -> KeptPart:
        assert state == "state"
        return kept_part(self.folder, "squares", shard.start, shard.start, [shard.start**2])


@pytest.fixture(autouse=True)
def _few_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shape, "MOST_LIGHT_TASKS", 2)


def squares(workers: tree.Folding) -> list[KeptPart]:
    return workers.map_light("squares", Square(workers.folder), NUMBER, "state", unit="numbers")


def check(workers: tree.Folding, parts: list[KeptPart]) -> None:
    assert [part.told for part in parts] == list(range(NUMBER))
    assert [workers.folder.read(part.pieces, 0) for part in parts] == [n * n for n in range(NUMBER)]


def test_a_lost_file_is_made_again_with_those_of_its_task(tmp_path: Path) -> None:
    events: list[Event] = []
    engine = Engine(SerialExecutor(), parts=tmp_path / "kept", observer=events.append)
    with tree.folding(engine, "token") as workers:
        first = squares(workers)
        Path(workers.folder.path, first[4].pieces.name).unlink()
        assert squares(workers) == first
        check(workers, first)
    assert sum(isinstance(event, ShardDone) for event in events) == 3 + 1


def test_workers_that_do_not_see_the_folder_send_their_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tree.folding(Engine(workers_elsewhere(monkeypatch), parts=tmp_path / "kept"), "token") as workers:
        check(workers, squares(workers))
