"""A worker process: binds the objective, agrees with the others, and makes steps until it is told to end.

Started as a fresh interpreter with inherited descriptors (``crew``), so the math libraries see their one-thread variables before
they are imported, and a script that trains needs no ``if __name__ == "__main__"``. It ignores Ctrl-C, which is the parent's
business, and ends by itself when the parent is gone. A rank of torchrun is a parent with one worker; the other workers are
other ranks', and the worker meets them over the network.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from samebits.arithmetic.selftest import check_machine
from samebits.core.seeds import rng_for
from samebits.errors import SamebitsError
from samebits.lockstep.exchange.barrier import Barrier, Gate
from samebits.lockstep.exchange.memory import State, map_memory, map_pulses
from samebits.lockstep.exchange.rendezvous import Elsewhere, Meeting, Share, SharedMeeting
from samebits.lockstep.problem.layout import Layout
from samebits.lockstep.problem.objective import Modal, Objective
from samebits.lockstep.problem.schedule import after_validation, rate
from samebits.lockstep.worker.assignment import GO_ON, SAVE, STOP, Order, Wiring
from samebits.lockstep.worker.environment import environment_of
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
from samebits.lockstep.worker.probe import probe
from samebits.lockstep.worker.step import Outcome, Stepper
from samebits.machine.memory import own_peak

__all__ = ["main"]

PULSE_SECONDS = 0.25
LAST_WORD_SECONDS = 2.0  # to say why, before a worker ends although its parent does not listen


def main(fields: dict[str, Any]) -> None:
    """Run a worker to its end; called by the one line that ``crew`` starts an interpreter with."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    wiring = Wiring(**fields)
    if wiring.ranks:
        signal.signal(
            signal.SIGTERM, signal.SIG_IGN
        )  # torchrun sends it to parent and worker: the parent decides
    if wiring.cores:
        os.sched_setaffinity(0, {wiring.cores[wiring.worker % len(wiring.cores)]})
    pipe = Connection(wiring.pipe)
    pulse = _Pulse(wiring)
    worker: _Worker | None = None
    try:
        order = _read_order(wiring.order)
        worker = _Worker(order, wiring, pipe)
        pulse.look = worker.meeting.look
        worker.run()
    except BaseException as error:
        failure = _failure(error, wiring.worker, worker)
        if worker is None:
            pipe.send(failure)
        else:
            worker.meeting.fail(failure)
            worker.say(failure)
    os._exit(0)  # threads of libraries must not keep a finished worker alive


def _read_order(descriptor: int) -> Order:
    import cloudpickle

    with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as data:
        order: Order = cloudpickle.loads(data)
    return order


def _failure(error: BaseException, number: int, worker: _Worker | None) -> WorkerFailed:
    if isinstance(error, Elsewhere):
        return error.failed
    trace = "".join(traceback.format_exception(error))
    try:
        summary = f"{type(error).__name__}: {error}"
    except Exception:
        summary = f"{type(error).__name__}, which has no text"
    step, shard = (worker.step, worker.stepper.at_shard) if worker else (-1, -1)
    ours = error if isinstance(error, SamebitsError) else None
    return WorkerFailed(number, step, shard, summary, trace, ours)


class _Pulse:
    """Shows signs of life from the start: an objective that brings torch may take longer to load than the stall timeout.

    Attributes:
        look: What else is looked at with every sign.
    """

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        self.look: Callable[[], None] = lambda: None
        self._pulses = map_pulses(wiring.memory, wiring.workers)
        threading.Thread(target=self._beat, daemon=True).start()

    def _beat(self) -> None:
        """Go on also during a long shard; end with the parent, also when nobody waits."""
        wait = threading.Event()
        while not wait.wait(PULSE_SECONDS):
            self._pulses[self.wiring.worker] += 1
            _end_with_parent(self.wiring)
            self.look()


def _end_with_parent(wiring: Wiring) -> None:
    if os.getppid() != wiring.parent:
        os._exit(1)


class _Stopped(Exception):
    """Another worker failed in this step."""


class _Worker:
    def __init__(self, order: Order, wiring: Wiring, pipe: Connection) -> None:
        self.order, self.wiring, self.pipe = order, wiring, pipe
        self.config = order.config
        self.state: State = map_memory(wiring.memory, order.sizes)
        self.end_with_parent = partial(_end_with_parent, wiring)
        self.gate = Gate(wiring.gate, self.end_with_parent)
        self.progress = order.progress
        self.step = order.start
        self.holding = False
        self.first = wiring.worker == 0
        self.speaks = self.first or bool(wiring.ranks)  # to the parent; a rank has one of its own
        self.speaking = threading.Lock()
        self.meeting = self.find_meeting()
        self.stepper = Stepper(
            order.objective,
            order.config,
            order.layout,
            self.state,
            worker=wiring.worker,
            workers=wiring.workers,
            meeting=self.meeting,
        )

    def find_meeting(self) -> Meeting:
        """Return how this worker meets the others: in shared memory, or over the network."""
        wiring = self.wiring
        if not wiring.ranks:
            barrier = Barrier(wiring.slots, wiring.worker, self.end_with_parent)
            return SharedMeeting(barrier, self.state, wiring.worker, wiring.workers)
        from samebits.lockstep.exchange.ranks import ClusterMeeting

        return ClusterMeeting(
            wiring.ranks,
            wiring.worker,
            wiring.workers,
            self.state,
            stall_timeout=wiring.stall_timeout,
            at_step=lambda: self.step,
            lost=self.end_at_once,
        )

    def end_at_once(self, failure: WorkerFailed) -> None:
        """Report what a thread has noticed, while the worker itself may wait for a rank that never comes."""
        if self.speaking.acquire(timeout=LAST_WORD_SECONDS):
            self.pipe.send(failure)
        os._exit(0)

    def say(self, message: Message) -> None:
        with self.speaking:
            try:
                self.pipe.send(message)
            except BrokenPipeError:
                os._exit(1)  # the parent is gone, a moment before this process is told so

    def tell(self, message: Message) -> None:
        if self.speaks:
            self.say(message)

    def run(self) -> None:
        self.begin()
        if self.step < self.order.last and not self.progress.stopped:
            self.prepare()
        try:
            while self.step < self.order.last and not self.progress.stopped:
                if not self.make_step():
                    break
        except _Stopped:
            self.meeting.leave()
            return
        self.meeting.meet(Share.END)
        self.say(Finished(self.wiring.worker, self.step, self.progress, own_peak()))
        self.meeting.leave()

    def begin(self) -> None:
        """Agree on the first step, and give parameters their values there."""
        self.order = order = self.meeting.begin(self.order)
        self.step, self.progress = order.start, order.progress
        if order.found is not None and not self.first:
            self.say(Began(order.found))
        if self.first and order.fresh:
            _fill(order.layout, self.state, order.objective, rng_for(self.config.seed, "fit", "init"))
        self.meeting.meet(Share.START)

    def prepare(self) -> None:
        """Check the machine, bind, choose a mode, probe; wait until the parent agrees."""
        check_machine()
        objective, layout = self.order.objective, self.order.layout
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
            meeting=self.meeting,
        )
        if self.speaks:
            self.tell(Ready(environment_of(objective, compute), compute, refused))
            self.gate.wait()
        self.meeting.meet(Share.NOTHING)

    def choose_mode(self) -> tuple[str, tuple[str, ...]]:
        """Return the first mode that works in every worker, and those that did not."""
        objective, refused = self.order.objective, list[str]()
        if not isinstance(objective, Modal):
            return "", ()
        for mode in objective.modes():
            if all(self.meeting.ask(int(bool(objective.enter(mode))))):
                return mode, tuple(refused)
            refused.append(mode)
        raise SamebitsError(f"no mode works in every worker; tried {', '.join(refused)}")

    def make_step(self) -> bool:
        """Make one step; return False when the parent wants no more."""
        step, stepper, control = self.step, self.stepper, self.state.control
        failure = self.try_compute(step)
        if self.speaks:
            control[1 + self.wiring.worker] = GO_ON if self.holding else control[0]
        self.meeting.meet(Share.GRADIENTS)
        wanted = int(control[1:].max())
        self.stop_after_failure(failure)
        stepper.reduce()
        if self.holding:
            self.gate.wait()
            self.holding = False
        self.meeting.meet(Share.NORMS)
        outcome = stepper.outcome()
        if not outcome.finite:
            self.refuse(step, outcome)
        share = rate(self.config, step) * self.progress.factor
        stepper.update(step, outcome.grad_norm, share)
        self.meeting.meet(Share.PARAMETERS)
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

    def try_compute(self, step: int) -> WorkerFailed | None:
        """Compute own shards; a shard that raises is flagged, so that all workers stop at the same meeting."""
        try:
            self.stepper.compute(step)
        except Exception as error:
            failure = _failure(error, self.wiring.worker, self)
            self.state.flags[max(self.stepper.at_shard, self.stepper.shards[0])] = 1
            return failure
        return None

    def stop_after_failure(self, failure: WorkerFailed | None) -> None:
        """End together: each worker that failed says so, and the parent reports the lowest shard."""
        if self.state.flags[: self.config.shards].any():
            for found in self.meeting.gather(failure):
                self.say(found)
            raise _Stopped

    def refuse(self, step: int, outcome: Outcome) -> None:
        shard, loss = self.stepper.find_bad(step)
        self.tell(NonFinite(step, shard, loss if shard >= 0 else outcome.loss))
        raise _Stopped

    def validate_if_due(self) -> None:
        every = self.config.validate_every
        due = self.step == self.config.steps or (every and self.step % every == 0)
        if self.order.sizes.validation_shards and due:
            loss = self.stepper.validate(self.step)
            self.progress = after_validation(self.config, self.progress, loss)
            self.tell(ValidatedAt(self.step, loss))

    def hold_if_due(self, wanted: int) -> None:
        """Ask for a checkpoint; parameters change again only in the next step's update, until then the parent saves."""
        due = any(self.step % every == 0 for every in self.order.save_every)
        last = self.step == self.order.last or self.progress.stopped or wanted == STOP
        if last or not (wanted == SAVE or due):
            return
        self.meeting.meet(Share.CHECKPOINT)
        if self.first:
            self.tell(Holding(self.step, self.progress))
            self.holding = True


def _fill(layout: Layout, state: State, objective: Objective, rng: np.random.Generator) -> None:
    values = objective.init(rng)
    for name, view in layout.views(state.params).items():
        view[...] = np.asarray(values[name], dtype=np.float32)
