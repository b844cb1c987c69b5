r"""What reaches a terminal: control characters from texts, labels and file names are shown, never obeyed.

A terminal takes ``ESC ]0;`` in a text as an order to rename its window, and worse. So on a terminal, and only there,
every control character but the line feed and the tab is written as ``\\x1b``, and so are the characters that turn the
direction of writing round, which make ``txt.exe`` look like another name. What goes into a pipe or a file stays as
it is: it is data, and tables are separated by tabs there. The sequence that the progress line begins with, to be drawn over itself, is our own and passes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

import click

from samebits.core.observing.units import wrap_line

__all__ = ["VisibleControls", "echo_error", "echo_row", "echo_rows", "guard_terminals", "visible"]

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
REDRAW = ("\r\x1b[2K", "\r\x1b[K")


def visible(text: str) -> str:
    r"""Write control characters as what they are.

    >>> print(visible("a\x1b]0;b\x07 c"))
    a\x1b]0;b\x07 c
    """
    return CONTROL.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


class VisibleControls:
    """A text stream that shows control characters; everything but ``write`` is the stream's own."""

    def __init__(self, stream: TextIO, *, redraws: bool) -> None:
        self._stream = stream
        self._redraws = redraws

    def write(self, text: Any) -> int:
        """Write a text; with ``redraws`` it may begin by clearing the line."""
        if not isinstance(text, str):
            return self._stream.write(text)  # which refuses it in its own words
        start = next((one for one in REDRAW if self._redraws and text.startswith(one)), "")
        self._stream.write(start + visible(text[len(start) :]))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write several texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def guard_terminals() -> None:
    """Put the guard before standard output and standard error where they are terminals."""
    if sys.stdout is not None and sys.stdout.isatty():
        sys.stdout = VisibleControls(sys.stdout, redraws=False)
    if sys.stderr is not None and sys.stderr.isatty():
        sys.stderr = VisibleControls(sys.stderr, redraws=True)


def echo_rows(rows: Iterable[Sequence[str]]) -> None:
    """Print a table: columns in line on a terminal, separated by tabs in a pipe or a file."""
    table = [list(row) for row in rows]
    columns = max(map(len, table), default=0)
    widths = [max((len(row[at]) for row in table if at < len(row)), default=0) for at in range(columns)]
    for row in table:
        echo_row(row, widths)


def echo_row(cells: Sequence[str], widths: Sequence[int]) -> None:
    """Print one row of a table whose columns are at least this wide on a terminal."""
    if sys.stdout is not None and sys.stdout.isatty():
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=False)).rstrip())
    else:
        click.echo("\t".join(cells))


def echo_error(line: str) -> None:
    """Print a line to standard error; on a terminal it breaks between words."""
    if sys.stderr is not None and sys.stderr.isatty():
        indent = len(line.partition(": ")[0]) + 2
        line = "\n".join(wrap_line(one, _columns(), indent=indent) for one in line.split("\n"))
    click.echo(line, err=True)


def _columns() -> int:
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80  # 0 where nobody told the terminal
    except (OSError, ValueError):
        return 80
