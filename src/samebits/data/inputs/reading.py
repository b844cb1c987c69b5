"""Who reads the inputs before the plan: the run's business, so jobs need not know.

Opening a large corpus is part of a run's time, and on many workers the part that would not shrink (200 MB: 0.1 s of a run
of 1 s). Where workers are threads of this process, as many threads read; with one worker one, so that such a run stays on
one core and a comparison of the two is fair. Where they are elsewhere, they read, and this process does not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol, TypeVar

from samebits.data.background import Beside

if TYPE_CHECKING:
    from samebits.core.engine import Engine

__all__ = ["FindEngine", "engine_for", "num_reading_threads", "read_each", "reading_by", "reading_threads"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class FindEngine(Protocol):
    """Gives the engine on which files are read, or None where threads of this process read them."""

    def __call__(self, files: Sequence[tuple[str, int]], num_shards: int, /) -> Engine | None:
        """Take path and size of each file, and about how many shards they will have."""
        ...


_engine: ContextVar[FindEngine | None] = ContextVar("reading_engine", default=None)
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


@contextmanager
def reading_by(threads: int, find_engine: FindEngine) -> Iterator[None]:
    """Read with this many threads of this process, or on the engine, inside the block."""
    token = _engine.set(find_engine)
    try:
        with reading_threads(threads):
            yield
    finally:
        _engine.reset(token)


def engine_for(files: Sequence[tuple[str, int]], num_shards: int) -> Engine | None:
    """Return the engine on which these files (path and size) are to be read; None: threads of this process read them."""
    find_engine = _engine.get()
    return find_engine(files, num_shards) if find_engine is not None else None


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
