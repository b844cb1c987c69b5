"""A recipe: stages named in TOML, each one job with its settings, joined by references.

``"@text"`` stands for what stage ``text`` made: its rows where a job gives rows, else its folder; ``"@text/files.jsonl"``
for one file of it. Other paths are relative to the recipe, so that a recipe and its data can be moved together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Any

from samebits.core.config import Setting, make_config, read_toml, settings_of
from samebits.errors import ConfigError, did_you_mean

__all__ = ["COMMANDS", "PipelineRecipe", "StageSpec", "parse_recipe", "read_recipe", "with_settings"]

#: What the recipe calls a job (as on the command line) -> its name in the table of jobs.
COMMANDS = {
    "charset train": "charset",
    "charset decode": "charset_decode",
    "count": "count",
    "langid train": "langid",
    "langid clean": "langid_clean",
    "tokens train-tokenizer": "tokens_train",
    "tokens build": "tokens",
    "lm train": "lm",
    "graph generate": "graph_generate",
    "graph train": "graph_train",
    "graph eval": "graph_eval",
}
#: What the next stage reads when a reference names no file.
ROWS_OF = {"charset_decode": "rows.jsonl", "langid_clean": "kept.jsonl"}
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class StageSpec:
    """One stage as written.

    Attributes:
        name: Its name, and that of its folder.
        command: The job as the recipe calls it.
        job: Name in the table of jobs.
        settings: Settings of the job's Config, references not yet resolved.
        needs: Stages whose results it reads, sorted.
    """

    name: str
    command: str
    job: str
    settings: Mapping[str, Any]
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PipelineRecipe:
    """All stages, each after the ones it needs.

    Attributes:
        folder: What relative paths are relative to.
        output: Folder with one folder a stage.
        stages: In an order that respects references; otherwise as written.
    """

    folder: Path
    output: Path
    stages: tuple[StageSpec, ...]

    def folder_of(self, stage: str) -> Path:
        """Return where a stage's artifact lies."""
        return self.output / stage

    def config_of(self, spec: StageSpec, config_class: type[Any]) -> Any:
        """Build the job's Config with every reference resolved.

        Raises:
            ConfigError: for an unknown setting or a wrong value; names the stage.
        """
        known = {setting.name: setting for setting in settings_of(config_class)}
        values = {
            name: self._resolved(value, known.get(name.replace("-", "_")))
            for name, value in spec.settings.items()
        }
        return make_config(config_class, values, where=f" in [stage.{spec.name}]")

    def _resolved(self, value: Any, setting: Setting | None) -> Any:
        if isinstance(value, list):
            return [self._resolved(item, setting) for item in value]
        if not isinstance(value, str):
            return value
        if value.startswith("@"):
            name, _, rest = value[1:].partition("/")
            job = next(stage.job for stage in self.stages if stage.name == name)
            inner = rest or (ROWS_OF.get(job, "") if setting is not None and setting.many else "")
            return str(self.folder_of(name) / inner)
        if setting is None or not setting.location or "://" in value or value == "-":
            return value
        beside = self.folder / value
        # A location may also be a word, such as the tokenizer "byte": it is a path if it looks like one or is there.
        is_path = setting.name == "inputs" or "/" in value or beside.exists()
        return str(beside) if is_path else value


def read_recipe(path: Path, *, output: Path | None = None) -> PipelineRecipe:
    """Read a recipe file.

    Args:
        path: The TOML file.
        output: Folder for the stages instead of the recipe's own.

    Raises:
        InputError: if it cannot be read.
        ConfigError: names what is wrong with it.
    """
    return parse_recipe(read_toml(path), folder=path.resolve().parent, output=output)


def parse_recipe(document: Mapping[str, Any], *, folder: Path, output: Path | None = None) -> PipelineRecipe:
    """Check a recipe and put its stages in order."""
    for key in document:
        if key not in ("output", "stage"):
            raise ConfigError(
                f"unknown key {key!r} in the recipe", hint=did_you_mean(key, ("output", "stage"))
            )
    tables = document.get("stage", {})
    if not isinstance(tables, dict) or not tables:
        raise ConfigError("the recipe has no stages", hint="'samebits pipeline init' writes an example")
    specs = {name: _stage(name, table, tables) for name, table in tables.items()}
    where = output if output is not None else folder / str(document.get("output", "run"))
    return PipelineRecipe(folder, where, tuple(specs[name] for name in _ordered(specs)))


def _stage(name: str, table: Any, known: Iterable[str]) -> StageSpec:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"a stage cannot be called {name!r}", hint="use small letters, digits, hyphen and underscore"
        )
    if not isinstance(table, dict) or not isinstance(table.get("job"), str):
        raise ConfigError(f"[stage.{name}] names no job", hint='add a line like job = "tokens build"')
    command = table["job"]
    if command not in COMMANDS:
        raise ConfigError(f"[stage.{name}] has the job {command!r}", hint=did_you_mean(command, COMMANDS))
    settings = {key: value for key, value in table.items() if key != "job"}
    needs = sorted({reference[1:].partition("/")[0] for reference in _references(settings.values())})
    for other in needs:
        if other not in known:
            raise ConfigError(f"[stage.{name}] reads @{other}", hint=did_you_mean(other, known))
    return StageSpec(name, command, COMMANDS[command], settings, tuple(needs))


def _references(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list):
            yield from _references(value)
        elif isinstance(value, str) and value.startswith("@"):
            yield value


def _ordered(specs: Mapping[str, StageSpec]) -> list[str]:
    """Order stages after what they need; among those that are ready, as written."""
    sorter = TopologicalSorter({name: spec.needs for name, spec in specs.items()})
    try:
        sorter.prepare()
    except CycleError as error:
        raise ConfigError("stages depend on each other: " + " -> ".join(error.args[1])) from None
    written = list(specs)
    ready: list[str] = []
    order: list[str] = []
    while sorter.is_active():
        ready = sorted([*ready, *sorter.get_ready()], key=written.index)
        order.append(ready.pop(0))
        sorter.done(order[-1])
    return order


def with_settings(document: Mapping[str, Any], changes: Iterable[str]) -> dict[str, Any]:
    """Return the document with changes like ``model.steps=200`` made.

    Raises:
        ConfigError: for a change that names no stage or has no value.
    """
    tables = {name: dict(table) for name, table in document.get("stage", {}).items()}
    for change in changes:
        target, sign, value = change.partition("=")
        stage, dot, key = target.partition(".")
        if not (sign and dot and key):
            raise ConfigError(f"--set has {change!r}", hint="write it like model.steps=200")
        if stage not in tables:
            raise ConfigError(f"--set names the stage {stage!r}", hint=did_you_mean(stage, tables))
        tables[stage][key] = value
    return {**document, "stage": tables}
