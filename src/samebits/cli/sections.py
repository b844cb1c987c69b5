"""Help in sections: what changes the result, what never does, and what is printed; then an example."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import click

from samebits.errors import did_you_mean

__all__ = [
    "ALL",
    "HOW",
    "OTHER",
    "OVERRIDE",
    "PRINT",
    "SECTIONS",
    "WHAT",
    "LateCommand",
    "SectionedCommand",
    "SectionedGroup",
    "SectionedOption",
]

WHAT = "What to compute (changes the result)"
HOW = "How to compute it (never changes the result)"
OVERRIDE = "Go on although the bits may change (the result says so)"
PRINT = "What to print"
OTHER = "Other"
ALL = "samebits.help_all"  # key in a context: show every flag
SECTIONS = (WHAT, HOW, OVERRIDE, PRINT, OTHER)


class SectionedOption(click.Option):
    """An option that knows its section."""

    def __init__(self, *args: Any, section: str = OTHER, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.section = section


class SectionedCommand(click.Command):
    """A command whose help has sections and ends with an example."""

    def __init__(self, *args: Any, example: str, shown: Collection[str] = (), **kwargs: Any) -> None:
        """Make a command.

        Args:
            args: For click.
            example: Command lines that work.
            shown: Names of the settings that ``--help`` shows; empty shows all, and there is no ``--help-all``.
            kwargs: For click.
        """
        super().__init__(*args, **kwargs)
        self.example = example
        self.shown = frozenset(shown)
        if shown:
            self.params.append(_help_all())

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Say ``--help`` in the words of the other flags."""
        return _reworded(super().get_help_option(ctx))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error about a missing column names the flag that chose it."""
        from samebits.data.readers.missing_columns import missing_columns_named

        with missing_columns_named(_column_flags(ctx)):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each section that has options, then the example."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        shown = [option for option in options if self._is_shown(ctx, option)]
        for section in SECTIONS:
            records = [
                record
                for param in shown
                if getattr(param, "section", OTHER) == section and (record := param.get_help_record(ctx))
            ]
            if records:
                with formatter.section(section):
                    formatter.write_dl(records)
        _write_example(formatter, self.example)
        if len(shown) < len(options):
            formatter.write_paragraph()
            formatter.write(f"{len(options) - len(shown)} more flags: {ctx.command_path} --help-all\n")

    def _is_shown(self, ctx: click.Context, option: click.Option) -> bool:
        return not self.shown or option.name in self.shown or bool(ctx.meta.get(ALL))


def _column_flags(ctx: click.Context) -> dict[str, str]:
    """Return for each column that was asked for, also by default, the flag that says so."""
    asked = [(param, ctx.params.get(param.name or "")) for param in ctx.command.params]
    return {
        value: "--text-column" if "--text-column" in param.opts else param.opts[-1]
        for param, value in asked
        if (param.name or "").endswith("column") and isinstance(value, str)
    }


class LateCommand(SectionedCommand):
    """A command whose parameters are made when they are asked for: they need the modules of its job.

    A group of several jobs then imports the one that is used.
    """

    def __init__(
        self,
        *args: Any,
        make_params: Callable[[], list[click.Parameter]],
        shown: Collection[str],
        **kwargs: Any,
    ) -> None:
        self._make_params = make_params
        self._params: list[click.Parameter] | None = None
        super().__init__(*args, **kwargs)
        self.shown = frozenset(shown)

    @property
    def params(self) -> list[click.Parameter]:
        """Flags and arguments."""
        if self._params is None:
            self._params = [*self._make_params(), _help_all()]
        return self._params

    @params.setter
    def params(self, value: list[click.Parameter]) -> None:
        """Take no notice of what click sets when the command is made."""


class SectionedGroup(click.Group):
    """A group that shares the look, and says which command was probably meant."""

    example = ""

    def get_help_option(self, ctx: click.Context) -> click.Option | None:
        """Say ``--help`` in the words of the other flags."""
        return _reworded(super().get_help_option(ctx))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order in which they were added: the most used ones first."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their first sentence, whole: click would cut it to one line."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        rows = [(name, command.get_short_help_str(limit=1000)) for name, command in commands if command]
        with formatter.section("Commands"):
            formatter.write_dl([(name, text[:1].lower() + text[1:].removesuffix(".")) for name, text in rows])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or say which one was probably meant."""
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            hint = f"{ctx.command_path} --help" if args[0] == "help" else did_you_mean(args[0], known)
            raise click.UsageError(f"unknown command {args[0]!r}\nhint: {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """End with an example."""
        if self.example:
            _write_example(formatter, self.example)


def _help_all() -> SectionedOption:
    def show(ctx: click.Context, param: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[ALL] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return SectionedOption(
        ["--help-all"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=show,
        help="show every flag and exit",
    )


def _reworded(option: click.Option | None) -> click.Option | None:
    if option is not None:
        option.help = "show this help and exit"
    return option


def _write_example(formatter: click.HelpFormatter, example: str) -> None:
    with formatter.section("Example"):
        for line in example.strip().splitlines():
            formatter.write(f"{' ' * formatter.current_indent}{line.strip()}\n")
