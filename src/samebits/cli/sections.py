"""Help in sections: what changes the result, what never does, and what is printed; then an example."""

from __future__ import annotations

from typing import Any

import click

__all__ = ["HOW", "OTHER", "PRINT", "WHAT", "SectionedCommand", "SectionedGroup", "SectionedOption"]

WHAT = "What to compute (changes the result)"
HOW = "How to compute it (never changes the result)"
PRINT = "What to print"
OTHER = "Other"
SECTIONS = (WHAT, HOW, PRINT, OTHER)


class SectionedOption(click.Option):
    """An option that knows its section."""

    def __init__(self, *args: Any, section: str = OTHER, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help has sections and ends with an example."""

    def __init__(self, *args: Any, example: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section that has options, then the example."""
        params = self.get_params(ctx)
        for section in SECTIONS:
            records = [
                record
                for param in params
                if isinstance(param, click.Option)
                and getattr(param, "section", OTHER) == section
                and (record := param.get_help_record(ctx))
            ]
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)
        _write_example(formatter, self.example)


class SectionedGroup(click.Group):
    """A group that shares the look."""

    example = ""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """End with an example."""
        if self.example:
            _write_example(formatter, self.example)


def _write_example(formatter: click.HelpFormatter, example: str) -> None:
    with formatter.section("Example"):
        for line in example.strip().splitlines():
            formatter.write(f"{' ' * formatter.current_indent}{line.strip()}\n")
