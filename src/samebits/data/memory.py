"""How much memory a run uses now: this process and all it started."""

from __future__ import annotations

from contextlib import suppress

__all__ = ["memory_of_all"]


def memory_of_all() -> int:
    """Return the resident bytes of this process and all its children; shared pages count in each."""
    import psutil

    own = psutil.Process()
    total = own.memory_info().rss
    for child in own.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            total += child.memory_info().rss
    return int(total)
