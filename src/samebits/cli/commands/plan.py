"""samebits plan: what would be done, and its digest."""

from __future__ import annotations

import json
from typing import Any

import click

from samebits.cli import flags
from samebits.cli.job_command import ask_job
from samebits.cli.sections import PRINT, SectionedCommand, SectionedGroup, SectionedOption

__all__ = ["command"]


class PlanGroup(SectionedGroup):
    """``samebits plan JOB``: a command for each job, made when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the jobs."""
        from samebits.jobs import JOBS

        return list(JOBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command for one job."""
        from samebits.jobs import JOBS

        return _plan_command(cmd_name) if cmd_name in JOBS else None


def _plan_command(job_name: str) -> click.Command:
    from samebits.jobs import get_job

    job = get_job(job_name)

    def callback(**values: Any) -> None:
        _show_plan(job_name, values)

    parameters = [
        flags.input_argument(),
        flags.config_file_flag(),
        *flags.config_flags(job.Config),
        SectionedOption(["--json", "as_json"], is_flag=True, section=PRINT, help="print the plan as JSON"),
    ]
    return SectionedCommand(
        job_name,
        callback=callback,
        params=parameters,
        help=f"Show what '{job_name}' would do ({job.summary}), and the digest of that plan. Nothing is computed.",
        short_help=job.summary,
        example=f"samebits plan {job_name} corpus/*.txt",
    )


def _show_plan(job_name: str, values: dict[str, Any]) -> None:
    from samebits import api

    config, _ = ask_job(job_name, values)
    planned = api.plan(job_name, config)
    if values["as_json"]:
        click.echo(
            json.dumps({"digest": planned.digest, **planned.fields(), "sources": list(planned.source_names)})
        )
        return
    for name, value in planned.fields().items():
        click.echo(f"{name:16} {value}")
    click.echo(f"{'sources':16} {len(planned.source_names)}")
    click.echo(f"{'units':16} {planned.shards.num_units}")
    click.echo(f"{'digest':16} {planned.digest}")


command = PlanGroup(
    "plan", help="Show what a job would do, and the digest of that plan. Nothing is computed."
)
command.example = "samebits plan count book.txt"
