"""What other processes took of the machine while something was measured.

Linux adds up what all processors did (``/proc/stat``), in hundredths of a second, and what a process and its ended children used. The
difference is other processes, what the host gave to other machines (steal), and threads of the kernel. Those are left out:
while a benchmark writes files, what they do is bring its bytes to the disk.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

__all__ = ["Others"]

STAT = Path("/proc/stat")
BUSY = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal; not idle, nor waiting for a disk
KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD, among the flags of a process
FLAGS, USER, SYSTEM = 6, 11, 12  # places in /proc/PID/stat, counted from behind the name


class Others:
    """Begins to watch when it is made."""

    def __init__(self) -> None:
        self._before = _others()

    def seconds(self) -> float:
        """Return CPU seconds of others since then; 0 where the system does not tell."""
        return max(0.0, _others() - self._before)


def _others() -> float:
    return _everyone() - _kernel() - _own() if STAT.exists() else 0.0


def _everyone() -> float:
    ticks = STAT.read_text().split("\n", 1)[0].split()[1:]
    return sum(int(ticks[i]) for i in BUSY) / os.sysconf("SC_CLK_TCK")


def _kernel() -> float:
    ticks = 0
    for process in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = process.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(fields[FLAGS]) & KERNEL_THREAD:
            ticks += int(fields[USER]) + int(fields[SYSTEM])
    return ticks / os.sysconf("SC_CLK_TCK")


def _own() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
