"""Who is told what a run waits for before it has a plan, and with it an observer: one line for people, now and then.

The command line sets ``listener``; in Python there is none, and nothing is said.
"""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["tell"]

listener: Callable[[str], None] | None = None


def tell(line: str) -> None:
    """Say what is being waited for, if anybody listens; an empty line says that the wait is over."""
    if listener is not None:
        listener(line)
