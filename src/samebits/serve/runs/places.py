"""Which runs are below a folder, and in what state each is. Nothing is opened for writing and no link is followed.

A finished run is a folder with a ``manifest.json``; an unfinished one has a journal (``NAME.journal``) beside the place where
its output will be. A run is known to the outside by a key made from its path, so no path ever comes in from a request.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import psutil

from samebits.core.observing import clock
from samebits.core.regular_file import read_regular
from samebits.errors import InputError

__all__ = ["MOST_RUNS", "FolderPlace", "Places", "State", "is_held", "read_object", "state_of"]

State = Literal["running", "stopped", "finished", "damaged"]
MOST_RUNS = 2000
MOST_DEPTH = 6
MOST_FOLDERS = 50_000  # a folder of a million folders is looked at in part, and said to be
MOST_JSON = 32 << 20
LOOK_SECONDS = 1.0
NOT_RUNS = (".partial", ".old", ".tb", ".scratch")


@dataclass(frozen=True, slots=True)
class FolderPlace:
    """Where a run is.

    Attributes:
        key: What addresses call it: the first digits of the digest of its path.
        name: Its path below the folder, for people.
        output: The artifact, there or yet to come.
        journal: The folder beside it while the run is unfinished.
        changed: When it last changed, in seconds since 1970.
    """

    key: str
    name: str
    output: Path
    journal: Path
    changed: float

    @property
    def is_unfinished(self) -> bool:
        """Whether there is a journal that is more than a leftover of a finished run."""
        return self.journal.is_dir() and not ((self.journal / "done").exists() and self.is_whole)

    @property
    def is_whole(self) -> bool:
        """Whether there is an artifact."""
        return (self.output / "manifest.json").is_file()

    @property
    def events(self) -> Path:
        """The log of the run."""
        return (self.journal if self.is_unfinished else self.output) / "events.jsonl"


class Places:
    """The runs below one folder, looked for at most once a second."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.cut_short = False
        self._found: dict[str, FolderPlace] = {}
        self._looked = -LOOK_SECONDS

    def all(self) -> list[FolderPlace]:
        """Return the runs, newest first."""
        now = clock.seconds()
        if now - self._looked >= LOOK_SECONDS:
            self._found = {place.key: place for place in self._look()}
            self._looked = clock.seconds()
        return sorted(self._found.values(), key=lambda place: (-place.changed, place.name))

    def get(self, key: str) -> FolderPlace | None:
        """Return the run of a key; one that came just now is looked for."""
        if key not in self._found:
            self.all()
        return self._found.get(key)

    def _look(self) -> Iterator[FolderPlace]:
        waiting = [(self.folder, 0)]
        seen = found = 0
        self.cut_short = False
        if (self.folder / "manifest.json").is_file():  # the folder is a run itself
            yield self._place(self.folder)
            return
        while waiting:
            folder, depth = waiting.pop()
            names = _folders_in(folder)
            for name in sorted({n.removesuffix(".journal") for n in names if not n.endswith(NOT_RUNS)}):
                inside = folder / name
                is_run = f"{name}.journal" in names or (inside / "manifest.json").is_file()
                if is_run and found < MOST_RUNS:
                    found += 1
                    yield self._place(inside)
                elif not is_run and depth < MOST_DEPTH and seen < MOST_FOLDERS:
                    seen += 1
                    waiting.append((inside, depth + 1))
                else:
                    self.cut_short = self.cut_short or found >= MOST_RUNS or seen >= MOST_FOLDERS

    def _place(self, output: Path) -> FolderPlace:
        relative = os.fsencode(output.relative_to(self.folder)) if output != self.folder else b"."
        journal = output.with_name(output.name + ".journal")
        name = relative.decode("utf-8", "replace") if relative != b"." else output.name
        key = hashlib.sha256(relative).hexdigest()[:16]
        times = (
            journal / "events.jsonl",
            journal / "plan.json",
            output / "record.json",
            output / "manifest.json",
        )
        return FolderPlace(key, name, output, journal, max(map(_changed, times)))


def _folders_in(folder: Path) -> set[str]:
    """Names of the real folders inside; hidden ones, links and folders that cannot be read are left out."""
    try:
        with os.scandir(folder) as entries:
            return {e.name for e in entries if not e.name.startswith(".") and e.is_dir(follow_symlinks=False)}
    except OSError:
        return set()


def _changed(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def is_held(journal: Path) -> int:
    """Return the process that writes a run, or 0 when none does.

    The lock itself is not tried: holding it, if only for a moment, could keep a run from starting. Its file names the process,
    which must be older than the file: a later one that was given the same number is another.
    """
    try:
        path = journal / "lock"
        written = path.stat().st_mtime
        pid = int(read_regular(path).decode("ascii"))
        process = psutil.Process(pid)
        alive = process.create_time() <= written + 2 and process.status() != psutil.STATUS_ZOMBIE
    except (OSError, InputError, ValueError, psutil.Error):
        return 0
    return pid if alive else 0


def state_of(place: FolderPlace) -> State:
    """Return what can be said of a run without reading its files."""
    if place.is_unfinished:
        return "running" if is_held(place.journal) else "stopped"
    return "finished" if place.is_whole else "damaged"


def read_object(path: Path) -> dict[str, Any]:
    """Read a JSON object of a run; damage, absence, links and absurd sizes read as an empty one."""
    try:
        if path.is_symlink() or path.stat().st_size > MOST_JSON:
            return {}
        found = json.loads(read_regular(path))
    except (OSError, InputError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
