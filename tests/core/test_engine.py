"""The engine: parts in shard order, bounded memory, retries, and self-checks, tried with misbehaving executors."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import pytest

from samebits.core.codec import decode, encode
from samebits.core.engine import Engine
from samebits.core.fold import CanonicalTree, Concat, Counts, OrderedSum
from samebits.core.observing.events import Event, ShardDone, StageDone, StageStarted, Warned
from samebits.core.plan import Plan, Shard, cut
from samebits.core.ports.executor import Executor
from samebits.errors import InputError, NotDeterministic, PlanMismatch, ShardFailed, WorkerLost
from samebits.executors import ExecutorOptions
from samebits.executors.serial import SerialExecutor
from samebits.executors.threads import ThreadsExecutor
from samebits.testing import FailingExecutor, ShuffledExecutor

SHARDS = cut([40], 1)


@dataclass(frozen=True)
class Square:
    """A task whose part tells its shard."""

    def __call__(self, shard: Shard, state: int) -> int:
        return shard.index**2 + state


@dataclass(frozen=True)
class FailsAt:
    indices: tuple[int, ...]

    def __call__(self, shard: Shard, state: Any) -> int:
        if shard.index in self.indices:
            raise ZeroDivisionError(f"shard {shard.index} is bad")
        return shard.index


@dataclass(frozen=True)
class RaisesInputError:
    def __call__(self, shard: Shard, state: Any) -> int:
        raise InputError("cannot be read", path="a.txt", line=3)


class MemoryStore:
    """A store in memory that can pretend its parts are damaged."""

    def __init__(self) -> None:
        self.parts: dict[tuple[str, int], tuple[Any, str]] = {}
        self.damaged: set[int] = set()
        self.saved: list[int] = []

    def known_digest(self, stage: str, index: int) -> str | None:
        found = self.parts.get((stage, index))
        return found[1] if found else None

    def load(self, stage: str, index: int) -> tuple[bool, Any]:
        if (stage, index) not in self.parts or index in self.damaged:
            return False, None
        return True, self.parts[stage, index][0]

    def save(self, stage: str, index: int, part: Any, digest: str, encoded: bytes | None = None) -> None:
        self.parts[stage, index] = (part, digest)
        self.saved.append(index)


@pytest.fixture(params=["serial", "threads1", "threads3", "shuffled0", "shuffled1", "reversed"])
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    made: Executor
    match request.param:
        case "serial":
            made = SerialExecutor()
        case "threads1":
            made = ThreadsExecutor(ExecutorOptions(workers=1))
        case "threads3":
            made = ThreadsExecutor(ExecutorOptions(workers=3))
        case "shuffled0":
            made = ShuffledExecutor(seed=0)
        case "shuffled1":
            made = ShuffledExecutor(seed=1)
        case _:
            made = ShuffledExecutor(seed=-1)
    yield made
    made.close()


def test_parts_come_in_shard_order(executor: Executor) -> None:
    pairs = list(Engine(executor).map_ordered("s", Square(), SHARDS, state=5, unit="items"))
    assert pairs == [(shard, shard.index**2 + 5) for shard in SHARDS]


def test_folds_are_equal_for_every_executor(executor: Executor) -> None:
    engine = Engine(executor)
    tree = CanonicalTree()
    assert engine.map_reduce("sum", Square(), SHARDS, OrderedSum(), state=0, unit="items") == sum(
        i * i for i in range(40)
    )
    assert tree.result(engine.map_reduce("tree", Square(), SHARDS, tree, state=0, unit="items")) == sum(
        i * i for i in range(40)
    )


@dataclass(frozen=True)
class Tenth:
    def __call__(self, shard: Shard, state: Any) -> float:
        return 0.1 * (shard.index + 1)


def test_floating_sums_have_the_same_bits_for_every_executor(executor: Executor) -> None:
    left = OrderedSum()
    assert Engine(executor).map_reduce("sum", Tenth(), SHARDS, left, unit="items") == sum(
        0.1 * (i + 1) for i in range(40)
    )


def test_fan_in_fixes_the_bracketing(executor: Executor) -> None:
    values = [0.1 * (i + 1) for i in range(40)]
    groups = [sum(values[i : i + 7][1:], values[i]) for i in range(0, 40, 7)]
    expected = sum(groups[1:], groups[0])
    assert (
        Engine(executor).map_reduce("sum", Tenth(), SHARDS, OrderedSum(), fan_in=7, unit="items") == expected
    )


def test_no_shards_give_the_zero_of_the_reducer() -> None:
    engine = Engine(SerialExecutor())
    assert engine.map_reduce("s", Square(), [], Counts(), state=0, unit="items") == {}
    assert Concat().result(engine.map_reduce("s", Square(), [], Concat(), state=0, unit="items")) == []


def test_the_failing_shard_reported_is_the_lowest(executor: Executor) -> None:
    parts = Engine(executor).map_ordered("s", FailsAt((9, 5, 7)), SHARDS, unit="items")
    with pytest.raises(ShardFailed, match=r"shard 5.*ZeroDivisionError: shard 5 is bad") as caught:
        list(parts)
    assert caught.value.shard == 5
    assert "ZeroDivisionError" in caught.value.remote_traceback


def test_parts_before_the_failing_shard_are_handed_on(executor: Executor) -> None:
    parts = Engine(executor).map_ordered("s", FailsAt((6,)), SHARDS, unit="items")
    assert [shard.index for shard, _ in itertools.islice(parts, 6)] == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ShardFailed):
        next(parts)


def test_an_error_of_our_own_comes_through_as_it_is(executor: Executor) -> None:
    with pytest.raises(InputError, match=r"a.txt, line 3: cannot be read"):
        list(Engine(executor).map_ordered("s", RaisesInputError(), SHARDS, unit="items"))


@dataclass(frozen=True)
class NotPlain:
    def __call__(self, shard: Shard, state: Any) -> object:
        return {1, 2}


def test_a_part_that_is_not_plain_data_fails_its_shard(executor: Executor) -> None:
    with pytest.raises(ShardFailed, match=r"part is a builtins.set, but a part must be plain data"):
        list(Engine(executor).map_ordered("s", NotPlain(), SHARDS, unit="items"))


def test_a_slow_first_shard_holds_no_more_than_the_window() -> None:
    gate = threading.Event()
    seen: list[int] = []

    @dataclass(frozen=True)
    class SlowFirst:
        def __call__(self, shard: Shard, state: Any) -> int:
            if shard.index == 0:
                gate.wait(10)
            seen.append(shard.index)
            if len(seen) == 7:
                gate.set()  # window 8: shard 0 and seven more, no other is started
            return shard.index

    executor = ThreadsExecutor(ExecutorOptions(workers=2))
    engine = Engine(executor, window=8)
    parts = engine.map_ordered("s", SlowFirst(), SHARDS, unit="items")
    next(parts)
    assert sorted(seen[:8]) == [0, 1, 2, 3, 4, 5, 6, 7]
    assert [part for _, part in parts] == list(range(1, 40))
    executor.close()


def test_a_stage_cap_keeps_fewer_shards_flying() -> None:
    flying, most, lock = 0, 0, threading.Lock()

    @dataclass(frozen=True)
    class Counted:
        def __call__(self, shard: Shard, state: Any) -> int:
            nonlocal flying, most
            with lock:
                flying += 1
                most = max(most, flying)
            threading.Event().wait(0.002)
            with lock:
                flying -= 1
            return shard.index

    executor = ThreadsExecutor(ExecutorOptions(workers=4))
    list(Engine(executor, stage_caps={"s": 1}).map_ordered("s", Counted(), SHARDS, unit="items"))
    executor.close()
    assert most == 1


def test_a_shard_is_tried_again_after_its_worker_was_lost() -> None:
    executor = FailingExecutor({3: 3, 11: 1})
    assert Engine(executor).map_reduce("s", Square(), SHARDS, OrderedSum(), state=0, unit="items") == sum(
        i * i for i in range(40)
    )
    assert executor.workers == 4


def test_workers_are_halved_once_before_giving_up() -> None:
    executor = FailingExecutor({3: 5})
    warnings: list[Event] = []
    total = Engine(executor, observer=warnings.append).map_reduce(
        "s", Square(), SHARDS, OrderedSum(), state=0, unit="items"
    )
    assert total == sum(i * i for i in range(40))
    assert executor.workers == 2
    assert Warned("workers were lost too often; going on with 2") in warnings


def test_a_shard_that_always_kills_its_worker_is_named() -> None:
    plan = Plan(
        job="j",
        version=1,
        seed=0,
        config_digest="",
        input_digest="",
        source_names=("corpus.txt",),
        shards=SHARDS,
    )
    engine = Engine(FailingExecutor({3: 99}), plan=plan)
    with pytest.raises(WorkerLost, match=r"shard 3 \(corpus.txt, 3..4\) lost its worker 4 times \(SIGKILL"):
        list(engine.map_ordered("s", Square(), SHARDS, state=0, unit="items"))


def test_finished_parts_are_not_computed_again() -> None:
    store = MemoryStore()
    first = list(
        Engine(SerialExecutor(), store=store).map_ordered("s", Square(), SHARDS, state=1, unit="items")
    )
    store.saved.clear()
    again = list(
        Engine(SerialExecutor(), store=store).map_ordered(
            "s", FailsAt(tuple(range(40))), SHARDS, unit="items"
        )
    )
    assert again == first
    assert store.saved == []


class Numbered(NamedTuple):
    number: int


@dataclass(frozen=True)
class Names:
    part_type: ClassVar = Numbered

    def __call__(self, shard: Shard, state: Any) -> Numbered:
        return Numbered(shard.index)


def test_a_named_part_arrives_under_its_names(executor: Executor) -> None:
    store = MemoryStore()
    for _ in range(2):  # computed, then from the store
        found = [
            part for _, part in Engine(executor, store=store).map_ordered("a", Names(), SHARDS, unit="x")
        ]
        assert found == [Numbered(i) for i in range(40)]
        assert all(type(part) is Numbered for part in found)
        store.parts = {key: (decode(encode(part)), digest) for key, (part, digest) in store.parts.items()}


@dataclass(frozen=True)
class ForgetsItsNames:
    inside: bool

    def __call__(self, shard: Shard, state: Any) -> Any:
        return [Numbered(shard.index)] if self.inside else Numbered(shard.index)


@pytest.mark.parametrize("inside", [False, True])
def test_names_that_would_be_lost_on_the_way_are_refused(executor: Executor, inside: bool) -> None:
    with pytest.raises(ShardFailed, match="Numbered"):
        list(Engine(executor).map_ordered("a", ForgetsItsNames(inside), SHARDS, unit="x"))


def test_a_part_kept_under_other_names_is_refused_with_the_way_out() -> None:
    store = MemoryStore()
    list(Engine(SerialExecutor(), store=store).map_ordered("a", Names(), SHARDS, unit="x"))
    store.parts["a", 3] = ({"count": 3}, store.parts["a", 3][1])
    with pytest.raises(PlanMismatch, match="has count, but Numbered has number") as caught:
        list(Engine(SerialExecutor(), store=store).map_ordered("a", Names(), SHARDS, unit="x"))
    assert "--no-resume" in caught.value.hint


def test_only_the_damaged_part_is_computed_again() -> None:
    store = MemoryStore()
    first = list(
        Engine(SerialExecutor(), store=store).map_ordered("s", Square(), SHARDS, state=1, unit="items")
    )
    store.saved.clear()
    store.damaged = {17}
    assert (
        list(Engine(SerialExecutor(), store=store).map_ordered("s", Square(), SHARDS, state=1, unit="items"))
        == first
    )
    assert store.saved == [17]


def test_a_damaged_part_that_comes_out_differently_stops_the_job() -> None:
    store = MemoryStore()
    list(Engine(SerialExecutor(), store=store).map_ordered("s", Square(), SHARDS, state=1, unit="items"))
    store.damaged = {17}
    with pytest.raises(NotDeterministic, match="task is not deterministic: shard 17"):
        list(Engine(SerialExecutor(), store=store).map_ordered("s", Square(), SHARDS, state=2, unit="items"))


def test_recheck_finds_a_task_that_is_not_deterministic(executor: Executor) -> None:
    counter = itertools.count()

    @dataclass(frozen=True)
    class Unsteady:
        def __call__(self, shard: Shard, state: Any) -> int:
            return next(counter)

    with pytest.raises(NotDeterministic, match=r"task is not deterministic: shard (0|10|20|30) "):
        list(Engine(executor, recheck=10).map_ordered("s", Unsteady(), SHARDS, unit="items"))


def test_recheck_lets_a_deterministic_task_through(executor: Executor) -> None:
    assert list(Engine(executor, recheck=3).map_ordered("s", Square(), SHARDS, state=0, unit="items")) == [
        (shard, shard.index**2) for shard in SHARDS
    ]


def test_events_tell_the_whole_story(executor: Executor) -> None:
    events: list[Event] = []
    list(Engine(executor, observer=events.append).map_ordered("s", Square(), SHARDS, state=0, unit="items"))
    assert events[0] == StageStarted("s", 40, 40, "items")
    assert isinstance(events[-1], StageDone)
    done = [event for event in events if isinstance(event, ShardDone)]
    assert sorted(event.index for event in done) == list(range(40))
    assert len({event.digest for event in done}) == 40
