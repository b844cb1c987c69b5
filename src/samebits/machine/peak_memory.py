"""The largest resident memory of a process, as the kernel counted it.

Not ``ru_maxrss``: a child starts with the peak of the process that started it, so a small command started by a large
one would look large. ``VmHWM`` starts anew with each program.
"""

from __future__ import annotations

import re
import resource
from pathlib import Path

__all__ = ["own_peak", "peak_of"]


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
