"""Writes docs/reference/cli.md from the live commands, so that the reference cannot drift from the code.

Flags that every job has are listed once, and so are the settings of a job that ``plan`` and ``bench`` take as well.

``python -m samebits.cli.commands.reference docs/reference/cli.md`` writes the page; ``make docs`` calls it, and a test compares the
committed page with what ``render`` gives now.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import click

from samebits.cli.sections import ALL, OTHER, SECTIONS, WHAT
from samebits.jobs import JOBS

__all__ = ["commands", "context_of", "of_a_job", "render"]

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
| 130 | interrupted; finished parts are kept, and the same command continues |

Data goes to standard output, everything else to standard error. With `--json` an error is an object with the keys
`error`, `kind` and `hint`.
"""
SHARED_HEAD = """## Flags of every job

Commands that run a job and write an output folder take these flags, and say so below instead of listing them again.
"""
SHARED_NOTE = "Takes the [flags of every job](#flags-of-every-job) as well.\n"
GRID_NOTE = """Each job takes the settings of its own command ("What to compute") and these flags:
"""
MODEL = "samebits count"  # the command whose flags are compared with those of the others
#: Groups with a command for every job, which takes that job's settings
GRIDS = ("samebits plan", "samebits bench parity", "samebits bench speedup")


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
    known = dict(commands())
    shared = {row for row in _rows(MODEL, known[MODEL]) if row[0] != WHAT and "--output" not in row[1]}
    sections = [HEAD, f"{SHARED_HEAD}\n```text\n{_block(shared, _rows(MODEL, known[MODEL]))}```\n"]
    for name, command in known.items():
        if of_a_job(name):
            continue
        hidden = shared if shared <= set(_rows(name, command)) else set()
        text = f"## {name}\n\n```text\n{help_of(name, command, hidden)}```\n"
        sections.append(text + ("\n" + SHARED_NOTE if hidden else ""))
        if name in GRIDS:
            sections.append(
                _grid({one: known[one] for one in known if of_a_job(one) and one.startswith(name)})
            )
    return "\n".join(sections)


def of_a_job(name: str) -> bool:
    """Say whether a command is that of one job in ``plan`` or ``bench``, which the page lists with its group.

    >>> of_a_job("samebits plan count"), of_a_job("samebits count")
    (True, False)
    """
    group, _, last = name.rpartition(" ")
    return group in GRIDS and last in JOBS


Row = tuple[str, str, str]  # section, flag, help


def _rows(name: str, command: click.Command) -> list[Row]:
    """Return every flag of a command as its help shows it."""
    with context_of(name, command) as context:
        options = [param for param in command.get_params(context) if isinstance(param, click.Option)]
        found = [(getattr(option, "section", OTHER), option.get_help_record(context)) for option in options]
    return [(section, *record) for section, record in found if record]


def _block(chosen: Collection[Row], order: list[Row]) -> str:
    """Write flags in their sections."""
    formatter = click.HelpFormatter(width=100, max_width=100)
    for section in SECTIONS:
        rows = [
            (flag, text) for where, flag, text in order if where == section and (where, flag, text) in chosen
        ]
        if rows:
            with formatter.section(section):
                formatter.write_dl(rows)
    return formatter.getvalue().lstrip("\n")


def _grid(jobs: dict[str, click.Command]) -> str:
    """Write what the commands of all jobs in a group share, and their examples."""
    rows = {name: _rows(name, command) for name, command in jobs.items()}
    first = next(iter(rows.values()))
    shared = set(first).intersection(*rows.values())
    examples = "".join(
        f"  {line.strip()}\n"
        for command in jobs.values()
        for line in getattr(command, "example", "").strip().splitlines()
    )
    return f"{GRID_NOTE}\n```text\n{_block(shared, first)}\nExamples:\n{examples}```\n"


def context_of(name: str, command: click.Command) -> click.Context:
    """Return a context in which help looks as on a terminal of 100 columns, whatever this terminal is."""
    return click.Context(
        command,
        info_name=name,
        terminal_width=100,
        max_content_width=100,
        help_option_names=["-h", "--help"],
    )


def help_of(name: str, command: click.Command, hidden: Collection[Row] = ()) -> str:
    """Return a command's help, every flag of it but those that are listed elsewhere."""
    with context_of(name, command) as context:
        context.meta[ALL] = True
        left_out = [
            option
            for option in command.get_params(context)
            if isinstance(option, click.Option)
            and (record := option.get_help_record(context))
            and (getattr(option, "section", OTHER), *record) in hidden
        ]
        for option in left_out:
            option.hidden = True
        try:
            return command.get_help(context) + "\n"
        finally:
            for option in left_out:
                option.hidden = False


def _main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit("usage: python -m samebits.cli.commands.reference docs/reference/cli.md")
    Path(arguments[0]).write_text(render(), encoding="utf-8")


if __name__ == "__main__":
    _main(sys.argv[1:])
