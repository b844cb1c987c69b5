"""Find what a report is about: artifacts, pipelines, speed-up measurements and benchmark records below some folders.

Everything is read as data and nothing is trusted: a file that is not what it claims to be is named on the page, not fatal.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samebits.core.regular_file import open_regular, read_regular
from samebits.data.artifact import Artifact, open_artifact
from samebits.errors import InputError, SamebitsError

__all__ = ["Collection", "ReportedRun", "collect", "json_lines"]


@dataclass(frozen=True, slots=True)
class ReportedRun:
    """One finished run.

    Attributes:
        name: Its folder's name; with the pipeline's in front when there are several.
        artifact: Checked against its manifest.
        record: What ``record.json`` says; empty when it is missing.
        events: The lines of ``events.jsonl``; empty when it is missing.
    """

    name: str
    artifact: Artifact
    record: dict[str, Any]
    events: list[dict[str, Any]]

    @property
    def job(self) -> str:
        """Name of the job."""
        return str(self.artifact.manifest["job"])

    @property
    def metrics(self) -> dict[str, Any]:
        """The job's own numbers."""
        found = self.record.get("metrics")
        return found if isinstance(found, dict) else {}

    def lines(self, name: str, limit: int = 1_000_000) -> list[dict[str, Any]]:
        """Read a JSON lines file of the artifact; empty if it has none of that name."""
        if name not in self.artifact.files:
            return []
        return list(json_lines(self.artifact.path(name), limit))


@dataclass
class Collection:
    """Everything the page shows."""

    runs: list[ReportedRun] = field(default_factory=list)
    speedups: list[dict[str, Any]] = field(default_factory=list)
    benchmarks: list[dict[str, Any]] = field(default_factory=list)
    pipelines: list[dict[str, Any]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def of_job(self, *names: str) -> list[ReportedRun]:
        """Return the runs of these jobs."""
        return [run for run in self.runs if run.job in names]


def collect(places: Sequence[Path]) -> Collection:
    """Look at each place: an artifact, a folder with such things in it, or a JSON file.

    Raises:
        InputError: if there is nothing to show at all.
    """
    found = Collection()
    for place in places:
        if not place.exists():
            raise InputError(
                "no such file or folder", path=str(place), hint="name folders that samebits wrote"
            )
        prefix = f"{place.resolve().name}/" if len(places) > 1 else ""
        _look(place, found, prefix=prefix, depth=0)
    if not (found.runs or found.speedups or found.benchmarks):
        raise InputError(
            "no artifacts or records found",
            path=", ".join(map(str, places)),
            hint="name folders that samebits wrote with -o",
        )
    return found


def _look(place: Path, found: Collection, *, prefix: str, depth: int) -> None:
    """Take what a place is, or look at what is in it; ``prefix`` tells apart stages of one name."""
    if place.is_file():
        _take_json(place, found)
    elif (place / "manifest.json").exists():
        _take_artifact(place, found, prefix if depth else "")
    elif depth < 3:
        if (place / "pipeline.json").exists():
            _take_pipeline(place, found)
        for child in sorted(place.iterdir()):
            if child.name.startswith(".") or child.name.endswith((".journal", ".partial", ".old")):
                continue
            if child.is_dir():
                inner = prefix if depth == 0 else f"{prefix}{place.name}/"
                _look(child, found, prefix=inner, depth=depth + 1)
            elif child.suffix == ".json" and child.name not in ("pipeline.json", "record.json"):
                _take_json(child, found)


def _take_artifact(folder: Path, found: Collection, prefix: str) -> None:
    try:
        artifact = open_artifact(folder)
    except SamebitsError as error:
        found.problems.append(str(error))
        return
    events = folder / "events.jsonl"
    found.runs.append(
        ReportedRun(
            prefix + folder.name,
            artifact,
            _read_object(folder / "record.json"),
            list(json_lines(events, 1_000_000)) if events.is_file() else [],
        )
    )


def _take_pipeline(folder: Path, found: Collection) -> None:
    made = _read_object(folder / "pipeline.json")
    if made:
        found.pipelines.append({"name": folder.name, **made, "record": _read_object(folder / "record.json")})


def _take_json(path: Path, found: Collection) -> None:
    content = _read_object(path)
    if {"job", "rows", "serial_share", "digest"} <= content.keys():
        found.speedups.append({"file": path.name, **content})
    elif isinstance(content.get("ratios"), dict) and "name" in content:
        found.benchmarks.append({"file": path.name, **content})


def _read_object(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(read_regular(path))
    except (OSError, InputError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def json_lines(path: Path, limit: int) -> Iterator[dict[str, Any]]:
    """Yield the objects of a JSON lines file, up to a limit; lines that are no objects are left out."""
    with open_regular(path) as file:
        for number, line in enumerate(file):
            if number >= limit:
                return
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value
