"""samebits completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from samebits.cli.sections import SectionedCommand

__all__ = ["command"]


def _print_script(shell: str) -> None:
    from samebits.cli.app import cli

    completion = get_completion_class(shell)
    assert completion is not None, "click.Choice allows no other shell"
    click.echo(completion(cli, {}, "samebits", "_SAMEBITS_COMPLETE").source())


command = SectionedCommand(
    "completion",
    callback=_print_script,
    params=[click.Argument(["shell"], type=click.Choice(["bash", "zsh", "fish"]))],
    help="Print the script that completes samebits commands and flags in your shell.",
    example='eval "$(samebits completion bash)"',
)
