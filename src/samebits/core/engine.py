"""The engine: submits shards in order, takes results in any order, hands them on in shard order.

Policy
    * With nothing to hand on, this thread computes a shard itself where the executor lets it (threads).
    * At most ``window`` shards are ahead of the next one to hand on, so memory is bounded when shard 0 is slow.
    * A lost worker puts its shard back, ``retries`` times; then the number of workers is halved once; then the run
      fails and names the shard.
    * An exception in a task is not retried: it would repeat. Shards after it are not started, those before it are
      finished, so the failing shard reported is the lowest by index, not the first to arrive.
    * Two runs of one shard with different digests stop the job.

State of one ``map_ordered`` call (class ``_Stage``)
    ``submitted``  position of the next shard to submit (positions count shards of this call from 0)
    ``handed_on``  position of the next shard to hand on
    ``shard_at``   position -> shard, from submitting to handing on (looking one up in a table costs 3 µs)
    ``flying``     positions submitted and not yet back
    ``ready``      position -> outcome waiting for its turn (never more than ``window``)
    ``losses``     position -> workers lost with it in hand
    ``first_run``  position -> outcome of the first of two runs of a rechecked shard
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from samebits.core.codec import decode, named
from samebits.core.observing import clock
from samebits.core.observing.events import Observer, ShardDone, StageDone, StageStarted, Warned, ignore
from samebits.core.plan import Plan, Shard, ShardTable
from samebits.core.ports.executor import Done, Executor, Failed, Handle, Outcome, Promise, Task
from samebits.core.ports.place import Place
from samebits.core.ports.store import NoStore, PartStore
from samebits.errors import NotDeterministic, PlanMismatch, SamebitsError, ShardFailed, WorkerLost

if TYPE_CHECKING:
    from samebits.core.fold import Reducer

__all__ = ["Engine"]

Acc = TypeVar("Acc")
Part = TypeVar("Part")
WINDOW_PER_WORKER = 4  # enough to keep workers busy while one shard is 4x slower than the others
QUIET_SECONDS = 60.0  # no shard finished for this long: say so, once


@dataclass
class Engine:
    """Runs tasks over shards by way of an executor.

    Attributes:
        executor: Where tasks run.
        observer: Told of every event.
        store: Where finished parts are kept for a resume.
        plan: For messages that name file and range; may be absent in small uses.
        window: Largest number of shards ahead of the fold; 0 takes four for each worker.
        retries: How often a shard is tried again after its worker was lost.
        recheck: Run every Nth shard twice and compare; 0 is off.
        stage_caps: Fewer workers for some stages.
        place: For jobs that train: handed on to ``lockstep``, which alone reads it.
        parts: Folder for what workers keep for one another (``data.folding``); None where nothing outlives the run.
    """

    executor: Executor
    observer: Observer = ignore
    store: PartStore = field(default_factory=NoStore)
    plan: Plan | None = None
    window: int = 0
    retries: int = 3
    recheck: int = 0
    stage_caps: Mapping[str, int] = field(default_factory=dict)
    place: Place = field(default_factory=Place)
    parts: Path | None = None

    def map_ordered(
        self,
        stage: str,
        task: Callable[[Shard, Any], Part],
        shards: Sequence[Shard],
        *,
        state: Any = None,
        unit: str,
        usable: Callable[[Any], bool] = lambda part: True,
        kept: bool = False,
    ) -> Iterator[tuple[Shard, Part]]:
        """Yield (shard, part) in shard order, whatever the order of arrival.

        Args:
            stage: Name of the stage.
            task: What to do.
            shards: With what.
            state: Published to all workers.
            unit: What shards count, for people.
            usable: Whether a part from the store is still good; if not, its shard is computed again.
            kept: Parts are small, because workers keep what they make: more of them may wait, if the executor likes that.

        Raises:
            ShardFailed: if a task raised.
            WorkerLost: if a shard lost its worker too often.
            NotDeterministic: if two runs of a shard differ.
        """
        started = clock.seconds()
        self.observer(StageStarted(stage, len(shards), _num_units(shards), unit))
        handle = self.executor.publish(state)
        if kept:
            handle = replace(handle, kept=True)
        yield from _Stage(self, stage, task, shards, handle, usable, kept).run()
        self.observer(StageDone(stage, clock.seconds() - started))

    def map_reduce(
        self,
        stage: str,
        task: Task,
        shards: Sequence[Shard],
        reducer: Reducer[Acc],
        *,
        state: Any = None,
        unit: str,
        fan_in: int = 1,
    ) -> Acc:
        """Fold all parts in shard order.

        With ``fan_in`` above 1, each run of that many shards is folded on its own and the results are folded in order;
        the bracketing is given by ``fan_in`` alone, so it belongs in Config. It needs a reducer whose accumulator
        is also a valid part.
        """
        parts = (part for _, part in self.map_ordered(stage, task, shards, state=state, unit=unit))
        acc = reducer.zero()
        for part in parts if fan_in == 1 else _fold_groups(parts, reducer, fan_in):
            acc = reducer.fold(acc, part)
        return acc

    @property
    def tasks_in_memory(self) -> int:
        """How many tasks run at once in the memory of this process; 1 where they run elsewhere."""
        return self.executor.workers if self.executor.name == "threads" else 1

    @property
    def tasks_here(self) -> int:
        """How many tasks run at once in this process; 0 where they run elsewhere."""
        return self.executor.workers if getattr(self.executor, "runs_here", False) else 0

    def scratch(self, output: Path) -> Path:
        """Return a folder for what a training run keeps beside its checkpoints and as long as they."""
        if self.place.folder is not None:
            return self.place.folder / "scratch"
        return output.with_name(output.name + ".scratch")

    def describe(self, shard: Shard) -> str:
        """Name a shard, with file and range when a plan is known."""
        return self.plan.describe(shard) if self.plan else f"shard {shard.index}"


def _num_units(shards: Sequence[Shard]) -> int:
    if isinstance(shards, ShardTable):
        return shards.num_units
    return sum(shard.stop - shard.start for shard in shards)


def _fold_groups(parts: Iterator[Any], reducer: Reducer[Acc], fan_in: int) -> Iterator[Acc]:
    acc, size = reducer.zero(), 0
    for part in parts:
        acc, size = reducer.fold(acc, part), size + 1
        if size == fan_in:
            yield acc
            acc, size = reducer.zero(), 0
    if size:
        yield acc


class _Stage:
    """One pass of the engine over its shards; the module docstring names its state."""

    def __init__(
        self,
        engine: Engine,
        stage: str,
        task: Task,
        shards: Sequence[Shard],
        handle: Handle,
        usable: Callable[[Any], bool],
        kept: bool,
    ) -> None:
        self.engine = engine
        self.stage = stage
        self.task = task
        self.shards = shards
        self.handle = handle
        self.usable = usable
        self.workers = engine.executor.workers
        cap = engine.stage_caps.get(stage.rstrip(" 0123456789"), self.workers)  # levels of a fold share one
        per_worker: int = getattr(engine.executor, "kept_per_worker", 0) if kept else 0
        self.window = engine.window or (per_worker or WINDOW_PER_WORKER) * self.workers
        self.most_flying = cap if cap < self.workers else self.window
        self.submitted = 0
        self.handed_on = 0
        self.shard_at: dict[int, Shard] = {}
        self.flying: set[int] = set()
        self.ready: dict[int, Outcome] = {}
        self.losses: dict[int, int] = {}
        self.first_run: dict[int, Done] = {}
        self.halved = False
        self.failing = False
        self.arrivals: queue.SimpleQueue[tuple[int, Promise]] = queue.SimpleQueue()
        self.part_type: type[Any] | None = getattr(task, "part_type", None)
        self.compute_one: Callable[[], bool] = getattr(engine.executor, "compute_one", _nothing_to_compute)

    def run(self) -> Iterator[tuple[Shard, Any]]:
        """Hand parts on in order until all are done."""
        while self.handed_on < len(self.shards):
            self.fill()
            if self.handed_on in self.ready:
                yield self.hand_on()
            else:
                self.take_arrival()

    def fill(self) -> None:
        """Submit while there is room; parts found in the store are ready at once."""
        while (
            self.submitted < len(self.shards)
            and self.submitted - self.handed_on < self.window
            and len(self.flying) < self.most_flying
            and not self.failing
        ):
            position = self.submitted
            self.shard_at[position] = self.shards[position]
            self.submitted += 1
            if not self.load(position):
                self.submit(position)

    def load(self, position: int) -> bool:
        """Take a part from the store if a run before this one finished it."""
        shard = self.shard_at[position]
        found, part = self.engine.store.load(self.stage, shard.index)
        part = self.kept(shard, part) if found else None
        if found := found and self.usable(part):
            digest = self.engine.store.known_digest(self.stage, shard.index) or ""
            done = Done(shard.index, part, False, digest, clock.seconds(), 0.0, "journal")
            self.ready[position] = done
            self.tell(shard, done, resumed=True)
        return found

    def kept(self, shard: Shard, part: Any) -> Any:
        """Return a part of a run before this one, under the names it has today."""
        try:
            return named(part, self.part_type)
        except ValueError as error:
            raise PlanMismatch(
                f"{self.engine.describe(shard)} of stage {self.stage!r} was kept by a different version: {error}",
                hint="--no-resume computes it again",
            ) from None

    def submit(self, position: int) -> None:
        """Give one shard to the executor."""
        self.flying.add(position)
        future = self.engine.executor.submit(self.task, self.shard_at[position], self.handle)
        future.add_done_callback(lambda done: self.arrivals.put((position, done)))

    def take_arrival(self) -> None:
        """Wait for one future, computing a shard meanwhile if the executor allows; say so if nothing happens for long."""
        if self.arrivals.empty():
            self.compute_one()
        try:
            position, future = self.arrivals.get(timeout=QUIET_SECONDS)
        except queue.Empty:
            self.say_quiet()
            position, future = self.arrivals.get()
        self.flying.discard(position)
        error = future.exception()
        if isinstance(error, WorkerLost):
            self.after_loss(position, error)
        elif error is not None:
            self.accept(position, _failed_outside_task(self.shard_at[position].index, error))
        else:
            self.accept(position, future.result())

    def say_quiet(self) -> None:
        oldest = self.engine.describe(self.shards[min(self.flying)])
        self.engine.observer(
            Warned(f"{self.stage}: no shard finished for {QUIET_SECONDS:.0f} s; oldest is {oldest}")
        )

    def accept(self, position: int, outcome: Outcome) -> None:
        """Check a fresh outcome, keep it in the store, and put it where its turn finds it."""
        if isinstance(outcome, Failed) and isinstance(outcome.error, WorkerLost):
            self.after_loss(position, outcome.error)  # memory ran out: the worker lives, the attempt is lost
            return
        if isinstance(outcome, Failed):
            self.failing = True
            self.ready[position] = outcome
            return
        if self.recheck_pending(position, outcome):
            return
        shard = self.shard_at[position]
        before = self.engine.store.known_digest(self.stage, shard.index)
        self.compare(shard, before or outcome.digest, outcome.digest)
        encoded: bytes | None = outcome.part if outcome.encoded else None
        if encoded is not None:
            outcome = replace(outcome, part=named(decode(encoded), self.part_type), encoded=False)
        self.engine.store.save(self.stage, shard.index, outcome.part, outcome.digest, encoded)
        self.ready[position] = outcome
        self.tell(shard, outcome, resumed=False)

    def recheck_pending(self, position: int, outcome: Done) -> bool:
        """Send every Nth shard round a second time; return True while the second run is out."""
        every = self.engine.recheck
        if not every or self.shard_at[position].index % every:
            return False
        first = self.first_run.pop(position, None)
        if first is None:
            self.first_run[position] = outcome
            self.submit(position)
            return True
        self.compare(self.shard_at[position], first.digest, outcome.digest)
        return False

    def compare(self, shard: Shard, before: str, now: str) -> None:
        if before != now:
            raise NotDeterministic(
                f"task is not deterministic: {self.engine.describe(shard)} of stage {self.stage!r} gave "
                f"{before[:16]} and then {now[:16]}",
                hint="look for time, random numbers without a seed, sets or threads in the task",
            )

    def tell(self, shard: Shard, done: Done, *, resumed: bool) -> None:
        size = shard.stop - shard.start
        event = ShardDone(
            self.stage, shard.index, size, done.started, done.seconds, done.worker, done.digest, resumed
        )
        self.engine.observer(event)

    def hand_on(self) -> tuple[Shard, Any]:
        """Return the next part, or raise what its task raised."""
        shard = self.shard_at.pop(self.handed_on)
        outcome = self.ready.pop(self.handed_on)
        if isinstance(outcome, Failed):
            raise self.failure(shard, outcome)
        self.handed_on += 1
        return shard, outcome.part

    def failure(self, shard: Shard, failed: Failed) -> Exception:
        if failed.error is not None:
            return failed.error
        return ShardFailed(
            f"{self.engine.describe(shard)} of stage {self.stage!r} failed: {failed.summary}",
            shard=shard.index,
            remote_traceback=failed.remote_traceback,
            hint="the traceback from the worker is shown with -v",
        )

    def after_loss(self, position: int, error: WorkerLost) -> None:
        """Put a shard back after its worker was lost, or give up as the policy says."""
        if error.shard is not None:
            self.losses[position] = self.losses.get(position, 0) + 1
            shard = self.engine.describe(self.shard_at[position])
            self.engine.observer(
                Warned(f"worker lost ({error.reason}) with {shard} in hand; trying it again")
            )
        if self.losses.get(position, 0) > self.engine.retries:
            self.halve_or_give_up(position, error)
        self.engine.executor.recover(self.workers)
        self.submit(position)

    def halve_or_give_up(self, position: int, error: WorkerLost) -> None:
        if self.halved or self.workers == 1:
            shard = self.shard_at[position]
            raise WorkerLost(
                f"{self.engine.describe(shard)} lost its worker {self.losses[position]} times ({error.reason})",
                shard=shard.index,
                reason=error.reason,
                hint="if memory ran out, use fewer workers (-w 1); finished parts are kept, and the same command continues",
            )
        self.halved = True
        self.workers = max(1, self.workers // 2)
        self.most_flying = min(self.most_flying, self.workers)
        self.losses.clear()
        self.engine.observer(Warned(f"workers were lost too often; going on with {self.workers}"))


def _nothing_to_compute() -> bool:
    """Stand in for the ``compute_one`` of an executor whose workers are elsewhere."""
    return False


def _failed_outside_task(index: int, error: BaseException) -> Failed:
    """Describe what went wrong around a task: it could not be sent, or its result could not be brought back."""
    if isinstance(error, SamebitsError):
        return Failed(index, error.message, "", error)
    summary = f"{type(error).__name__}: {error}"
    cause = str(error.__cause__) if error.__cause__ else ""
    return Failed(index, summary, cause, None)
