"""Flags made from the fields of a Config or of RunOptions, and the lookup flag > environment > file > default."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from samebits.cli.sections import HOW, OTHER, OVERRIDE, PRINT, WHAT, SectionedOption
from samebits.core.config import Setting, environment_layer, make_config, read_toml, settings_of
from samebits.core.options import RunOptions
from samebits.errors import ConfigError, did_you_mean

__all__ = [
    "JOB_ARGUMENTS",
    "build_config",
    "build_options",
    "config_file_flag",
    "config_flags",
    "input_argument",
    "job_inputs",
    "output_flag",
    "print_flags",
    "run_flags",
]

T = TypeVar("T")
OPTIONS_TABLE = "run"
ALSO = {"column": ("--text-column",), "columns": ("--text-column",)}  # what the other jobs call it
WITHOUT_INPUTS = frozenset({"graph_generate"})
#: What a command line of each job looks like, for the examples of ``plan`` and ``bench``
JOB_ARGUMENTS = {
    "charset": "corpus/",
    "charset_decode": "raw/",
    "count": "book.txt",
    "graph": "graphs.jsonl",
    "graph_eval": "math -m model",
    "graph_generate": "--level 2 -n 1000",
    "graph_knn": "queries.jsonl --corpus graphs.jsonl",
    "graph_train": "math",
    "langid": "rows.jsonl",
    "langid_clean": "rows.jsonl -m model",
    "langid_import": "vocabulous.json",
    "langid_merge": "model-a model-b",
    "lm": "book.txt",
    "tokens": "data.jsonl",
    "tokens_convert": "store --layout rows",
    "tokens_train": "data.jsonl",
}


def config_flags(cls: type, *, skip: Iterable[str] = ()) -> list[click.Parameter]:
    """Return one flag for each field that is no input."""
    kept = [setting for setting in settings_of(cls) if setting.name not in {"inputs", *skip}]
    return [_flag(setting, _section(setting)) for setting in kept]


def _section(setting: Setting) -> str:
    if setting.override:
        return OVERRIDE
    return HOW if setting.how else WHAT


def run_flags() -> list[click.Parameter]:
    """Return the flags of RunOptions."""
    return [_flag(setting, HOW) for setting in settings_of(RunOptions)]


def _flag(setting: Setting, section: str) -> SectionedOption:
    also = ALSO.get(setting.name, ())
    names = [*([setting.short] if setting.short else []), *also, setting.flag]
    extra: dict[str, Any] = {}
    if setting.kind is bool:
        names[-1] = f"{setting.flag}/--no-{setting.flag[2:]}"
    elif setting.choices:
        extra["type"] = click.Choice(setting.choices)
    else:
        extra["metavar"] = setting.metavar or {int: "N", float: "X", str: "TEXT"}[setting.kind]
    return SectionedOption(
        [*names, setting.name], default=None, help=_help(setting), section=section, **extra
    )


def _help(setting: Setting) -> str:
    default = setting.default
    if setting.kind is bool:
        default = "on" if default else "off"
    elif isinstance(default, tuple):
        default = ",".join(default)
    elif isinstance(default, float):
        default = f"{default:g}"
    return setting.help if default in ("", None) else f"{setting.help} [{default}]"


def input_argument(*, required: bool = True) -> click.Argument:
    """Return the positional inputs."""
    return click.Argument(["inputs"], nargs=-1, required=required, metavar="INPUT...")


def job_inputs(job: str) -> list[click.Parameter]:
    """Return the positional inputs of a job; none for one that makes its data itself."""
    return [] if job in WITHOUT_INPUTS else [input_argument()]


def output_flag() -> SectionedOption:
    """Return ``-o/--output``."""
    return SectionedOption(
        ["-o", "--output"],
        required=True,
        metavar="DIR",
        section=OTHER,
        help="folder or URL to write; must not exist yet",
    )


def config_file_flag() -> SectionedOption:
    """Return ``--config``."""
    return SectionedOption(
        ["--config", "config_file"],
        metavar="FILE",
        envvar="SAMEBITS_CONFIG",
        section=OTHER,
        help="TOML file with a table for the job and a table [run]; flags and variables win over it",
    )


def print_flags() -> list[click.Parameter]:
    """Return the flags about what is printed."""
    flag = SectionedOption
    return [
        flag(["--json", "as_json"], is_flag=True, section=PRINT, help="print the record as JSON"),
        flag(["--progress/--no-progress"], default=True, section=PRINT, help="show one progress line [on]"),
        flag(["-q", "--quiet"], is_flag=True, section=PRINT, help="print only errors"),
        flag(
            ["-v", "--verbose"],
            is_flag=True,
            section=PRINT,
            help="print every shard, and tracebacks of workers",
        ),
        flag(
            ["--log-file"], metavar="FILE", section=PRINT, help="write every event to this file as JSON lines"
        ),
    ]


def build_config(cls: type[T], table: str, values: Mapping[str, Any], file: str | None) -> T:
    """Build a job's Config from flags, ``SAMEBITS_<TABLE>_*`` variables and the file's table."""
    return _build(cls, table, f"SAMEBITS_{table.upper()}_", values, file)


def build_options(values: Mapping[str, Any], file: str | None) -> RunOptions:
    """Build RunOptions from flags, ``SAMEBITS_*`` variables and the file's table ``[run]``."""
    return _build(RunOptions, OPTIONS_TABLE, "SAMEBITS_", values, file)


def _build(cls: type[T], table: str, prefix: str, values: Mapping[str, Any], file: str | None) -> T:
    names = {setting.name for setting in settings_of(cls)}
    flags = {name: value for name, value in values.items() if name in names and value is not None}
    from_file = _table_of(file, table) if file else {}
    where = f" in [{table}] of {file}" if file else ""
    return make_config(cls, flags, environment_layer(cls, prefix, os.environ), from_file, where=where)


def _table_of(file: str, table: str) -> dict[str, Any]:
    from samebits.jobs import JOBS

    tables = read_toml(Path(file))
    for name in tables:
        if name not in (*JOBS, OPTIONS_TABLE):
            raise ConfigError(
                f"unknown table [{name}] in {file}", hint=did_you_mean(name, [*JOBS, OPTIONS_TABLE])
            )
    found = tables.get(table, {})
    if not isinstance(found, dict):
        raise ConfigError(f"[{table}] in {file} is not a table", hint=f"write [{table}] on a line of its own")
    return found
