"""Entry point of the ``samebits`` command."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from typing import NoReturn

# Objects between two looks for cycles: at Python's 700 a tenth of the start-up goes into them, and what the imports make
# stays anyway. They make 60,000 for some commands, and one look at so many takes 10 ms.
GC_THRESHOLD = 200_000


def main() -> None:
    """Cap math threads before anything imports NumPy, then hand over to the command line."""
    gc.set_threshold(GC_THRESHOLD)
    from samebits.machine.caps import cap_threads, keep_freed_memory

    cap_threads()
    keep_freed_memory()
    from samebits.cli.early import begin_early

    # before click is imported: the longest load of a command should be the first to begin
    begin_early(sys.argv[1:])
    from samebits.cli.app import run
    from samebits.cli.terminal import guard_terminals

    guard_terminals()
    leave(run(sys.argv[1:]))


def leave(code: int) -> NoReturn:
    """End the process as Python would, but without taking its modules apart first: the kernel does that at once.

    Threads are waited for, exit functions run and what was printed is flushed, in Python's order. Only then the rest is
    dropped: a tenth of the time of a short command. Under a profiler or debugger it ends in the usual way, so that they
    have the last word.
    """
    if sys.getprofile() or sys.gettrace() or _is_monitored():
        sys.exit(code)
    getattr(threading, "_shutdown")()  # noqa: B009 - what Python itself calls; it has no public name
    getattr(atexit, "_run_exitfuncs")()  # noqa: B009
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where they were closed before the start
        try:
            stream.flush()
        except (BrokenPipeError, ValueError):
            continue  # the reader is gone, or the stream is closed: there is nobody left to tell
        except OSError:
            code = code or 1  # what was printed is not all there, e.g. on a full disk
    os._exit(code)


def _is_monitored() -> bool:
    """Tell whether a tool watches by ``sys.monitoring``, as cProfile and debuggers do from Python 3.12 on."""
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(map(monitoring.get_tool, range(6)))


if __name__ == "__main__":
    main()
