"""samebits charset: train, pairs, learn, detect, convert, decode, eval, export, diff.

Commands are imported when they are used: to detect one file needs neither the trainer nor NumPy.
"""

from __future__ import annotations

from importlib import import_module

import click

from samebits.cli.sections import SectionedGroup

__all__ = ["group"]

_MODULES = {
    "detect": "command_use",
    "convert": "command_use",
    "decode": "command_train",
    "train": "command_train",
    "eval": "command_use",
    "export": "command_train",
    "pairs": "command_train",
    "diff": "command_train",
    "learn": "command_learn",
}


class _CharsetGroup(SectionedGroup):
    """The commands by name, imported one by one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(_MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in _MODULES:
            return None
        module = import_module(f"samebits.charset.{_MODULES[cmd_name]}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command


group = _CharsetGroup(
    "charset", help="Find the encoding of files, convert them, and train models of encodings."
)
group.example = "samebits charset detect letter.txt\n    samebits charset convert letters/ -o utf8/"
