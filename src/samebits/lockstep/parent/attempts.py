"""One attempt: workers from a known state to the end, or to the first one that is lost.

The parent follows what worker 0 says. Checkpoints are written from the shared memory while workers compute the next gradients:
parameters change only in that step's update, which waits until the gate is opened.
"""

from __future__ import annotations

import hashlib
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.observing import clock
from samebits.core.observing.events import Warned
from samebits.core.ports.place import Place
from samebits.errors import Interrupted, NotFinite, SamebitsError, ShardFailed, WorkerLost
from samebits.lockstep.exchange.memory import Sizes
from samebits.lockstep.parent.checkpoints import Checkpoint, save
from samebits.lockstep.parent.events import CheckpointSaved, FitObserver, FitStarted, StepDone, ValidationDone
from samebits.lockstep.parent.history import History
from samebits.lockstep.parent.processes import Crew
from samebits.lockstep.parent.resume import Identity, check_environment
from samebits.lockstep.problem.config import Every, FitConfig
from samebits.lockstep.problem.objective import Objective
from samebits.lockstep.problem.optional_methods import units_of
from samebits.lockstep.problem.schedule import ScheduleState
from samebits.lockstep.worker.assignment import GO_ON, SAVE, STOP, Order
from samebits.lockstep.worker.messages import (
    Began,
    Finished,
    Holding,
    Message,
    NonFinite,
    Ready,
    Stepped,
    ValidatedAt,
    WorkerFailed,
)

__all__ = ["Attempt", "Run", "digest_of_state"]

FLAT = ("params", "first", "second", "average")
LEAVE_SECONDS = 5.0  # for the other ranks to say why torchrun ends this one, before the first step


@dataclass(frozen=True, slots=True)
class Run:
    """What all attempts of a run have in common."""

    objective: Objective
    config: FitConfig
    identity: Identity
    sizes: Sizes
    place: Place
    every: Every
    observer: FitObserver
    allow_environment_change: bool
    stop: Callable[[], bool] | None

    @property
    def flat(self) -> tuple[str, ...]:
        """The arrays of the state that a checkpoint holds."""
        return FLAT if self.config.average else FLAT[:-1]


def digest_of_state(tensors: Mapping[str, NDArray[Any]]) -> str:
    """Return the sha256 over parameters, first and second moments, and the average if there is one."""
    hasher = hashlib.sha256()
    for name in FLAT:
        if name in tensors:
            hasher.update(np.ascontiguousarray(tensors[name]).data)
    return hasher.hexdigest()


class Attempt:
    """Follows one crew.

    Attributes:
        history: Of all steps, also those before this attempt.
        progress: What validations decided so far.
        steps_done: Steps of the state that ``tensors`` holds at the end.
        stopped: The run ended because ``stop`` or Ctrl-C asked for it.
        saved: Number of checkpoints this attempt saved.
        exact: False once an environment change was allowed.
        compute, fingerprint, peak_bytes: As workers said.
        tensors: The final state.
    """

    def __init__(self, run: Run, found: Checkpoint | None) -> None:
        self.run = run
        self._go_on_from(found)
        self.stopped = False
        self.saved = 0
        self.peak_bytes = 0
        self.tensors: dict[str, NDArray[np.float32]] = {}
        self._interrupts = 0
        self._began = False
        self._leave_at = math.inf
        self._failures: list[WorkerFailed] = []
        self._ended = False
        self._heard_at = self._saved_at = clock.seconds()

    def _go_on_from(self, found: Checkpoint | None) -> None:
        self.found = found
        self.history = History.from_tensors(found.tensors) if found else History()
        self.progress = ScheduleState.from_fields(found.head["progress"]) if found else ScheduleState()
        self.steps_done = found.step if found else 0
        self.exact = bool(found.head["exact"]) if found else True
        self.compute: str = found.head["compute"] if found else ""
        self.fingerprint: dict[str, str] = dict(found.head["fingerprint"]) if found else {}

    def go(self) -> None:
        """Run to the end.

        Raises:
            WorkerLost: start another attempt from the last checkpoint.
            SamebitsError: anything else; another attempt would end alike.
        """
        alone = (
            self.run.place.rank is None
        )  # other ranks wait to be told, also that there is nothing left to do
        if alone and (self.steps_done >= self.run.config.steps or self.progress.stopped):
            assert self.found is not None or self.run.config.steps == 0
            self._keep(self.found.tensors if self.found else _empty(self.run))
            return
        crew = Crew(self._order(), self.run.place)
        try:
            if self.found:
                for name in self.run.flat:
                    getattr(crew.state, name)[:] = self.found.tensors[name]
            crew.start()
            with self._ctrl_c(crew):
                self._follow(crew)
            self._keep(self._view(crew))
            self._save(self._view(crew), self.steps_done)
        finally:
            crew.close()
        if self._interrupts:
            raise self._interrupted()

    def _order(self) -> Order:
        run = self.run
        return Order(
            objective=run.objective,
            config=run.config,
            layout=run.identity.layout,
            sizes=run.sizes,
            start=self.steps_done,
            fresh=self.found is None,
            progress=self.progress,
            last=min(run.config.steps, run.place.replay.stop) if run.place.replay else run.config.steps,
            save_every=run.every.reasons if run.place.folder else (),
            found=self._found_by_rank_0(),
        )

    def _found_by_rank_0(self) -> Checkpoint | None:
        if self.found is None or self.run.place.rank is None:
            return None
        return replace(self.found, tensors=self.history.tensors())

    def _keep(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        self.tensors = {name: np.array(tensors[name]) for name in self.run.flat}

    @contextmanager
    def _ctrl_c(self, crew: Crew) -> Iterator[None]:
        """Let the first Ctrl-C end the run after its step, with a checkpoint; the second ends it at once.

        That holds under any handler that would raise, the command line's own too; a program that ignores Ctrl-C keeps
        ignoring it. torchrun sends SIGTERM to all ranks when one of them has failed, or when it is told to end itself: for
        a rank that is the same wish, and its worker is about to say which it is.
        """
        is_rank = self.run.place.rank is not None
        numbers = list[signal.Signals]()
        if threading.current_thread() is threading.main_thread():
            numbers += [signal.SIGINT] if callable(signal.getsignal(signal.SIGINT)) else []
            numbers += [signal.SIGTERM] if is_rank else []

        def note(number: int, frame: Any) -> None:
            self._interrupts += 1
            if self._interrupts > 1 + is_rank or (self.run.place.folder is None and not is_rank):
                raise self._interrupted()
            crew.state.control[0] = STOP
            if is_rank and not self._began:
                self._leave_at = clock.seconds() + LEAVE_SECONDS

        before = {number: signal.signal(number, note) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _interrupted(self) -> Interrupted:
        if self.run.place.folder is None and not self.run.place.rank:
            return Interrupted(
                "interrupted; nothing is kept", hint="give a checkpoint folder to be able to continue"
            )
        return Interrupted(
            f"interrupted after {self.steps_done} steps; checkpoints are kept{' by rank 0' if self.run.place.rank else ''}",
            hint="the same call continues",
        )

    def _follow(self, crew: Crew) -> None:
        told = False
        for message in crew.messages():
            if message is not None:
                self._take(crew, message)
            elif self._due() and crew.state.control[0] == GO_ON:
                crew.state.control[0] = SAVE
            if clock.seconds() > self._leave_at:
                raise self._interrupted()
            if self._interrupts and not told:
                told = True
                self.run.observer(Warned("stopping after this step; Ctrl-C again stops at once"))
        if self._failures:
            raise _error_of(min(self._failures, key=lambda failed: failed.shard))
        if not self._ended:
            raise WorkerLost(f"all workers ended without a message at step {crew.step}", reason="ended early")

    def _due(self) -> bool:
        every = self.run.every.seconds
        return bool(self.run.place.folder and every and clock.seconds() - self._saved_at > every)

    def _take(self, crew: Crew, message: Message) -> None:
        if isinstance(message, Stepped):
            self._stepped(crew, message)
        elif isinstance(message, ValidatedAt):
            self.history.validations.append((message.step, message.loss))
            self.run.observer(ValidationDone(message.step, message.loss))
        elif isinstance(message, Holding):
            self.progress = message.progress
            self._save(self._view(crew), message.step)
            if crew.state.control[0] == SAVE:
                crew.state.control[0] = GO_ON
            crew.gate.open()
        elif isinstance(message, Began):
            self._go_on_from(message.found)
        elif isinstance(message, Ready):
            self._ready(crew, message)
        elif isinstance(message, NonFinite):
            raise _not_finite(message)
        elif isinstance(message, Finished):
            self.peak_bytes = max(self.peak_bytes, message.peak_bytes)
            if message.worker == (self.run.place.rank or 0):
                self._ended = True
                self.steps_done, self.progress = message.step, message.progress
                self.stopped = message.step < self.run.config.steps and not message.progress.stopped
        elif message.shard < 0:
            raise _error_of(message)
        else:
            self._failures.append(message)

    def _ready(self, crew: Crew, message: Ready) -> None:
        run, start = self.run, self.steps_done
        self._began, self._leave_at = True, math.inf
        if self.found:
            allow = run.allow_environment_change
            differing = check_environment(self.found, message.fingerprint, allow=allow)
            if differing:
                self.exact = False
                run.observer(
                    Warned("continuing in a different environment, not exact: " + "; ".join(differing))
                )
        if message.refused:
            run.observer(
                Warned(f"computing {message.compute}: {', '.join(message.refused)} does not work here")
            )
        self.compute, self.fingerprint = message.compute, message.fingerprint
        run.observer(
            FitStarted(
                start,
                run.config.steps,
                run.identity.layout.num_parameters,
                run.place.workers,
                run.sizes.num_bytes,
            )
        )
        self._heard_at = self._saved_at = clock.seconds()
        crew.gate.open()

    def _stepped(self, crew: Crew, message: Stepped) -> None:
        now = clock.seconds()
        self.history.add(message)
        self.steps_done = crew.step = message.step + 1
        self.run.observer(
            StepDone(
                message.step,
                message.loss,
                message.grad_norm,
                message.lr,
                message.norms_crc,
                now - self._heard_at,
                message.update_seconds,
                units_of(self.run.objective),
            )
        )
        self._heard_at = now
        if self.run.stop and self.run.stop():
            crew.state.control[0] = STOP

    def _view(self, crew: Crew) -> dict[str, NDArray[Any]]:
        return {name: getattr(crew.state, name) for name in self.run.flat}

    def _save(self, tensors: Mapping[str, NDArray[Any]], step: int) -> None:
        """Write a checkpoint of the state as it is."""
        run = self.run
        if run.place.folder is None:
            return
        head = {
            **run.identity.head(run.config),
            "progress": self.progress.fields(),
            "fingerprint": self.fingerprint,
            "compute": self.compute,
            "exact": self.exact,
        }
        found = Checkpoint(step, head, {**tensors, **self.history.tensors()})
        folder = save(run.place.folder, found, every=run.every)
        self.saved += 1
        self._saved_at = clock.seconds()
        run.observer(CheckpointSaved(step, folder))


def _empty(run: Run) -> dict[str, NDArray[np.float32]]:
    """Return what no steps at all give: the first values, computed here because no worker is needed."""
    from samebits.core.seeds import rng_for

    layout = run.identity.layout
    params = np.zeros(layout.size, np.float32)
    values = run.objective.init(rng_for(run.config.seed, "fit", "init"))
    for name, view in layout.views(params).items():
        view[...] = np.asarray(values[name], dtype=np.float32)
    zeros = np.zeros(layout.size, np.float32)
    return {"params": params, "first": zeros, "second": zeros, "average": params}


def _not_finite(message: NonFinite) -> NotFinite:
    where = f"shard {message.shard}" if message.shard >= 0 else "the sum over shards"
    what = "gradient" if math.isfinite(message.loss) else "loss"
    return NotFinite(
        f"the {what} of {where} is not finite at step {message.step} (loss {message.loss})",
        step=message.step,
        shard=message.shard if message.shard >= 0 else None,
        hint="lower the learning rate or add warm-up; the last checkpoint holds good weights",
    )


def _error_of(failed: WorkerFailed) -> SamebitsError:
    if failed.error is not None:
        return failed.error
    where = (
        f"shard {failed.shard} of step {failed.step}"
        if failed.shard >= 0
        else f"worker {failed.worker}, before or between steps (step {failed.step}),"
    )
    return ShardFailed(
        f"{where} failed: {failed.summary}",
        shard=failed.shard,
        remote_traceback=failed.remote_traceback,
        hint="the objective raised it; the traceback from the worker is in remote_traceback",
    )
