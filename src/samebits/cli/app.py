"""The table of commands, and what happens when one ends: exit codes, errors with hints, Ctrl-C.

Exit codes: 0 complete, 1 failed, 2 usage, 3 parity or verify difference, 130 interrupted.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
import time
from importlib import import_module
from types import FrameType
from typing import NoReturn

import click

from samebits import __version__
from samebits.cli.sections import SectionedGroup
from samebits.cli.terminal import echo_error
from samebits.cli.wait_line import show_waits
from samebits.core.renamed import RENAMED
from samebits.errors import ConfigError, InputError, OutputFailed, SamebitsError, WorkerLost
from samebits.machine.ranks import find_ranks

__all__ = ["COMMANDS", "cli", "run"]

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
GIVE_WAY_SECONDS = 3.0  # longer than ranks need to meet the same error one after the other

# name -> (where it is, one line of help). Nothing is imported before its command is used.
COMMANDS = {
    "count": ("samebits.count.command:command", "count words or character n-grams of a corpus"),
    "tokens": (
        "samebits.tokens.command:group",
        "turn text into memory-mapped tokens; train tokenizers",
    ),
    "charset": (
        "samebits.charset.command:group",
        "find the encoding of files and convert them to UTF-8",
    ),
    "langid": ("samebits.langid.command:group", "name the language of texts; find wrong labels"),
    "lm": ("samebits.lm.command:group", "train a small GPT on every core; sample, evaluate, export"),
    "pipeline": ("samebits.pipeline.command:group", "run a recipe of several jobs; redo only what changed"),
    "graph": (
        "samebits.graph.command:group",
        "compare graphs exactly; train text-to-graph models",
    ),
    "plan": ("samebits.cli.commands.plan:command", "show what a job would do, and the digest of that plan"),
    "verify": (
        "samebits.cli.commands.verify:command",
        "check a result, compare two, or recompute parts of it",
    ),
    "serve": (
        "samebits.cli.commands.serve:command",
        "watch runs in a web page, compare them, try models",
    ),
    "report": (
        "samebits.cli.commands.report:command",
        "make one page with pictures from runs and measurements",
    ),
    "bench": ("samebits.cli.commands.bench:group", "prove that results are equal; measure speed-up"),
    "doctor": (
        "samebits.cli.commands.doctor:command",
        "show cores, thread caps, kernels and extras; run a self-test",
    ),
    "demo": ("samebits.cli.commands.demo:command", "see it work on the sample texts inside the package"),
    "completion": ("samebits.cli.commands.completion:command", "print the completion script for your shell"),
}


class LazyGroup(SectionedGroup):
    """A group whose commands are imported when they are used: ``samebits --help`` loads none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.command(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(
    __version__, "-V", "--version", message="samebits %(version)s", help="show the version and exit"
)
def cli() -> None:
    """Raw text to trained models on every core; the number of workers never changes the result."""


cli.example = """
samebits demo
samebits count book.txt -o counts
samebits verify counts
"""


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    signal.signal(signal.SIGINT, _first_interrupt)
    show_waits(arguments)
    try:
        cli.main(args=arguments, prog_name="samebits", standalone_mode=False)
    except SamebitsError as error:
        _show(error, arguments)
        return error.exit_code
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.ClickException as error:
        _show_usage(error, arguments)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("\nerror: interrupted", err=True)
        return 130
    except (BrokenPipeError, SystemExit):  # click makes the second of the first
        # The reader of our output went away (samebits ... | head): not an error, but nothing more can be said.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, MemoryError, RuntimeError, ImportError) as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            _say(
                "OutputFailed",
                f"cannot print: {error.strerror}",
                "send the output to another disk",
                arguments,
            )
            return 1
        named = _named(error)
        if named is None:
            raise
        _show(named, arguments)
        return named.exit_code
    return 0


def _named(error: Exception) -> SamebitsError | None:
    """Name what the operating system refused and no reader has named; None for what would be a mistake of ours."""
    if isinstance(error, RecursionError):
        return InputError(
            "values are nested too deeply", path="input", hint="100 levels are enough for all that is real"
        )
    if isinstance(error, MemoryError) or "failed to map segment" in str(error):  # of a library
        return WorkerLost(
            "out of memory", reason="out of memory", hint="use fewer workers, or smaller shards"
        )
    if "can't start new thread" in str(error):
        return _no_thread()
    if not isinstance(error, OSError):
        return None
    path = str(error.filename) if error.filename else ""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return OutputFailed(
            "too many open files", hint="raise the limit (ulimit -n 1024) or use fewer workers"
        )
    if error.errno == errno.ENOMEM:
        return WorkerLost(
            "out of memory", reason="out of memory", hint="use fewer workers, or smaller shards"
        )
    if error.errno == errno.EAGAIN:
        return _no_thread()
    if path:
        return InputError(f"cannot be used: {error.strerror}", path=path)
    return None


def _no_thread() -> SamebitsError:
    hint = "raise the limit (ulimit -u) or use fewer workers"
    return WorkerLost("no thread or process can be started", reason="limit", hint=hint)


def _speaker(error: Exception) -> str:
    """Return what an error begins with, after giving way to the rank of torchrun that reports it for all.

    When that one ends, torchrun ends the others, so those who are still here after the wait have an error of their own.
    """
    try:
        ranks = find_ranks()
    except ConfigError:
        return ""
    if ranks is None or ranks.reports(getattr(error, "rank", None)):
        return ""
    time.sleep(GIVE_WAY_SECONDS)
    return f"rank {ranks.rank}: "


def _show(error: SamebitsError, arguments: list[str]) -> None:
    speaker = _speaker(error)
    traceback = getattr(error, "remote_traceback", "")
    if traceback and ("-v" in arguments or "--verbose" in arguments):
        click.echo(traceback, err=True)
    _say(type(error).__name__, speaker + error.message, error.hint, arguments)


def _show_usage(error: click.ClickException, arguments: list[str]) -> None:
    """Show an error of the flag parser in the same shape as every other error."""
    message, _, hint = error.format_message().partition("\nhint: ")
    if isinstance(error, click.NoSuchOption):
        message = f"unknown flag {error.option_name}"
        hint = f"did you mean {error.possibilities[0]}?" if error.possibilities else ""
        new = RENAMED.get(error.option_name.lstrip("-").replace("-", "_"))
        if new and error.ctx is not None and any(new == param.name for param in error.ctx.command.params):
            hint = f"it is called --{new} now"
    context = getattr(error, "ctx", None)
    if not hint and context is not None:
        hint = f"{context.command_path} --help"
    message = _speaker(error) + message[:1].lower() + message[1:].removesuffix(".")
    _say("UsageError", message, hint, arguments)


def _say(kind: str, message: str, hint: str, arguments: list[str]) -> None:
    echo_error(f"error: {message}")
    if hint:
        echo_error(f"hint: {hint}")
    if "--json" in arguments:
        click.echo(json.dumps({"error": message, "kind": kind, "hint": hint}))


def _first_interrupt(signum: int, frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGINT, _second_interrupt)
    raise KeyboardInterrupt


def _second_interrupt(signum: int, frame: FrameType | None) -> NoReturn:
    os._exit(130)
