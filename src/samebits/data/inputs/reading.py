"""How many threads read the inputs before the plan: the run's business, so jobs need not know.

Opening a large corpus is part of a run's time, and on many workers the part that would not shrink (200 MB: 0.1 s of a run
of 1 s). With one worker it is one thread, so that such a run stays on one core and a comparison of the two is fair.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from samebits.data.background import Beside

__all__ = ["num_reading_threads", "read_each", "reading_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")

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


def read_each(read: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
    """Return ``read`` of each item, in order; this thread works beside the others, so that one less has to be woken.

    Raises:
        Exception: what ``read`` raised for the first item for which it did.
    """
    waiting = deque(enumerate(items))
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}

    def work() -> None:
        while waiting:
            try:
                number, item = waiting.popleft()
            except IndexError:  # another thread was quicker
                return
            try:
                results[number] = read(item)
            except BaseException as error:
                errors[number] = error
                waiting.clear()

    others = [Beside(work) for _ in range(min(num_reading_threads(), len(waiting)) - 1)]
    try:
        work()
    finally:
        waiting.clear()
        for other in others:
            other.wait()
    if errors:
        raise errors[min(errors)]
    return [results[number] for number in sorted(results)]
