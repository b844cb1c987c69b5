"""What other processes took of the machine while something was measured.

Linux adds up what all processors did (``/proc/stat``), in hundredths of a second, and what a process and its ended children used. The
difference is other processes, what the host gave to other machines (steal), and threads of the kernel. Those are left out:
while a benchmark writes files, what they do is bring its bytes to the disk. Processes that outlive the command that started them
(the fork server of a pool) count as the benchmark's own: it adopts them, and they are waited for.
"""

from __future__ import annotations

import ctypes
import os
import resource
from contextlib import suppress
from pathlib import Path

__all__ = ["Others"]

STAT = Path("/proc/stat")
BUSY = (0, 1, 2, 5, 6, 7)  # user, nice, system, irq, softirq, steal; not idle, nor waiting for a disk
ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER
KERNEL_THREAD = 0x0020_0000  # PF_KTHREAD, among the flags of a process
FLAGS, USER, SYSTEM = 6, 11, 12  # places in /proc/PID/stat, counted from behind the name


class Others:
    """Begins to watch when it is made; no child may be at work then, nor when it is asked."""

    def __init__(self) -> None:
        if STAT.exists():
            ctypes.CDLL(None).prctl(ADOPT_ORPHANS, 1, 0, 0, 0)
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
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)  # orphans that were adopted, until there are none
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)
