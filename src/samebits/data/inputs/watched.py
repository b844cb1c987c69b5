"""Do things over the network under watch: whoever makes no progress is given up by name, however it hangs.

Each action runs in a thread of its own and counts bytes on a meter. The caller's thread looks at the meters: one that
moved less than ``LOWEST_RATE`` for ``timeout`` seconds is an error, and so are more bytes in all than allowed. A thread
that hangs in a library cannot be ended; it is left behind, ends with the process and touches nothing any more.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from samebits.core.observing import clock, waiting
from samebits.errors import ConfigError, InputError

__all__ = ["Limits", "Meter", "run_watched"]

THREADS = 8
LOWEST_RATE = 1000  # bytes per second, on average over the time without progress that is allowed
LOOK_SECONDS, FIRST_LOOK_SECONDS = 0.05, 0.002  # a file that is there already takes milliseconds
TELL_SECONDS = 1.0
T = TypeVar("T")


class GivenUp(Exception):
    """Raised inside an action whose caller has gone."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds without progress, and bytes in all, that inputs from elsewhere may take."""

    timeout: float = 60.0
    most_bytes: int = 1 << 40

    @staticmethod
    def from_environment() -> Limits:
        """Read ``SAMEBITS_FETCH_TIMEOUT`` (seconds) and ``SAMEBITS_FETCH_MAX_BYTES``.

        Raises:
            ConfigError: One of them is no number above 0.
        """
        found = {}
        for name, field_name in (
            ("SAMEBITS_FETCH_TIMEOUT", "timeout"),
            ("SAMEBITS_FETCH_MAX_BYTES", "most_bytes"),
        ):
            text = os.environ.get(name, "")
            try:
                value = float(text) if text else 1.0
            except ValueError:
                value = 0.0
            if not 0 < value < 1e18:
                raise ConfigError(f"{name} is {text!r}", hint="use a number above 0")
            if text:
                found[field_name] = value
        return Limits(found.get("timeout", 60.0), int(found.get("most_bytes", 1 << 40)))


@dataclass(slots=True)
class Meter:
    """Bytes of one action; ``given_up`` tells it that nobody waits any more."""

    name: str
    num_bytes: int = 0
    total: int | None = None
    given_up: bool = False

    def arrived(self, num_bytes: int, total: int | None = None) -> None:
        """Note how far the action is.

        Raises:
            GivenUp: Nobody waits for it any more.
        """
        if self.given_up:
            raise GivenUp
        self.num_bytes, self.total = num_bytes, total


@dataclass(slots=True)
class _Running(Generic[T]):
    action: Callable[[Meter], T]
    meter: Meter
    since: float
    mark: int = 0
    done: bool = False
    result: list[T] = field(default_factory=list)
    error: BaseException | None = None

    def run(self) -> None:
        try:
            self.result.append(self.action(self.meter))
        except BaseException as error:
            self.error = error
        self.done = True


def run_watched(actions: Sequence[tuple[str, Callable[[Meter], T]]], limits: Limits) -> list[T]:
    """Run actions, a few at a time, and return their results in order.

    Raises:
        InputError: One made no progress, or all together brought too much.
        BaseException: Whatever the first action that failed raised.
    """
    waiting_ones = list(actions)
    all_of_them: list[_Running[T]] = []
    told = clock.seconds()
    began = told
    try:
        while waiting_ones or any(not one.done for one in all_of_them):
            running = [one for one in all_of_them if not one.done]
            slow = clock.seconds() - began > LOOK_SECONDS
            while waiting_ones and len(running) < THREADS:
                name, action = waiting_ones.pop(0)
                running.append(_Running(action, Meter(name), clock.seconds()))
                all_of_them.append(running[-1])
                threading.Thread(target=running[-1].run, daemon=True, name=f"fetch {name}").start()
            time.sleep(LOOK_SECONDS if slow else FIRST_LOOK_SECONDS)
            for one in running:
                _look(one, limits)
            _look_at_all(all_of_them, limits)
            failed = next((one.error for one in all_of_them if one.error is not None), None)
            if failed is not None:
                raise failed
            if clock.seconds() - told >= TELL_SECONDS:
                told = clock.seconds()
                waiting.tell(_line(all_of_them, told - began))
    finally:
        for one in all_of_them:
            one.meter.given_up = True
        waiting.tell("")
    return [one.result[0] for one in all_of_them]


def _look(one: _Running[Any], limits: Limits) -> None:
    now, moved = clock.seconds(), one.meter.num_bytes - one.mark
    if moved < 0 or moved >= LOWEST_RATE * limits.timeout:
        one.since, one.mark = now, one.meter.num_bytes
    elif not one.done and now - one.since >= limits.timeout:
        raise InputError(
            f"no progress: {moved:,} bytes in {limits.timeout:g} s, {one.meter.num_bytes:,} so far",
            path=one.meter.name,
            hint="try again later; SAMEBITS_FETCH_TIMEOUT sets how long to wait",
        )


def _look_at_all(found: Sequence[_Running[Any]], limits: Limits) -> None:
    for one in found:
        if max(one.meter.num_bytes, one.meter.total or 0) > limits.most_bytes:
            wanted = max(one.meter.num_bytes, one.meter.total or 0)
            raise _too_much(one.meter.name, wanted, limits)
    total = sum(one.meter.num_bytes for one in found)
    if total > limits.most_bytes:
        raise _too_much(found[-1].meter.name, total, limits)


def _too_much(name: str, num_bytes: int, limits: Limits) -> InputError:
    return InputError(
        f"{num_bytes:,} bytes are more than the limit of {limits.most_bytes:,}",
        path=name,
        hint="raise SAMEBITS_FETCH_MAX_BYTES if you want them",
    )


def _line(found: Sequence[_Running[Any]], seconds: float) -> str:
    """Say how far all actions are.

    >>> _line([_Running(print, Meter("a", 500_000, 2_000_000), 0.0)], 2.0)
    'fetching: 0 of 1 files, 0.5 of 2.0 MB, 0.2 MB/s'
    """
    done = sum(one.done for one in found)
    num_bytes = sum(one.meter.num_bytes for one in found)
    totals = [one.meter.total for one in found]
    known = sum(total for total in totals if total is not None)
    size = f" of {known / 1e6:.1f}" if None not in totals else ""
    return f"fetching: {done} of {len(found)} files, {num_bytes / 1e6:.1f}{size} MB, {num_bytes / seconds / 1e6:.1f} MB/s"
