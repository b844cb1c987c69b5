"""Flags that several commands of the room share."""

from __future__ import annotations

import click

from samebits.cli.sections import WHAT, SectionedOption

__all__ = ["corpus_flags"]


def corpus_flags(*, unit: str) -> list[click.Parameter]:
    """Return the flags that say where texts and languages are in a corpus."""
    return [
        SectionedOption(
            ["--unit"],
            type=click.Choice(["file", "line"]),
            default=unit,
            section=WHAT,
            help=f"what one text of a .txt file is [{unit}]",
        ),
        SectionedOption(
            ["--text-column"],
            default="text",
            metavar="NAME",
            section=WHAT,
            help="column with the text [text]",
        ),
        SectionedOption(
            ["--lang-column"],
            default="lang",
            metavar="NAME",
            section=WHAT,
            help="column with the language [lang]",
        ),
    ]
