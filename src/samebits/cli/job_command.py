"""The command of a job, made from its Config: inputs, output, flags, progress, summary, record."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import click

from samebits.cli import flags
from samebits.cli.main_flags import main_flags
from samebits.cli.sections import LateCommand
from samebits.core.observing.events import Event, Observer, fan_out
from samebits.core.observing.record import RunRecord
from samebits.core.options import RunOptions
from samebits.progress.line import make_progress

__all__ = ["ask_job", "job_command", "observing"]

Summarize = Callable[[RunRecord], None]
Watch = Callable[[dict[str, Any]], AbstractContextManager[Observer]]


def job_command(
    job_name: str,
    *,
    text: str,
    example: str,
    summarize: Summarize,
    name: str = "",
    extra: Sequence[click.Parameter] = (),
    watch: Watch | None = None,
    takes_inputs: bool = True,
) -> click.Command:
    """Make the command that runs a job.

    Args:
        job_name: Key in the table of jobs.
        text: What it does, in a sentence or two.
        example: Command lines that work.
        summarize: Prints the result for people: data to stdout, words to stderr.
        name: Name of the command when it is not the job's, e.g. ``train``.
        extra: Flags of this command alone.
        watch: Context that gives the observer, for commands that show more than progress.
        takes_inputs: False for a job that makes its data itself.
    """
    from samebits.jobs import get_job

    def callback(**values: Any) -> None:
        config, options = ask_job(job_name, values)
        values |= _voice(job_name, options)
        record = _run(job_name, config, options, values, watch or observing)
        if values["as_json"]:
            click.echo(json.dumps(dataclasses.asdict(record), ensure_ascii=False))
        elif not values["quiet"]:
            summarize(record)
            _say_where(record, values["output"])

    def make_params() -> list[click.Parameter]:
        return [
            *([flags.input_argument()] if takes_inputs else []),
            flags.output_flag(),
            flags.config_file_flag(),
            *flags.config_flags(get_job(job_name).Config),
            *flags.run_flags(),
            *flags.print_flags(),
            *extra,
        ]

    return LateCommand(
        name or job_name,
        callback=callback,
        make_params=make_params,
        help=text,
        example=example,
        shown=main_flags(job_name),
    )


def ask_job(job_name: str, values: dict[str, Any]) -> tuple[Any, Any]:
    """Return the Config and RunOptions that a command line asks for."""
    from samebits.jobs import get_job

    file = values.get("config_file")
    config = flags.build_config(get_job(job_name).Config, job_name, values, file)
    return config, flags.build_options(values, file)


def _voice(job_name: str, options: RunOptions) -> dict[str, Any]:
    """Return what silences a rank of torchrun above 0: rank 0 speaks for all, and a log file has one writer."""
    from samebits import api

    ranks = api.ranks_of(job_name, options)
    if ranks is None or ranks.writes:
        return {}
    return {"quiet": True, "progress": False, "as_json": False, "log_file": None}


def _run(job_name: str, config: Any, options: RunOptions, values: dict[str, Any], watch: Watch) -> RunRecord:
    from samebits import api

    with watch(values) as observer:
        return api.run(
            job_name, config, output=values["output"], options=options, observer=observer, progress=False
        )


@contextmanager
def observing(values: dict[str, Any]) -> Iterator[Observer]:
    """Show progress and write the log file while the body runs."""
    progress = make_progress(show=values["progress"], quiet=values["quiet"], verbose=values["verbose"])
    if not values["log_file"]:
        with progress:
            yield progress
        return
    with progress, Path(values["log_file"]).open("wb") as file:

        def log(event: Event) -> None:
            from samebits.data.event_log import event_line

            file.write(event_line(event))

        yield fan_out(progress, log)


def _say_where(record: RunRecord, output: str) -> None:
    joined = ", " if record.why_workers.endswith(")") else "; "
    seconds = f"{record.seconds:.2f}" if record.seconds < 1 else f"{record.seconds:,.1f}"
    click.echo(f"{record.why_workers}{joined}{seconds} s", err=True)
    click.echo(f"digest {record.artifact_digest}", err=True)
    click.echo(f"written to {output}", err=True)
