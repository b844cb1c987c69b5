"""A worker process: binds the objective, agrees with the others, and makes steps until it is told to end.

Started as a fresh interpreter with inherited descriptors (``crew``), so the math libraries see their one-thread variables before
they are imported, and a script that trains needs no ``if __name__ == "__main__"``. It ignores Ctrl-C, which is the parent's
business, and ends by itself when the parent is gone.
"""

from __future__ import annotations

import mmap
import os
import resource
import signal
import sys
import threading
import traceback
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from samebits.core.seeds import rng_for
from samebits.errors import SamebitsError
from samebits.lockstep.barrier import Barrier, Gate
from samebits.lockstep.config import FitConfig
from samebits.lockstep.fingerprint import fingerprint
from samebits.lockstep.layout import Layout
from samebits.lockstep.memory import Sizes, State, map_memory
from samebits.lockstep.messages import (
    Failed,
    Finished,
    Holding,
    Message,
    NonFinite,
    Ready,
    Stepped,
    ValidatedAt,
)
from samebits.lockstep.objective import Modal, Objective
from samebits.lockstep.probe import probe
from samebits.lockstep.schedule import Progress, after_validation, rate
from samebits.lockstep.step import Outcome, Stepper

__all__ = ["GO_ON", "SAVE", "STOP", "Order", "Wiring", "main"]

GO_ON, SAVE, STOP = 0, 1, 2  # what the parent wants, in control[0]; worker 0 passes it on in control[1]
PULSE_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be done; the same for all workers.

    Attributes:
        objective: Unbound.
        config: Settings.
        layout: Places of tensors.
        sizes: Of the shared memory.
        start: First step.
        fresh: Parameters have no values yet.
        progress: What validations before ``start`` decided.
        save_every: Steps between checkpoints; 0 when only the parent asks for them.
    """

    objective: Objective
    config: FitConfig
    layout: Layout
    sizes: Sizes
    start: int
    fresh: bool
    progress: Progress
    save_every: int


@dataclass(frozen=True, slots=True)
class Wiring:
    """Descriptors and numbers of one worker; crosses the process border as JSON."""

    worker: int
    workers: int
    parent: int
    memory: int
    order: int
    pipe: int
    gate: int
    slots: list[list[int]]
    cores: list[int]


def main(fields: dict[str, Any]) -> None:
    """Run a worker to its end; called by the one line that ``crew`` starts an interpreter with."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wiring = Wiring(**fields)
    if wiring.cores:
        os.sched_setaffinity(0, {wiring.cores[wiring.worker % len(wiring.cores)]})
    pipe = Connection(wiring.pipe)
    worker: _Worker | None = None
    try:
        order = _read_order(wiring.order)
        worker = _Worker(order, wiring, pipe)
        worker.run()
    except BaseException as error:
        pipe.send(_failure(error, wiring.worker, worker))
    os._exit(0)  # threads of libraries must not keep a finished worker alive


def _read_order(descriptor: int) -> Order:
    import cloudpickle

    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
        order: Order = cloudpickle.loads(data)
    return order


def _failure(error: BaseException, number: int, worker: _Worker | None) -> Failed:
    trace = "".join(traceback.format_exception(error))
    try:
        summary = f"{type(error).__name__}: {error}"
    except Exception:
        summary = f"{type(error).__name__}, which has no text"
    step, shard = (worker.step, worker.stepper.at_shard) if worker else (-1, -1)
    ours = error if isinstance(error, SamebitsError) else None
    return Failed(number, step, shard, summary, trace, ours)


class _Stopped(Exception):
    """Another worker failed in this step."""


class _Worker:
    def __init__(self, order: Order, wiring: Wiring, pipe: Connection) -> None:
        self.order, self.wiring, self.pipe = order, wiring, pipe
        self.config = order.config
        self.state: State = map_memory(wiring.memory, order.sizes)
        self.barrier = Barrier(wiring.slots, wiring.worker, self.end_with_parent)
        self.gate = Gate(wiring.gate, self.end_with_parent)
        self.progress = order.progress
        self.step = order.start
        self.holding = False
        self.first = wiring.worker == 0
        threading.Thread(target=self.pulse, daemon=True).start()
        self.stepper = Stepper(
            order.objective,
            order.config,
            order.layout,
            self.state,
            worker=wiring.worker,
            workers=wiring.workers,
            barrier=self.barrier,
        )

    def pulse(self) -> None:
        """Show a sign of life, also during a long shard; end with the parent, also when nobody waits."""
        wait = threading.Event()
        while not wait.wait(PULSE_SECONDS):
            self.state.pulses[self.wiring.worker] += 1
            self.end_with_parent()

    def end_with_parent(self) -> None:
        if os.getppid() != self.wiring.parent:
            os._exit(1)

    def tell(self, message: Message) -> None:
        if self.first:
            self.pipe.send(message)

    def run(self) -> None:
        self.prepare()
        try:
            while self.step < self.config.steps and not self.progress.stopped:
                if not self.make_step():
                    break
        except _Stopped:
            return
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        self.pipe.send(Finished(self.wiring.worker, self.step, self.progress, peak))

    def prepare(self) -> None:
        """Give parameters their first values, bind, choose a mode, probe; wait until the parent agrees."""
        objective, layout = self.order.objective, self.order.layout
        if self.first and self.order.fresh:
            _fill(layout, self.state, objective, rng_for(self.config.seed, "fit", "init"))
        self.barrier.wait()
        objective.bind(layout.views(self.state.params))
        compute, refused = self.choose_mode()
        if (torch := sys.modules.get("torch")) is not None:
            torch.set_num_threads(1)
        probe(
            objective,
            self.config,
            layout,
            self.state,
            step=self.step,
            row=self.stepper.shards[0],
            worker=self.wiring.worker,
            workers=self.wiring.workers,
            barrier=self.barrier,
        )
        if self.first:
            self.tell(Ready(fingerprint(compute), compute, refused))
            self.gate.wait()
        self.barrier.wait()

    def choose_mode(self) -> tuple[str, tuple[str, ...]]:
        """Return the first mode that works in every worker, and those that did not."""
        objective, refused = self.order.objective, list[str]()
        if not isinstance(objective, Modal):
            return "", ()
        for mode in objective.modes():
            self.state.flags[self.wiring.worker] = bool(objective.enter(mode))
            self.barrier.wait()
            agreed = bool(self.state.flags[: self.wiring.workers].all())
            self.barrier.wait()
            self.state.flags[self.wiring.worker] = 0
            if agreed:
                return mode, tuple(refused)
            refused.append(mode)
        raise SamebitsError(f"no way of computing works in every worker; tried {', '.join(refused)}")

    def make_step(self) -> bool:
        """Make one step; return False when the parent wants no more."""
        step, stepper, control = self.step, self.stepper, self.state.control
        failure = self.try_compute(step)
        if self.first:
            control[1] = GO_ON if self.holding else control[0]
        self.barrier.wait()
        wanted = int(control[1])
        self.stop_after_failure(failure)
        stepper.reduce()
        if self.holding:
            self.gate.wait()
            self.holding = False
        self.barrier.wait()
        outcome = stepper.outcome()
        if not outcome.finite:
            self.refuse(step, outcome)
        share = rate(self.config, step) * self.progress.factor
        stepper.update(step, outcome.grad_norm, share)
        self.barrier.wait()
        self.step = step + 1
        self.tell(
            Stepped(
                step,
                outcome.loss,
                outcome.grad_norm,
                self.config.lr * share,
                outcome.norms_crc,
                stepper.update_seconds,
            )
        )
        self.validate_if_due()
        self.hold_if_due(wanted)
        return wanted != STOP

    def try_compute(self, step: int) -> Failed | None:
        """Compute own shards; a shard that raises is flagged, so that all workers stop at the same barrier."""
        try:
            self.stepper.compute(step)
        except Exception as error:
            failure = _failure(error, self.wiring.worker, self)
            self.state.flags[self.stepper.at_shard] = 1
            return failure
        return None

    def stop_after_failure(self, failure: Failed | None) -> None:
        """End together: each worker that failed says so, and the parent reports the lowest shard."""
        if failure is not None:
            self.pipe.send(failure)
            raise _Stopped
        if self.state.flags[: self.config.shards].any():
            raise _Stopped

    def refuse(self, step: int, outcome: Outcome) -> None:
        shard, loss = self.stepper.find_bad(step)
        self.tell(NonFinite(step, shard, loss if shard >= 0 else outcome.loss))
        raise _Stopped

    def validate_if_due(self) -> None:
        every = self.config.validate_every
        due = self.step == self.config.steps or (every and self.step % every == 0)
        if self.order.sizes.validation_shards and due:
            loss = self.stepper.validate()
            self.progress = after_validation(self.config, self.progress, loss)
            self.tell(ValidatedAt(self.step, loss))

    def hold_if_due(self, wanted: int) -> None:
        """Ask for a checkpoint; parameters change again only in the next step's update, until then the parent saves."""
        every = self.order.save_every
        last = self.step == self.config.steps or self.progress.stopped or wanted == STOP
        if self.first and not last and (wanted == SAVE or (every and self.step % every == 0)):
            self.tell(Holding(self.step, self.progress))
            self.holding = True


def _fill(layout: Layout, state: State, objective: Objective, rng: np.random.Generator) -> None:
    values = objective.init(rng)
    for name, view in layout.views(state.params).items():
        view[...] = np.asarray(values[name], dtype=np.float32)
