"""Work on a thread of its own, started without waiting for it.

``threading.Thread.start`` returns when the thread runs, and waking it up takes longer than most of what is done here: eight
threads, each syncing a small file or their folder, took 4.6 to 5.4 ms with it and 2.0 ms without.
"""

from __future__ import annotations

import _thread
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["Beside"]

Result = TypeVar("Result")


class Beside(Generic[Result]):
    """Begins at once; whoever begins it waits for it, too, because nobody else will."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._waiting = [work]
        self._results: list[Result] = []
        self._error: BaseException | None = None
        self._running = _thread.allocate_lock()
        self._running.acquire()
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:  # the system gives no more threads: it is done here
            self._run()

    def _run(self) -> None:
        work = self._waiting.pop()
        try:
            self._results.append(work())
        except BaseException as error:
            self._error = error  # raised by ``result``
        finally:
            del work  # and all it holds, before anyone hears of the end
            self._running.release()

    @property
    def is_done(self) -> bool:
        """Whether the end was reached, good or bad."""
        return not self._running.locked()

    def wait(self) -> None:
        """Wait for the end, good or bad."""
        with self._running:
            pass

    def result(self) -> Result:
        """Wait for the end and return what came of it, or raise what went wrong."""
        self.wait()
        if self._error is not None:
            raise self._error
        return self._results[0]
