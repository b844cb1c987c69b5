"""Two small jobs that write models without training: ``langid_merge`` adds models up, ``langid_import`` reads one.

Merging equals training on all the data at once with one cycle, no refinement, and no text that occurs in both: duplicates
are removed per training. A merged backoff model is not refined, because refinement needs the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from samebits.core.config import config_digest, option
from samebits.core.digest import digest_of, digest_of_file
from samebits.core.engine import Engine
from samebits.core.plan import Plan, ShardTable
from samebits.data.artifact import ArtifactWriter
from samebits.errors import ConfigError, InputError
from samebits.langid.model.features import derive
from samebits.langid.model.model_files import write_model
from samebits.langid.model.model_reading import read_model
from samebits.langid.model.words import LABEL, WordTable, from_label_lines, from_vocabulous, merge_tables

__all__ = ["IMPORT_JOB", "MERGE_JOB", "ImportConfig", "MergeConfig"]

NOTHING = ShardTable.from_ranges(source=[], start=[], stop=[])


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeConfig:
    """Which models to add up."""

    inputs: tuple[str, ...] = option((), help="folders of langid models of one mode", location=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportConfig:
    """Which file to read."""

    inputs: tuple[str, ...] = option(
        (), help="one file: vocabulous JSON, or __label__xx lines of words", location=True
    )


@dataclass(frozen=True, slots=True)
class MergeJob:
    """Add models up."""

    name: str = "langid_merge"
    version: int = 1
    summary: str = "add up the counts of language identifiers"
    Config: type[MergeConfig] = MergeConfig
    default_executor: str = "serial"
    stages: tuple[str, ...] = ()
    bytes_per_worker: int = 0

    def plan(self, config: MergeConfig) -> Plan:
        """Read the models; there is nothing to cut."""
        if len(config.inputs) < 2:
            raise ConfigError(f"{len(config.inputs)} models to merge", hint="give two or more model folders")
        models = [read_model(folder) for folder in config.inputs]
        digest = digest_of([model.digest for model in models])
        names = tuple(Path(folder).name for folder in config.inputs)
        tables = [WordTable.of(model) for model in models]
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=digest,
            source_names=names,
            shards=NOTHING,
            inputs=tables,
        )

    def run(self, plan: Plan, config: MergeConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Add up and derive."""
        return _write(merge_tables(plan.inputs), out)


@dataclass(frozen=True, slots=True)
class ImportJob:
    """Read another tool's counts; a file that starts with ``__label__`` holds label lines, any other is JSON."""

    name: str = "langid_import"
    version: int = 1
    summary: str = "make a model from a vocabulous JSON file or from __label__ lines"
    Config: type[ImportConfig] = ImportConfig
    default_executor: str = "serial"
    stages: tuple[str, ...] = ()
    bytes_per_worker: int = 0

    def plan(self, config: ImportConfig) -> Plan:
        """Hash the file; there is nothing to cut."""
        if len(config.inputs) != 1:
            raise ConfigError(
                f"{len(config.inputs)} files to import",
                hint="give one JSON file or one file of __label__ lines",
            )
        path = Path(config.inputs[0])
        if not path.is_file():
            raise InputError("no such file", path=str(path))
        digest = digest_of_file(path)
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=digest,
            source_names=(path.name,),
            shards=NOTHING,
            inputs=path,
        )

    def run(self, plan: Plan, config: ImportConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Read and write."""
        with plan.inputs.open("rb") as file:
            labels = file.read(len(LABEL)) == LABEL.encode()
        return _write(from_label_lines(plan.inputs) if labels else from_vocabulous(plan.inputs), out)


def _write(table: WordTable, out: ArtifactWriter) -> dict[str, Any]:
    num = len(table.languages)
    features = derive(table.words, table.word_stops, table.counted, num) if table.mode == "backoff" else None
    words = np.ascontiguousarray(table.words)
    write_model(out, table.mode, table.languages, words, table.word_stops, table.counted, features)
    return {"mode": table.mode, "languages": num, "words": len(table.word_stops)}


MERGE_JOB = MergeJob()
IMPORT_JOB = ImportJob()
