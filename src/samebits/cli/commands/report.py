"""samebits report: one self-contained page about runs and measurements."""

from __future__ import annotations

from pathlib import Path

import click

from samebits.cli.sections import OTHER, SectionedCommand, SectionedOption
from samebits.errors import OutputExists

__all__ = ["command"]


def _report(places: tuple[str, ...], output: str, title: str, *, overwrite: bool) -> None:
    from samebits.data.files import write_atomic
    from samebits.report.page import make_page

    target = Path(output)
    if target.exists() and not overwrite:
        raise OutputExists(f"{target} already exists", hint="add --overwrite to replace it")
    write_atomic(target, make_page([Path(place) for place in places], title=title).encode())
    click.echo(f"written to {target}", err=True)


command = SectionedCommand(
    "report",
    callback=_report,
    params=[
        click.Argument(["places"], nargs=-1, required=True, metavar="DIR|FILE..."),
        SectionedOption(
            ["-o", "--output"],
            default="report.html",
            metavar="FILE",
            section=OTHER,
            help="the page [report.html]",
        ),
        SectionedOption(
            ["--title"],
            default="samebits report",
            metavar="TEXT",
            section=OTHER,
            help="its title [samebits report]",
        ),
        SectionedOption(["--overwrite"], is_flag=True, section=OTHER, help="replace a page that exists"),
    ],
    help="Make one page from artifacts, pipeline folders, speed-up measurements and benchmark records. It needs no network and runs "
    "no script.",
    example="""
    samebits report run/ -o report.html
    samebits report run/ speedup.json benchmarks/records -o report.html
    """,
)
