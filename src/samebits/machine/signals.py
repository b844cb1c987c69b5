"""Ctrl-C belongs to the driver: what a run starts must not hear it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["interrupts_blocked", "kill"]


@contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Let no worker be born open to Ctrl-C: it would die with a traceback before it can say it does not care.

    Threads and processes inherit the mask of the thread that starts them, and keep it.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def kill(pid: int) -> None:
    """End a process at once; it may have been faster."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
