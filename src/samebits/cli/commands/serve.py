"""samebits serve: watch runs, compare them, look into what they made, try the models; in a browser or by JSON."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from samebits import __version__
from samebits.cli.sections import OTHER, SectionedCommand, SectionedOption
from samebits.errors import ConfigError, MissingExtra

__all__ = ["command"]

LEAST_TOKEN = 16


def _serve(folder: str, host: str, port: int | None, token: str, *, open_page: bool) -> None:
    for package in ("starlette", "uvicorn", "jinja2"):
        if find_spec(package) is None:
            raise MissingExtra(package, extra="serve", needed_for="samebits serve")
    if token and (
        len(token) < LEAST_TOKEN
        or not token.isascii()
        or not token.isprintable()
        or set(token) & set(' ";,\\')
    ):
        raise ConfigError(
            "the token is too short, or not plain text", hint=f"use {LEAST_TOKEN} or more letters and digits"
        )
    from samebits.serve.server import run

    def ready(url: str) -> None:
        click.echo(url)
        click.echo(f"serving the runs in {folder}; press Ctrl-C to stop", err=True)
        if open_page:
            _open(url)

    run(Path(folder), host=host, port=port, token=token, version=__version__, ready=ready)


def _open(url: str) -> None:
    """Show the page, where there is a screen and a browser to show it."""
    import os
    import sys
    import webbrowser

    has_screen = sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if sys.stdout.isatty() and has_screen:
        webbrowser.open(url)


command = SectionedCommand(
    "serve",
    callback=_serve,
    params=[
        click.Argument(["folder"], default=".", metavar="[FOLDER]"),
        SectionedOption(
            ["--host"],
            default="127.0.0.1",
            metavar="ADDRESS",
            section=OTHER,
            help="address to listen on; if other machines can reach it, every request needs the token [127.0.0.1]",
        ),
        SectionedOption(
            ["--port"],
            type=click.IntRange(0, 65535),
            metavar="N",
            section=OTHER,
            help="port; 0 takes any free one [the first free one from 8722 on]",
        ),
        SectionedOption(
            ["--token"],
            default="",
            envvar="SAMEBITS_SERVE_TOKEN",
            metavar="TEXT",
            section=OTHER,
            help="secret that every request must send; generated if one is needed",
        ),
        SectionedOption(
            ["--open/--no-open", "open_page"],
            default=True,
            section=OTHER,
            help="open the page in a browser [on]",
        ),
    ],
    help="Show the runs below a folder in a web page while they run, compare them, look into their files and try the models. It only "
    "reads. Programs get the same as JSON, and language models answer the completions call of OpenAI's clients.",
    example="""
    samebits serve runs
    samebits serve runs --port 8080 --no-open
    samebits serve runs --host 0.0.0.0
    """,
)
