"""samebits verify."""

from __future__ import annotations

import json
from typing import Any

import click

from samebits.cli import flags
from samebits.cli.sections import PRINT, WHAT, SectionedCommand, SectionedOption
from samebits.errors import ConfigError

__all__ = ["command"]


def _verify(**values: Any) -> None:
    from samebits.verification import artifacts

    artifact = artifacts.verify(values["folder"])
    said = [f"{values['folder']}: all {len(artifact.files)} files match the manifest"]
    if values["against"]:
        artifacts.compare(values["folder"], values["against"])
        said.append(f"{values['against']}: the same bytes")
    if values["replay"]:
        said += _replayed(values)
    if values["rerun"]:
        options = flags.build_options(values, None)
        compared = artifacts.rerun(
            values["folder"],
            num_shards=_num_shards(values["rerun"]),
            inputs=values["inputs"],
            options=options,
            allow_code=values["allow_code"],
        )
        said.append(f"{compared} shard{'' if compared == 1 else 's'} computed again: the same digests")
    if values["as_json"]:
        click.echo(json.dumps({"ok": True, "digest": artifact.digest, "checked": said}))
        return
    for line in said:
        click.echo(line)
    click.echo(f"digest {artifact.digest}")


def _replayed(values: dict[str, Any]) -> list[str]:
    from samebits.verification.replays import replay

    start, stop = _steps(values["replay"])
    report = replay(
        values["folder"], start, stop, inputs=values["inputs"], options=flags.build_options(values, None)
    )
    where = f"the checkpoint after {report.first} steps" if report.first else "the first values"
    return [
        f"steps {report.first}:{report.stop} computed again from {where}: the same losses, norms and checksums",
        *report.checked,
        f"state after {report.stop} steps {report.state}",
    ]


def _steps(text: str) -> tuple[int, int]:
    start, sign, stop = text.partition(":")
    if sign and start.isdecimal() and stop.isdecimal():
        return int(start), int(stop)
    raise ConfigError(f"--replay is {text!r}", hint="give FROM:TO, e.g. 120:140 for steps 120 to 139")


def _num_shards(text: str) -> int | None:
    if text == "all":
        return None
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise ConfigError(f"--rerun is {text!r}", hint="give a number of shards, or all")


command = SectionedCommand(
    "verify",
    callback=_verify,
    params=[
        click.Argument(["folder"], metavar="DIR"),
        SectionedOption(
            ["--against"], metavar="DIR", section=WHAT, help="another artifact that must have the same bytes"
        ),
        SectionedOption(
            ["--rerun"],
            metavar="K|all",
            section=WHAT,
            help="recompute K shards, or the whole job, and compare",
        ),
        SectionedOption(
            ["--allow-code"],
            is_flag=True,
            section=WHAT,
            help="let --rerun import and run code that the artifact names and samebits does not have",
        ),
        SectionedOption(
            ["--replay"],
            metavar="FROM:TO",
            section=WHAT,
            help="recompute these steps of a training run and compare each with its log",
        ),
        SectionedOption(
            ["--input", "inputs"],
            metavar="PATH",
            multiple=True,
            section=WHAT,
            help="where the inputs are now, for --replay and --rerun; by default where record.json says",
        ),
        SectionedOption(["--json", "as_json"], is_flag=True, section=PRINT, help="print the result as JSON"),
        *[flag for flag in flags.run_flags() if flag.name in ("workers", "executor", "address")],
    ],
    help="Check every file of an artifact against its manifest. Exit code 3 names the first difference.",
    example="""
    samebits verify counts
    samebits verify counts --against other-counts
    samebits verify counts --rerun 5 --workers 3
    samebits verify model --replay 120:140 --workers 2
    """,
)
