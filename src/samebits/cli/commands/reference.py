"""Writes docs/reference/cli.md from the live commands, so that the reference cannot drift from the code.

``python -m samebits.cli.commands.reference docs/reference/cli.md`` writes the page; ``make docs`` calls it, and a test compares the
committed page with what ``render`` gives now.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from samebits.cli.sections import ALL

__all__ = ["commands", "context_of", "render"]

HEAD = """# Command line

Generated from the commands by `make docs`: change a command's help, never this page.

Flags under "What to compute" may change the result and are part of its digest; flags under "How to compute it" never
change it. Every flag of these two sections is also a variable and a TOML key: see
[configuration](../guides/configuration.md).

| exit code | meaning |
|---|---|
| 0 | complete |
| 1 | failed; the error names the cause and a hint says what to type |
| 2 | the command line is wrong |
| 3 | two results that must be equal differ, or an artifact is not what its manifest says |
| 130 | interrupted; finished parts are kept, the same command goes on |

Data goes to standard output, everything else to standard error. With `--json` an error is an object with the keys
`error`, `kind` and `hint`.
"""


def commands(
    command: click.Command | None = None, path: tuple[str, ...] = ("samebits",)
) -> Iterator[tuple[str, click.Command]]:
    """Yield every command with its full name, groups before what they hold, in the order of their help."""
    if command is None:
        from samebits.cli.app import cli

        command = cli
    yield " ".join(path), command
    if isinstance(command, click.Group):
        context = context_of(path[-1], command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None, f"{name} is listed but missing"
            yield from commands(inner, (*path, name))


def render() -> str:
    """Return the page."""
    sections = [HEAD]
    for name, command in commands():
        sections.append(f"## {name}\n\n```text\n{help_of(name, command)}```\n")
    return "\n".join(sections)


def context_of(name: str, command: click.Command) -> click.Context:
    """Return a context in which help looks as on a terminal of 100 columns, whatever this terminal is."""
    return click.Context(
        command,
        info_name=name,
        terminal_width=100,
        max_content_width=100,
        help_option_names=["-h", "--help"],
    )


def help_of(name: str, command: click.Command) -> str:
    """Return a command's help, every flag of it."""
    with context_of(name, command) as context:
        context.meta[ALL] = True
        return command.get_help(context) + "\n"


def _main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("usage: python -m samebits.cli.commands.reference docs/reference/cli.md")
    Path(arguments[0]).write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    _main(sys.argv[1:])
