"""Kill a run at every rename and every sync it makes, one after the other, and let the same command go on.

    python -m tests.faults.crash_points [job ...]

Not random moments but all of them: an undisturbed run counts its points; then each is the end of one run, once right before
and once right after it. The run that follows must give the digest of the undisturbed one and leave nothing but the
artifact. ``make crashes`` does it for every job; ``make test`` for ``count``.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.genuine import MAKERS

from samebits.data.artifact import open_artifact

HOOKED = ("fsync", "rename", "replace")
LEFT = (".partial", ".old", ".journal", ".lock")


@dataclass
class Hook:
    """Counts calls of the operating system's functions that make something durable; kills at the chosen one.

    Attributes:
        at: Which call, counted from 0; -1 kills at none.
        after: Whether the call is still made.
    """

    at: int
    after: bool
    seen: list[str] = field(default_factory=list)

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function to put in the place of the real one."""

        def call(*arguments: Any, **named: Any) -> Any:
            mine = len(self.seen)
            self.seen.append(name)
            if mine == self.at and not self.after:
                os.kill(os.getpid(), signal.SIGKILL)
            result = function(*arguments, **named)
            if mine == self.at:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call


def run_in_child(kind: str, output: Path, hook: Hook, report: Path) -> int:
    """Run a job in a forked process under a hook; return its exit status, negative for a signal."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for name in HOOKED:
                setattr(os, name, hook.around(name, getattr(os, name)))
            MAKERS[kind](output)
            report.write_text("\n".join(hook.seen))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def crash_everywhere(kind: str, place: Path) -> tuple[int, list[str]]:
    """Return how many points there are, and what went wrong at which."""
    reference, report = place / "reference" / kind, place / "points"
    reference.parent.mkdir()
    if run_in_child(kind, reference, Hook(-1, after=False), report) != 0:
        return 0, [f"{kind}: the undisturbed run failed"]
    points = report.read_text().split()
    digest = open_artifact(reference).digest
    wrong = []
    for at in range(len(points)):
        for after in (False, True):
            here = place / "run"
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            ended = run_in_child(kind, here / kind, Hook(at, after=after), report)
            words = f"{kind}: {'after' if after else 'before'} {points[at]} {at}"
            if ended != -signal.SIGKILL:
                wrong.append(f"{words}: ended with {ended}, was not killed")
                continue
            if (kept := _complete(here / kind)) and kept != digest:
                wrong.append(f"{words}: left an artifact with digest {kept}")
            shutil.rmtree(here / kind, ignore_errors=True) if kept else None
            if run_in_child(kind, here / kind, Hook(-1, after=False), report) != 0:
                wrong.append(f"{words}: the run that follows failed")
            elif open_artifact(here / kind).digest != digest:
                wrong.append(f"{words}: another digest")
            elif left := [path.name for path in here.iterdir() if path.name.endswith(LEFT)]:
                wrong.append(f"{words}: left {left}")
    return 2 * len(points), wrong


def _complete(folder: Path) -> str:
    """Return the digest of an artifact that is whole; nothing where there is none yet. Half of one is an error."""
    return open_artifact(folder).digest if folder.exists() else ""


def main() -> int:
    """Crash the named jobs, or all; print a line for each; return 1 if anything went wrong."""
    kinds = sys.argv[1:] or sorted(MAKERS)
    total = 0
    wrong: list[str] = []
    for kind in kinds:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            num, found = crash_everywhere(kind, Path(scratch))
        total, wrong = total + num, wrong + found
        print(f"{kind:16} {num:5} kills, {len(found)} wrong, {time.monotonic() - began:.0f} s", flush=True)
        for line in found[:10]:
            print(f"  {line}", flush=True)
    print(f"{total} kills at every rename and sync of {len(kinds)} jobs, {len(wrong)} wrong")
    return 1 if wrong or not total else 0


if __name__ == "__main__":
    sys.exit(main())
