"""Kill a run at every rename and every sync it makes, one after the other, and let the same command go on.

    python -m tests.faults.crash_points [--record FILE] [job ...]

Not random moments but all of them: an undisturbed run counts its points; then each is the end of one run, once right before
and once right after it. The run that follows must give the digest of the undisturbed one and leave nothing but the
artifact. ``make crashes`` does it for every job and for a pipeline; ``make test`` for ``count``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.small_jobs import ANY_BAD, SMALL_JOBS, small_shards

from samebits import pipeline
from samebits.api import run
from samebits.core.digest import canonical_json
from samebits.core.options import RunOptions
from samebits.data.artifact import open_artifact
from samebits.errors import OutputExists

HOOKED = ("fsync", "rename", "replace")
LEFT = (".partial", ".old", ".journal", ".lock")
SHORTER: dict[str, dict[str, Any]] = {  # every step syncs a checkpoint: two tell as much as six
    "graph_train": {"steps": 2, "warmup": 1},
    "lm": {"steps": 2, "validate_every": 1, "sample_tokens": 4},
}
RECIPE = """
[stage.words]
job = "count"
inputs = ["{samples}"]
[stage.tokens]
job = "tokens build"
inputs = ["{samples}"]
tokenizer = "byte"
"""
Make = Callable[[Path], str]  # makes an output and returns its digest


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


def maker_of(name: str, inputs: Path) -> Make:
    """Return what runs a job of the table, or a pipeline; what its inputs need is made now."""
    if name == "pipeline":
        return _pipeline(inputs)
    job = SMALL_JOBS[name]
    config = replace(job.config(inputs), **SHORTER.get(name, {}))
    options = RunOptions(executor="auto" if job.lockstep else "serial", workers="1", max_bad=ANY_BAD)

    def make(output: Path) -> str:
        with suppress(OutputExists):  # a run that was killed after its last rename: the output is whole
            run(name, config, output=output, options=options)
        return open_artifact(output).digest

    return make


def _pipeline(inputs: Path) -> Make:
    recipe = inputs / "recipe.toml"
    samples = Path(pipeline.__file__).parents[1] / "samples"
    recipe.write_text(RECIPE.format(samples=samples), encoding="utf-8")
    options = RunOptions(executor="serial", workers="1", max_bad=ANY_BAD)

    def make(output: Path) -> str:
        return pipeline.run(pipeline.load(recipe, output=output), options=options).digest

    return make


def run_in_child(make: Make, output: Path, hook: Hook, report: Path) -> int:
    """Run in a forked process under a hook; return its exit status, negative for a signal.

    The report holds the digest, then the names of the points.
    """
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for name in HOOKED:
                setattr(os, name, hook.around(name, getattr(os, name)))
            with small_shards():
                digest = make(output)
            report.write_text("\n".join([digest, *hook.seen]))
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def crash_everywhere(name: str, place: Path) -> tuple[int, list[str]]:
    """Return how many kills there were, and what went wrong at which."""
    inputs, reference, report = place / "inputs", place / "reference" / name, place / "report"
    inputs.mkdir()
    reference.parent.mkdir()
    with small_shards():
        make = maker_of(name, inputs)
    if run_in_child(make, reference, Hook(-1, after=False), report) != 0:
        return 0, [f"{name}: the undisturbed run failed"]
    digest, *points = report.read_text().split()
    wrong = []
    for at, point in enumerate(points):
        for after in (False, True):
            here = place / "run"
            shutil.rmtree(here, ignore_errors=True)
            here.mkdir()
            words = f"{name}: {'after' if after else 'before'} {point} {at}"
            ended = run_in_child(make, here / name, Hook(at, after=after), report)
            if ended != -signal.SIGKILL:
                wrong.append(f"{words}: ended with {ended}, was not killed")
            elif run_in_child(make, here / name, Hook(-1, after=False), report) != 0:
                wrong.append(f"{words}: the run that follows failed")
            elif (found := report.read_text().split()[0]) != digest:
                wrong.append(f"{words}: another digest, {found}")
            elif left := [path.name for path in here.rglob("*") if path.name.endswith(LEFT)]:
                wrong.append(f"{words}: left {left}")
    return 2 * len(points), wrong


def keep(record: Path, name: str, kills: int, wrong: int) -> None:
    """Put the numbers of one job into a record, beside those of others, and add them up."""
    jobs = json.loads(record.read_bytes())["jobs"] if record.exists() else {}
    jobs[name] = {"kills": kills, "wrong": wrong}
    total = {"jobs": len(jobs), **{key: sum(job[key] for job in jobs.values()) for key in ("kills", "wrong")}}
    record.write_bytes(canonical_json({"name": "crashes", "jobs": jobs, "total": total}))


def main() -> int:
    """Crash the named jobs, or all; print a line for each; return 1 if anything went wrong."""
    known = [*sorted(SMALL_JOBS), "pipeline"]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, help="JSON file for the numbers; keeps those of other jobs")
    parser.add_argument("jobs", nargs="*", help=f"of {', '.join(known)}")
    asked = parser.parse_args()
    kills: dict[str, int] = {}
    wrong: list[str] = []
    for name in asked.jobs or known:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as scratch:
            kills[name], found = crash_everywhere(name, Path(scratch))
        wrong += found
        print(
            f"{name:16} {kills[name]:5} kills, {len(found)} wrong, {time.monotonic() - began:.0f} s",
            flush=True,
        )
        for line in found[:10]:
            print(f"  {line}", flush=True)
        if asked.record:
            keep(asked.record, name, kills[name], len(found))
    print(f"{sum(kills.values())} kills at every rename and sync of {len(kills)} jobs, {len(wrong)} wrong")
    return 1 if wrong or not all(kills.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
