"""How many threads read the inputs before the plan: the run's business, so jobs need not know.

Opening a large corpus is part of a run's time, and on many workers the part that would not shrink (200 MB: 0.1 s of a run
of 1 s). With one worker it is one thread, so that such a run stays on one core and a comparison of the two is fair.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["num_reading_threads", "reading_threads"]

# Without a run around it, e.g. in ``samebits plan``, four: hashing waits for the disk more than for the processor.
_threads: ContextVar[int] = ContextVar("reading_threads", default=4)


def num_reading_threads() -> int:
    """Return how many files, or spans of a large one, may be read at a time."""
    return _threads.get()


@contextmanager
def reading_threads(threads: int) -> Iterator[None]:
    """Read with this many threads inside the block."""
    token = _threads.set(threads)
    try:
        yield
    finally:
        _threads.reset(token)
