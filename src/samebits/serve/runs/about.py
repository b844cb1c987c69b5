"""What a run is, from ``record.json``, ``manifest.json`` and ``plan.json``: read when they change, kept otherwise."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.serve.runs.places import FolderPlace, read_object

__all__ = ["About", "Abouts"]

MOST_KEPT = 2048


@dataclass(frozen=True, slots=True)
class About:
    """The facts of a run; empty where it has not written them yet.

    Attributes:
        job: Name of the job.
        record: ``record.json``: how it was run.
        manifest: ``manifest.json``: what it made.
        plan: ``plan.json`` of an unfinished run.
    """

    job: str
    record: dict[str, Any]
    manifest: dict[str, Any]
    plan: dict[str, Any]

    @property
    def config(self) -> dict[str, Any]:
        """The settings that change the result."""
        made = _object(self.manifest.get("config")) or _object(self.record.get("config"))
        return made or _object(self.plan.get("settings"))

    @property
    def metrics(self) -> dict[str, Any]:
        """The job's own numbers."""
        return _object(self.record.get("metrics"))

    @property
    def files(self) -> dict[str, dict[str, Any]]:
        """Name -> size and sha256, as the manifest says; entries that are not so are left out."""
        found = _object(self.manifest.get("files"))
        return {
            name: entry
            for name, entry in found.items()
            if isinstance(entry, dict)
            and isinstance(entry.get("size"), int)
            and isinstance(entry.get("sha256"), str)
        }

    @property
    def digest(self) -> str:
        """Digest of the artifact, or an empty text."""
        found = self.manifest.get("digest")
        return found if isinstance(found, str) else ""

    @property
    def plan_digest(self) -> str:
        """Digest of the plan, or an empty text."""
        found = self.record.get("plan_digest") or self.plan.get("digest")
        return found if isinstance(found, str) else ""

    @property
    def peak_memory(self) -> int:
        """Largest memory of the run in bytes; 0 when unknown."""
        values = _object(self.record.get("peak_rss")).values()
        return sum(value for value in values if isinstance(value, int))

    def text(self, name: str) -> str:
        """Return a field of the record as text; empty when it is missing."""
        found = self.record.get(name)
        return str(found) if isinstance(found, str | int) else ""

    def number(self, name: str) -> float | None:
        """Return a field of the record as a number."""
        found = self.record.get(name)
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


class Abouts:
    """Keeps the newest few hundred."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # asked from several threads
        self._kept: OrderedDict[str, tuple[Any, About]] = OrderedDict()

    def get(self, place: FolderPlace) -> About:
        """Read the files of a run, unless they are the ones read before."""
        record, manifest = place.output / "record.json", place.output / "manifest.json"
        plan = place.journal / "plan.json"
        stamp = tuple(map(_stamp, (record, manifest, plan)))
        with self._lock:
            kept = self._kept.get(place.key)
        if kept is None or kept[0] != stamp:
            unfinished = place.is_unfinished
            made = {} if unfinished else read_object(manifest)
            planned = read_object(plan) if unfinished else {}
            job = made.get("job") or planned.get("job") or "unknown"
            kept = stamp, About(str(job), {} if unfinished else read_object(record), made, planned)
        with self._lock:
            self._kept[place.key] = kept
            self._kept.move_to_end(place.key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return kept[1]


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        about = path.stat()
    except OSError:
        return (0, 0, 0)
    return about.st_ino, about.st_mtime_ns, about.st_size


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
