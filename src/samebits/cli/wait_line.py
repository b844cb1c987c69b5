"""The line that says what is waited for before a run begins: redrawn on a terminal, a plain line now and then elsewhere."""

from __future__ import annotations

import sys

import click

from samebits.core.light_dataclass import dataclass
from samebits.core.observing import clock, waiting

__all__ = ["show_waits"]

PLAIN_SECONDS = 10.0
QUIET = ("-q", "--quiet", "--no-progress")


def show_waits(arguments: list[str]) -> None:
    """Listen to what is waited for, unless the command is to be quiet."""
    waiting.listener = None if any(flag in arguments for flag in QUIET) else _Line()


@dataclass
class _Line:
    """State: whether a line is on the terminal, and when the last plain one was written."""

    drawn: bool = False
    written: float = 0.0

    def __call__(self, line: str) -> None:
        if sys.stderr.isatty():
            if line or self.drawn:
                click.echo("\r\x1b[K" + line, nl=False, err=True)
            self.drawn = bool(line)
        elif line and (not self.written or clock.seconds() - self.written >= PLAIN_SECONDS):
            self.written = clock.seconds()
            click.echo(line, err=True)
