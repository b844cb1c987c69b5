"""How much memory a run uses now, this process and all it started; and the most that a process ever had.

The peak is not ``ru_maxrss``: a child starts with the peak of the process that started it, so a small command started by a large
one would look large. ``VmHWM`` starts anew with each program.
"""

from __future__ import annotations

import os
import re
import resource
from contextlib import suppress
from pathlib import Path

__all__ = ["memory_of_all", "own_peak", "peak_of"]


def memory_of_all() -> int:
    """Return the resident bytes of this process and all its children; shared pages count in each."""
    if not _has_children() and (resident := _resident()):
        return resident
    import psutil  # costs as much as all of a small run

    own = psutil.Process()
    total = own.memory_info().rss
    for child in own.children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it ended meanwhile
            total += child.memory_info().rss
    return int(total)


def _has_children() -> bool:
    """Tell whether this process has started any that it has not waited for; looking takes nothing away from a waiter."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    except (AttributeError, OSError):
        return True  # this system cannot say
    return True


def _resident() -> int:
    """Return this process's resident bytes; 0 where there is no ``/proc``."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0


def peak_of(pid: int | str) -> int:
    """Return the peak in bytes of a running process; 0 when it is gone, or where there is no ``/proc``."""
    try:
        found = re.search(r"^VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def own_peak() -> int:
    """Return the peak in bytes of this process."""
    return peak_of("self") or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
