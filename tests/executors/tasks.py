"""Tasks that behave, and tasks that misbehave on purpose; in a module of their own so that worker processes find them."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from samebits.core.plan import Shard
from samebits.errors import InputError, SamebitsError


@dataclass(frozen=True)
class AddState:
    """The part tells the shard and the state."""

    def __call__(self, shard: Shard, state: Any, /) -> dict[str, Any]:
        return {"index": shard.index, "start": shard.start, "state": state}


@dataclass(frozen=True)
class BigPart:
    """A part far larger than the buffer of a pipe."""

    num_bytes: int

    def __call__(self, shard: Shard, state: Any, /) -> Any:
        return np.full(self.num_bytes, shard.index % 256, dtype=np.uint8)


@dataclass(frozen=True)
class BigTask:
    """A task far larger than the buffer of a pipe."""

    payload: bytes

    def __call__(self, shard: Shard, state: Any, /) -> int:
        return len(self.payload) + shard.index


class BadText(Exception):
    """Cannot even be turned into text."""

    def __str__(self) -> str:
        raise RuntimeError("no text for you")


class Unpicklable(Exception):
    """Holds a lock, which no pickle can carry."""

    def __init__(self) -> None:
        super().__init__("holds a lock")
        self.lock = threading.Lock()


def explode() -> NoReturn:
    """Stand in for a constructor that fails where the object arrives."""
    raise RuntimeError("exploded on unpickle")


class ExplodingError(SamebitsError):
    """An error that can be pickled and cannot be unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return explode, ()


class ExplodingPart:
    """A result that can be pickled and cannot be unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return explode, ()


@dataclass(frozen=True)
class Misbehaves:
    """Does what its name says, at shard 2 only."""

    how: str

    def __call__(self, shard: Shard, state: Any, /) -> Any:
        if shard.index != 2:
            return shard.index
        match self.how:
            case "raise":
                raise ZeroDivisionError("planted")
            case "samebits error":
                raise InputError("planted", path="a.txt", offset=7)
            case "bad text":
                raise BadText
            case "unpicklable error":
                raise Unpicklable
            case "exploding error":
                raise ExplodingError("boom")
            case "system exit":
                sys.exit(5)
            case "unpicklable part":
                return threading.Lock()
            case "exploding part":
                return ExplodingPart()
            case "long traceback":
                raise ValueError("x" * 200_000)
        raise AssertionError(self.how)


@dataclass(frozen=True)
class Dies:
    """Ends its own process: at shard ``index``, or before any task when it is unpickled."""

    index: int
    signal: int = signal.SIGKILL

    def __call__(self, shard: Shard, state: Any, /) -> int:
        if shard.index == self.index:
            os.kill(os.getpid(), self.signal)
        return shard.index


@dataclass(frozen=True)
class DiesOnce:
    """Ends its own process once: the mark on disk survives it."""

    index: int
    mark: str

    def __call__(self, shard: Shard, state: Any, /) -> int:
        if shard.index == self.index and not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return shard.index


def leave(*arguments: object) -> NoReturn:
    """End the process without a word."""
    os._exit(3)


class CannotArrive:
    """A task that raises where it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return explode, ()

    def __call__(self, shard: Shard, state: Any, /) -> int:
        return 0


class KillsWhereItArrives:
    """A task (or state) that ends the process where it is unpickled."""

    def __reduce__(self) -> tuple[object, ...]:
        return leave, ()

    def __call__(self, shard: Shard, state: Any, /) -> int:
        return 0


class CannotLeave:
    """A task that cannot be pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def __call__(self, shard: Shard, state: Any, /) -> int:
        return shard.index


@dataclass(frozen=True)
class Environment:
    """What a worker sees of its surroundings."""

    def __call__(self, shard: Shard, state: Any, /) -> dict[str, Any]:
        time.sleep(0.05)  # long enough that every worker gets some
        return {
            "pid": os.getpid(),
            "cores": sorted(os.sched_getaffinity(0)),
            "omp": os.environ.get("OMP_NUM_THREADS", ""),
            "interrupts": signal.getsignal(signal.SIGINT) == signal.SIG_IGN,
        }


@dataclass(frozen=True)
class HungryOnce:
    """Runs out of memory ``times`` times at shard 2; the count is on disk."""

    marks: str
    times: int

    def __call__(self, shard: Shard, state: Any, /) -> int:
        if shard.index == 2:
            mark = Path(self.marks) / f"{time.monotonic_ns()}"
            mark.touch()
            if len(list(Path(self.marks).iterdir())) <= self.times:
                raise MemoryError("planted")
        return shard.index
