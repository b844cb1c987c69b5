"""Let the calling thread see one CPU for a while: libraries that size a thread pool by what they see then start none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_cpu"]


@contextmanager
def one_cpu() -> Iterator[None]:
    """Narrow the affinity of this thread alone; nothing happens where the system has no such call."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
