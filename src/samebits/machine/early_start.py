"""Things begun before they are asked for, on a thread of their own, while Python is still importing.

For slow loads that hold no lock of Python's: a command line can begin one as soon as its arguments are known, and the
job takes it when it gets there. What was begun never decides anything: nobody has to take it, and if making it fails
the taker gets nothing and makes its own, which then raises as it would have. Threads are joined at exit.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["begin", "look", "take"]

_BEGUN: dict[str, tuple[threading.Thread, list[Any]]] = {}  # with what the thread has made, if it has


def begin(key: str, make: Callable[[], Any]) -> None:
    """Start making something; the key names its content, so equal keys mean equal things."""
    if key in _BEGUN:
        return
    made: list[Any] = []

    def run() -> None:
        try:
            made.append(make())
        except BaseException:
            return  # who takes it makes its own, which then raises

    thread = threading.Thread(target=run, name="samebits-early")
    try:
        thread.start()
    except RuntimeError:
        return  # the system gives no more threads
    _BEGUN[key] = thread, made


def look(key: str, seconds: float | None = None) -> Any | None:
    """Return what was begun under the key, waiting for it, perhaps not for long, and leave it there; None if nothing was or it failed."""
    thread, made = _BEGUN.get(key, (None, []))
    if thread is not None:
        thread.join(seconds)
    return made[0] if made else None


def take(key: str) -> Any | None:
    """Return what was begun under the key, waiting for it, once; None if nothing was or it failed.

    >>> begin("answer", lambda: 42)
    >>> take("answer"), take("answer")
    (42, None)
    """
    found = look(key)
    _BEGUN.pop(key, None)
    return found
