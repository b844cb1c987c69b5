"""Things begun before they are asked for, on a thread of their own, while Python is still importing.

For slow loads that hold no lock of Python's: a command line can begin one as soon as its arguments are known, and the
job takes it when it gets there. What was begun never decides anything: nobody has to take it, and if making it fails
the taker gets nothing and makes its own, which then raises as it would have. Threads are joined at exit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["begin", "take"]

_BEGUN: dict[str, Future[Any]] = {}


def begin(key: str, make: Callable[[], Any]) -> None:
    """Start making something; the key names its content, so equal keys mean equal things."""
    from concurrent.futures import Future  # most commands begin nothing

    if key in _BEGUN:
        return
    future: Future[Any] = Future()
    _BEGUN[key] = future

    def run() -> None:
        try:
            future.set_result(make())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="samebits-early").start()


def take(key: str) -> Any | None:
    """Return what was begun under the key, waiting for it, once; None if nothing was or it failed.

    >>> begin("answer", lambda: 42)
    >>> take("answer"), take("answer")
    (42, None)
    """
    future = _BEGUN.pop(key, None)
    if future is not None:
        with suppress(Exception):
            return future.result()
    return None
