"""Runs a job in a process of its own, so that tests can kill it: ``python -m tests.faults.driver OUTPUT JSON``.

The JSON object holds ``options``, and either the ``config`` of the slow job or the name of a real ``job``, the folder of its
``inputs``, changed ``settings`` and a ``pause`` for each of its shards; ``large`` lets it keep parts with the workers, and ``dies_in`` names a stage
whose last shard kills its worker once, leaving a mark in the folder ``marks``. Ends like the command line: digest on stdout, or
the error's class and hint on stderr and its exit code.
"""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from tests.faults.slow_job import JOB, Dying, Paused, SlowConfig

from samebits.api import run
from samebits.cli.app import _first_interrupt
from samebits.core.engine import Engine
from samebits.core.job import Job
from samebits.core.observing.events import Event, Warned
from samebits.core.observing.record import RunRecord
from samebits.core.options import RunOptions
from samebits.core.plan import Shard
from samebits.core.ports.executor import Task
from samebits.errors import SamebitsError
from samebits.langid.training import large


def tell(event: Event) -> None:
    """Show warnings, so that a failing test can be understood."""
    if isinstance(event, Warned):
        sys.stderr.write(f"warning: {event.message}\n")
        sys.stderr.flush()


def slow_down(pause: float) -> None:
    """Let every shard of every stage sleep first: long enough to be hit by a fault, without a change of its part."""
    original = Engine.map_ordered

    def map_ordered(
        self: Engine, stage: str, task: Task, shards: Sequence[Shard], **named: Any
    ) -> Iterator[tuple[Shard, Any]]:
        return original(self, stage, Paused(task, pause), shards, **named)

    Engine.map_ordered = map_ordered  # type: ignore[method-assign]


def plant_death(stage: str, marks: str) -> None:
    """Let the worker with the last shard of a stage die, once."""
    original = Engine.map_ordered

    def map_ordered(
        self: Engine, name: str, task: Task, shards: Sequence[Shard], **named: Any
    ) -> Iterator[tuple[Shard, Any]]:
        if name == stage:
            task = Dying(task, shards[len(shards) - 1].index, f"{marks}/died")
        return original(self, name, task, shards, **named)

    Engine.map_ordered = map_ordered  # type: ignore[method-assign,assignment]


def run_small_job(given: dict[str, Any], output: str) -> RunRecord:
    """Run a job of the table."""
    from tests.small_jobs import ANY_BAD, SMALL_JOBS, small_shards

    if given["pause"]:
        slow_down(given["pause"])
    if given.get("dies_in"):
        plant_death(given["dies_in"], given["marks"])
    if given.get("large"):
        large.LEAST_BYTES = dict.fromkeys(large.LEAST_BYTES, 0)
    options = RunOptions(**given["options"], max_bad=ANY_BAD)
    with small_shards():
        config = replace(SMALL_JOBS[given["job"]].config(Path(given["inputs"])), **given["settings"])
        return run(given["job"], config, output=output, options=options, observer=tell)


def run_pipeline(given: dict[str, Any], output: str) -> str:
    """Run the recipe of crash points."""
    from tests.faults.crash_points import maker_of

    return maker_of("pipeline", Path(given["inputs"]))(Path(output))


def run_slow_job(given: dict[str, Any], output: str) -> RunRecord:
    """Run the slow job."""
    job = cast("Job", replace(cast("Any", JOB), floating=given["floating"]))
    options = RunOptions(**given["options"])
    return run(job, SlowConfig(**given["config"]), output=output, options=options, observer=tell)


def main() -> int:
    """Run once."""
    signal.signal(signal.SIGINT, _first_interrupt)  # a second Ctrl-C ends at once, as on the command line
    output, text = sys.argv[1:]
    given = json.loads(text)
    try:
        if given["job"] == "pipeline":
            digest = run_pipeline(given, output)
        else:
            digest = (run_small_job if given["job"] else run_slow_job)(given, output).artifact_digest
    except SamebitsError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return error.exit_code
    sys.stdout.write(digest)
    return 0


if __name__ == "__main__":
    sys.exit(main())
