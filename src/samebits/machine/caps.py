"""One math thread inside every task, in the serial executor too, so that arithmetic never depends on the machine.

Libraries read these variables when they are imported, so child processes get them in their environment before they
start; the driver gets them at the start of the command line. For a library that is loaded already (samebits used from a
notebook), ``one_math_thread`` asks the running thread pools themselves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from samebits.machine.thread_caps import THREAD_CAPS

__all__ = [
    "THREAD_CAPS",
    "cap_threads",
    "give_back_freed_memory",
    "keep_freed_memory",
    "keep_little_freed_memory",
    "one_math_thread",
]

# Numbers of glibc's mallopt: M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD (32 MiB is the most it takes).
_KEEP = ((-1, 256 << 20), (-2, 64 << 20), (-3, 32 << 20))
_KEEP_LITTLE = (
    (-1, 128 << 10),
    (-3, 128 << 10),
)  # what glibc begins with, before it learns from what is freed

_MATH_LIBRARIES = ("numpy", "scipy", "torch")
_capped_in_time = False  # set when the variables were there before any math library was loaded


def cap_threads() -> None:
    """Set the variables for this process and all it starts; call before importing NumPy or torch."""
    global _capped_in_time
    os.environ.update(THREAD_CAPS)
    _capped_in_time = not any(name in sys.modules for name in _MATH_LIBRARIES)


def keep_freed_memory() -> None:
    """Let malloc keep what a shard frees for the next shard, instead of giving the pages back and faulting them in again.

    Page faults are served one at a time in a process, so threads wait for one another there: with two workers ``count``
    took 1.14 to 1.23 s on 200 MB without this and 1.05 to 1.08 s with it. Nothing happens where malloc is not glibc's.
    """
    _tell_malloc(_KEEP)


def keep_little_freed_memory() -> None:
    """Let malloc give arrays of more than 128 KiB back to the system as soon as they are freed, from now on.

    For a process that needs large arrays while it starts and none later: malloc would go on keeping some of their pages, because it takes a
    freed array for a sign that more like it will come. Nothing happens where malloc is not glibc's.
    """
    _tell_malloc(_KEEP_LITTLE)


def _tell_malloc(options: tuple[tuple[int, int], ...]) -> None:
    import ctypes

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    for option, value in options:
        mallopt(option, value)


def give_back_freed_memory() -> None:
    """Give the system the pages that malloc keeps for later, of all threads.

    For the moment before a stage that needs much memory of another kind than the one before it: what the threads of a stage
    have freed stays with them otherwise. Nothing happens where malloc is not glibc's.
    """
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def one_math_thread() -> Iterator[None]:
    """Hold every loaded BLAS and OpenMP pool to one thread for a while.

    Where ``cap_threads`` came in time nothing is left to do; looking for the pools would cost 20 ms a run.
    """
    if _capped_in_time:
        yield
        return
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield
