"""The parent's side of the workers: start them, listen, notice who died or went silent, end them.

A rank of torchrun starts one of them; the others belong to other ranks.

Each worker is a fresh interpreter that inherits the shared memory, the eventfds of the barrier and a pipe. The parent computes
nothing, so it answers Ctrl-C at once and can always tell which worker is at fault.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from samebits.core.observing import clock
from samebits.core.ports.place import Place
from samebits.errors import ConfigError, WorkerLost
from samebits.lockstep.exchange.barrier import Gate, make_slots
from samebits.lockstep.exchange.memory import State, create_memory, map_memory
from samebits.lockstep.exchange.tree import shards_of
from samebits.lockstep.parent.lost import lost_worker
from samebits.lockstep.worker.assignment import Order, Wiring
from samebits.lockstep.worker.messages import Finished, Message, WorkerFailed
from samebits.machine.thread_caps import THREAD_CAPS

__all__ = ["Crew"]

START = "import json,sys;a=json.loads(sys.argv[1]);sys.path[:]=a.pop('path');from samebits.lockstep.worker.process import main;main(a)"
LISTEN_SECONDS = 0.2
PAUSE_SECONDS = 5.0  # the parent itself was away for so long: nobody is blamed for it
END_SECONDS = 5.0
TICK_SECONDS = 0.25
_runs = itertools.count()  # tells the training runs of one process apart; all ranks make the same ones


@dataclass
class _Member:
    """One worker as the parent sees it."""

    number: int
    process: subprocess.Popen[bytes]
    pipe: Connection
    open: bool = True
    finished: bool = False
    pulse: int = -1
    heard_at: float = 0.0


class Crew:
    """All workers of one attempt.

    Attributes:
        state: The shared arrays, as this process sees them.
        gate: Lets worker 0 go on after a hold.
        step: The step being computed, for messages.
    """

    def __init__(self, order: Order, place: Place) -> None:
        self.order, self.place = order, place
        self.step = order.start
        self._descriptors = [create_memory(order.sizes)]
        self.state: State = map_memory(self._descriptors[0], order.sizes)
        self._members: list[_Member] = []
        self._looked_at = clock.seconds()
        self._ended_ticks = threading.Event()
        self._ranks = "" if place.rank is None else _prefix(next(_runs))
        gate = self._own(os.eventfd(0, os.EFD_SEMAPHORE | os.EFD_CLOEXEC))
        self.gate = Gate(gate, lambda: None)

    def _own(self, descriptor: int) -> int:
        self._descriptors.append(descriptor)
        return descriptor

    def start(self) -> None:
        """Start all workers; they begin to prepare at once."""
        payload = self._own(_pack(self.order))
        if self.place.rank is not None:
            threading.Thread(target=self._tick, daemon=True).start()
            self._members.append(self._start_one(self.place.rank, payload, []))
            return
        slots = make_slots(self.place.workers)
        for row in slots:
            self._descriptors += row
        for number in range(self.place.workers):
            self._members.append(self._start_one(number, payload, slots))

    def _tick(self) -> None:
        """Show the worker that this process lives: a rank whose parent is stopped counts as lost."""
        while not self._ended_ticks.wait(TICK_SECONDS):
            self.state.ticks[0] += 1

    def _start_one(self, number: int, payload: int, slots: list[list[int]]) -> _Member:
        reading, pipe = os.pipe()
        wiring = Wiring(
            worker=number,
            workers=self.place.workers,
            parent=os.getpid(),
            memory=self._descriptors[0],
            order=payload,
            pipe=pipe,
            gate=self.gate.descriptor,
            slots=slots,
            cores=sorted(os.sched_getaffinity(0)) if self.place.pin_cores else [],
            ranks=self._ranks,
            stall_timeout=self.place.stall_timeout,
        )
        fields = json.dumps({**asdict(wiring), "path": sys.path})
        inherited = [wiring.memory, payload, pipe, wiring.gate, *(slot for row in slots for slot in row)]
        try:
            process = subprocess.Popen(
                [sys.executable, "-c", START, fields],
                env={**os.environ, **THREAD_CAPS},
                stdin=subprocess.DEVNULL,
                pass_fds=inherited,
            )
        finally:
            os.close(pipe)  # the child's end: this process must see the end of the pipe when the child dies
        return _Member(number, process, Connection(reading), heard_at=clock.seconds())

    def messages(self) -> Iterator[Message | None]:
        """Yield what workers say, and None at least every 0.2 s, until all have ended.

        Raises:
            WorkerLost: a worker died or gave no sign of life; names it, its shard and the step.
        """
        while members := [member for member in self._members if member.open]:
            ready = wait([member.pipe for member in members], LISTEN_SECONDS)
            for member in members:
                if member.pipe in ready:
                    yield from self._receive(member)
            self._look_for_silence()
            yield None

    def _receive(self, member: _Member) -> Iterator[Message]:
        try:
            message: Message = member.pipe.recv()
        except (EOFError, OSError):
            self._ended(member)
            return
        if isinstance(message, Finished | WorkerFailed):
            member.finished = True
        yield message

    def _ended(self, member: _Member) -> None:
        """A pipe closed: fine after a last word, or with exit code 0 when another worker gave the reason."""
        member.open = False
        try:
            code = member.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            code = -1
        if not member.finished and code != 0:
            raise self._lost(member, f"killed by {_signal(-code)}" if code < 0 else f"ended with code {code}")

    def _look_for_silence(self) -> None:
        now = clock.seconds()
        away, self._looked_at = now - self._looked_at, now
        for member in self._members:
            pulse = int(self.state.pulses[member.number])
            if pulse != member.pulse:
                member.pulse, member.heard_at = pulse, now
            elif away > PAUSE_SECONDS:
                member.heard_at += away
            elif member.open and now - member.heard_at > self.place.stall_timeout:
                member.process.kill()
                raise self._lost(member, f"no sign of life for {self.place.stall_timeout:g} s")

    def _lost(self, member: _Member, reason: str) -> WorkerLost:
        number, is_rank = member.number, self.place.rank is not None
        shards = self._own_shards(number) if is_rank else self._in_hand(number)
        return lost_worker(number, shards, step=self.step, reason=reason, is_rank=is_rank)

    def _own_shards(self, rank: int) -> Sequence[int]:
        return shards_of(rank, self.place.workers, self.order.config.shards)

    def _in_hand(self, worker: int) -> Sequence[int]:
        hand = int(self.state.hands[worker])
        return [hand - 1] if hand else []

    def close(self) -> None:
        """End every worker and release everything; harmless the second time."""
        self._ended_ticks.set()
        for member in self._members:
            if member.process.poll() is None:
                member.process.kill()
        for member in self._members:
            member.process.wait()
            member.pipe.close()
        self._members.clear()
        for descriptor in self._descriptors:
            with suppress(OSError):
                os.close(descriptor)
        self._descriptors.clear()


def _prefix(run: int) -> str:
    """Return what a run's keys in the store begin with; torchrun's restarts of all ranks are runs of their own."""
    return f"samebits/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}/{run}"


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _pack(order: Order) -> int:
    """Return a descriptor of the pickled order; all workers read the same bytes.

    Raises:
        ConfigError: the objective cannot be pickled.
    """
    import cloudpickle

    try:
        data: Any = cloudpickle.dumps(order)
    except Exception as error:
        raise ConfigError(
            f"the objective cannot be sent to workers: {type(error).__name__}: {error}",
            hint="make what cannot be pickled (open files, locks, compiled functions) in bind()",
        ) from error
    descriptor = os.memfd_create("samebits-order", os.MFD_CLOEXEC)
    with os.fdopen(os.dup(descriptor), "wb") as file:
        file.write(data)
    return descriptor
