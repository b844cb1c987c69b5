"""samebits bench: parity and speed-up of any job on any input."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samebits.cli import flags
from samebits.cli.job_command import ask_job
from samebits.cli.sections import OTHER, PRINT, WHAT, SectionedCommand, SectionedGroup, SectionedOption
from samebits.core.observing.units import show_size
from samebits.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from samebits.bench.cell import Cell
    from samebits.bench.parity import ParityRow
    from samebits.bench.speedup import SpeedupReport

__all__ = ["group"]

Action = Callable[[str, dict[str, Any], dict[str, Any]], None]

SHORT_SECONDS = 0.5
EVERYWHERE = "serial,threads,processes"


class PerJobGroup(SectionedGroup):
    """A group with one command for each job, made when it is asked for."""

    def __init__(
        self,
        name: str,
        *,
        text: str,
        short: str,
        example: str,
        action: Action,
        params: Callable[[], list[click.Parameter]],
        others: Sequence[click.Command] = (),
    ) -> None:
        super().__init__(name, help=text, short_help=short)
        self._others = {str(command.name): command for command in others}
        self.example = example
        self._action = action
        self._params = params

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the jobs, then what is no job."""
        from samebits.jobs import JOBS

        return [*JOBS, *self._others]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command for one job."""
        from samebits.jobs import JOBS, get_job

        if cmd_name not in JOBS:
            return self._others.get(cmd_name)
        job = get_job(cmd_name)

        def callback(**values: Any) -> None:
            config, _ = ask_job(cmd_name, values)
            self._action(cmd_name, _as_request(config), values)

        return SectionedCommand(
            cmd_name,
            callback=callback,
            params=[
                *flags.job_inputs(cmd_name),
                flags.config_file_flag(),
                *flags.config_flags(job.Config),
                *self._params(),
                SectionedOption(
                    ["--json", "as_json"], is_flag=True, section=PRINT, help="print the result as JSON"
                ),
            ],
            help=self.help,
            short_help=job.summary,
            example=f"samebits bench {self.name} {cmd_name} {flags.JOB_ARGUMENTS[cmd_name]}",
        )


def _as_request(config: Any) -> dict[str, Any]:
    from samebits.core.config import settings_of

    values = {setting.name: getattr(config, setting.name) for setting in settings_of(type(config))}
    values["inputs"] = [
        str(Path(path).resolve()) if Path(path).exists() else path for path in values["inputs"]
    ]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _numbers(text: str, flag: str) -> list[int]:
    items = text.split(",")
    if not all(item.isdecimal() and int(item) > 0 for item in items):
        raise ConfigError(f"{flag} is {text!r}", hint="write it like 1,2,4")
    return [int(item) for item in items]


def _names(text: str, flag: str, known: Iterable[str]) -> list[str]:
    items = text.split(",")
    for item in items:
        if item not in known:
            raise ConfigError(f"{flag} has {item!r}", hint=did_you_mean(item, known))
    return items


def _parity_params() -> list[click.Parameter]:
    flag = SectionedOption
    return [
        flag(
            ["--executors"],
            default="",
            metavar="NAMES",
            section=OTHER,
            help="executors of the grid [serial,threads,processes; lockstep for jobs that train]",
        ),
        flag(
            ["--worker-counts"],
            default="1,2,3,7",
            metavar="N,...",
            section=OTHER,
            help="workers of the grid [1,2,3,7]",
        ),
        flag(
            ["--hash-seeds"],
            default="0,1,random",
            metavar="S,...",
            section=OTHER,
            help="hash seeds [0,1,random]",
        ),
    ]


def _grid(values: dict[str, Any], executors: str) -> list[Cell]:
    from samebits.bench.parity import make_grid
    from samebits.executors import EXECUTORS

    return make_grid(
        _names(values["executors"] or executors, "--executors", EXECUTORS),
        _numbers(values["worker_counts"], "--worker-counts"),
        values["hash_seeds"].split(","),
    )


def _tell(values: dict[str, Any]) -> Callable[[ParityRow], None]:
    def tell(row: ParityRow) -> None:
        if not values["as_json"]:
            cell = row.cell
            click.echo(
                f"{cell.executor:12} {cell.workers:>3}  seed {cell.hash_seed:8} {row.seconds:7.2f} s  {row.digest[:16]}"
            )

    return tell


def _say_equal(rows: list[ParityRow], values: dict[str, Any]) -> None:
    if values["as_json"]:
        runs = [{"cell": row.cell.label, "digest": row.digest, "seconds": row.seconds} for row in rows]
        click.echo(json.dumps({"equal": True, "digest": rows[0].digest, "runs": runs}))
    else:
        click.echo(f"{len(rows)} runs, one digest\ndigest {rows[0].digest}")


def _executors_of(job: str) -> str:
    """Return where a job is to be tried: a job that trains has one place, whatever it is called."""
    from samebits.jobs import get_job

    return "lockstep" if get_job(job).default_executor == "lockstep" else EVERYWHERE


def _parity(job: str, config: dict[str, Any], values: dict[str, Any]) -> None:
    from samebits.bench.parity import check_parity

    _say_equal(check_parity(job, config, _grid(values, _executors_of(job)), tell=_tell(values)), values)


def _pipeline_parity(**values: Any) -> None:
    from samebits.bench.pipeline_parity import check_pipeline_parity

    recipe, changes = Path(values["recipe"]), values["changes"]
    _say_equal(check_pipeline_parity(recipe, changes, _grid(values, EVERYWHERE), tell=_tell(values)), values)


def _speedup_params() -> list[click.Parameter]:
    flag = SectionedOption
    return [
        flag(
            ["--worker-counts"],
            default="1,2",
            metavar="N,...",
            section=OTHER,
            help="workers to compare [1,2]",
        ),
        flag(["--repeats"], default=5, metavar="N", section=OTHER, help="how often each is measured [5]"),
        flag(
            ["-x", "--executor"],
            default="auto",
            metavar="NAME",
            section=OTHER,
            help="where tasks run [the job's own]",
        ),
        flag(["-o", "--output"], metavar="FILE", section=OTHER, help="write all records to this JSON file"),
    ]


def _speedup(job: str, config: dict[str, Any], values: dict[str, Any]) -> None:
    from samebits.bench.speedup import measure_speedup
    from samebits.core.digest import canonical_json

    worker_counts = _numbers(values["worker_counts"], "--worker-counts")
    report = measure_speedup(
        job,
        config,
        executor=values["executor"],
        worker_counts=worker_counts,
        repeats=values["repeats"],
        tell=lambda text: click.echo(text, err=True),
    )
    if values["output"]:
        Path(values["output"]).write_bytes(canonical_json(report.as_dict()))
    if values["as_json"]:
        click.echo(json.dumps(report.as_dict()))
    else:
        _show_speedup(report, worker_counts)


def _show_speedup(report: SpeedupReport, worker_counts: list[int]) -> None:
    click.echo(
        f"{'workers':>7} {'median':>9} {'range':>17} {'speed-up':>9} {'efficiency':>10} {'peak memory':>12}"
    )
    for row in report.rows:
        span = f"{row.fastest:.2f}..{row.slowest:.2f} s"
        click.echo(
            f"{row.workers:7} {row.seconds:7.2f} s {span:>17} {row.speedup:8.2f}x {row.efficiency:10.0%} "
            f"{show_size(row.peak_rss):>12}"
        )
    most = report.rows[-1].workers
    if most < max(worker_counts):
        click.echo(f"note: the input has {most} shard{'' if most == 1 else 's'}; more workers idle", err=True)
    if report.rows[0].seconds < SHORT_SECONDS:
        click.echo(
            f"note: {report.rows[0].seconds:.2f} s is mostly start-up; measure an input that takes a second or more",
            err=True,
        )
    elif len(report.rows) > 1:
        likely = ", ".join(f"{workers} workers {report.forecast(workers):.1f}x" for workers in (4, 8, 12))
        click.echo(f"serial share {report.serial_share:.1%} by Amdahl's law; it would give {likely}")


group = SectionedGroup(
    "bench", help="Prove that results are equal, and measure how much faster more workers are."
)
group.example = """
samebits bench parity count book.txt
samebits bench speedup count book.txt --worker-counts 1,2
"""
group.add_command(
    PerJobGroup(
        "parity",
        text="Run a job over executors, worker counts and hash seeds; exit code 3 if any digest differs.",
        short="one digest over executors, worker counts and hash seeds",
        example="samebits bench parity count book.txt",
        action=_parity,
        params=_parity_params,
        others=[
            SectionedCommand(
                "pipeline",
                callback=_pipeline_parity,
                params=[
                    click.Argument(["recipe"], metavar="RECIPE.toml"),
                    SectionedOption(
                        ["--set", "changes"],
                        multiple=True,
                        metavar="STAGE.KEY=VALUE",
                        section=WHAT,
                        help="change a setting of the recipe; may be given several times",
                    ),
                    *_parity_params(),
                    SectionedOption(
                        ["--json", "as_json"], is_flag=True, section=PRINT, help="print the result as JSON"
                    ),
                ],
                help="Run a whole recipe over the grid; exit code 3 names the first stage that differs.",
                short_help="all stages of a recipe",
                example="samebits bench parity pipeline recipe.toml --worker-counts 1,2,3",
            )
        ],
    )
)
group.add_command(
    PerJobGroup(
        "speedup",
        text="Measure a job with several worker counts, interleaved: medians, efficiency, memory, Amdahl's law.",
        short="how much faster several worker counts are",
        example="samebits bench speedup count book.txt --worker-counts 1,2",
        action=_speedup,
        params=_speedup_params,
    )
)


def _langid(rows: int, output: str) -> None:
    from samebits.bench.langid_data import write_seed_rows

    if rows < 1:
        raise ConfigError(f"--rows is {rows}", hint="use 1 or more")
    write_seed_rows(Path(output), rows)
    click.echo(f"{rows:,} rows written to {output}", err=True)


group.add_command(
    SectionedCommand(
        "langid",
        callback=_langid,
        params=[
            SectionedOption(
                ["--rows"], default=200_000, metavar="N", section=OTHER, help="number of rows [200000]"
            ),
            SectionedOption(
                ["-o", "--output"], required=True, metavar="FILE", section=OTHER, help="file to write"
            ),
        ],
        help="Write the seed benchmark's rows: random words with typos in three languages, the same rows every time.",
        short_help="write the rows of the language benchmark",
        example="samebits bench langid --rows 20000 -o seed.jsonl",
    )
)
