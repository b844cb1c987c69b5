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

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Take ``plan tokens build`` for ``plan tokens``: people write the command whose plan they want to see."""
        from samebits.pipeline.recipe import COMMANDS

        job = COMMANDS.get(" ".join(args[:2]))
        return super().resolve_command(ctx, args if job is None else [job, *args[2:]])


def _plan_command(job_name: str) -> click.Command:
    from samebits.jobs import get_job

    job = get_job(job_name)

    def callback(**values: Any) -> None:
        _show_plan(job_name, values)

    parameters = [
        *flags.job_inputs(job_name),
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
        example=f"samebits plan {job_name} {flags.JOB_ARGUMENTS[job_name]}",
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
        click.echo(f"{name:14} {value}")
    click.echo(f"{'sources':14} {len(planned.source_names):,}")
    click.echo(f"{'units':14} {planned.shards.num_units:,}")
    click.echo(f"{'digest':14} {planned.digest}")


command = PlanGroup(
    "plan", help="Show what a job would do, and the digest of that plan. Nothing is computed."
)
command.example = "samebits plan count book.txt"
