"""What a run made: its files, whether they are still what the manifest says, and safe ways to read them.

A file is only ever opened by a name the manifest lists, inside the artifact, through no link.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from samebits.core.observing import clock
from samebits.data.artifact import BESIDE, check_file, open_artifact
from samebits.errors import SamebitsError
from samebits.serve.runs.about import About
from samebits.serve.runs.places import FolderPlace
from samebits.serve.runs.tables import read_page

__all__ = [
    "ConfusionView",
    "FileNotListed",
    "ListedFile",
    "Verdict",
    "Verifier",
    "confusion_of",
    "files_of",
    "path_of",
    "read_text",
]

Kind = Literal["table", "text", "picture", "data"]
VERIFY_AT_ONCE = 256 << 20  # bytes: so much is checked without being asked
MOST_CHECKING = 2
MOST_LABELS = 30
SUFFIXES: dict[str, Kind] = {
    ".jsonl": "table",
    ".json": "text",
    ".txt": "text",
    ".md": "text",
    ".toml": "text",
    ".csv": "text",
    ".tsv": "text",
    ".svg": "picture",
}


class FileNotListed(Exception):
    """A name that the manifest does not list, or that leads out of the artifact."""


@dataclass(frozen=True, slots=True)
class ListedFile:
    """One file of an artifact."""

    name: str
    size: int
    sha256: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an artifact is what its manifest says; ``unknown`` until it was looked at."""

    state: Literal["unknown", "checking", "verified", "damaged"]
    sentence: str = ""

    def plain(self) -> dict[str, str]:
        """Return it as data."""
        return {"state": self.state, "sentence": self.sentence}


def files_of(about: About) -> list[ListedFile]:
    """Return the files of a manifest, by name."""
    return [
        ListedFile(name, entry["size"], entry["sha256"], SUFFIXES.get(Path(name).suffix, "data"))
        for name, entry in sorted(about.files.items())
    ]


def path_of(place: FolderPlace, about: About, name: str) -> Path:
    """Return where a listed file is.

    Raises:
        FileNotListed: for every other name, and for links.
    """
    entry = about.files.get(name)
    if entry is None:
        raise FileNotListed(name)
    try:
        check_file(place.output, name, entry, check="sizes")
    except (SamebitsError, OSError, ValueError) as error:
        raise FileNotListed(str(error)) from None
    return place.output / name


class Verifier:
    """Checks artifacts on threads, two at a time, and remembers the verdict as long as no file changes."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Any, Verdict]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(MOST_CHECKING)

    def verdict(self, place: FolderPlace, about: About, *, start: bool = False) -> Verdict:
        """Return what is known, and begin to check a small artifact, or any one if asked to."""
        stamp = _stamp(place, about)
        known = self._known.get(place.key)
        if known is not None and known[0] == stamp:
            return known[1]
        if not about.files:
            return Verdict("unknown")
        total = sum(file.size for file in files_of(about))
        if not start and total > VERIFY_AT_ONCE:
            return Verdict("unknown", "not checked yet")
        checking = Verdict("checking", "checking every byte")
        self._known[place.key] = stamp, checking
        task = asyncio.create_task(self._check(place, stamp))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return checking

    async def _check(self, place: FolderPlace, stamp: Any) -> None:
        async with self._slots:
            verdict = await asyncio.to_thread(_verify, place)
        self._known[place.key] = stamp, verdict


def _stamp(place: FolderPlace, about: About) -> Any:
    found = [about.digest]
    for name in sorted(about.files):
        try:
            stat = (place.output / name).lstat()
        except (OSError, ValueError):
            continue
        found.append(f"{stat.st_size} {stat.st_mtime_ns} {stat.st_ino}")
    return tuple(found)


def _verify(place: FolderPlace) -> Verdict:
    """Check every byte; unlike ``samebits verify`` it leaves a journal beside the artifact where it is."""
    started = clock.seconds()
    try:
        artifact = open_artifact(place.output)
        for path in place.output.rglob("*"):
            name = path.relative_to(place.output).as_posix()
            if path.is_file() and name not in artifact.files and name not in BESIDE:
                return Verdict("damaged", f"{name} is not listed in the manifest")
    except (SamebitsError, OSError, ValueError) as error:
        message = error.message if isinstance(error, SamebitsError) else str(error)
        return Verdict("damaged", message.replace(f"{place.output}/", ""))
    sentence = f"all {len(artifact.files)} files checked in {clock.seconds() - started:.2f} s"
    return Verdict("verified", sentence)


@dataclass(frozen=True, slots=True)
class ConfusionView:
    """Which labels were found to be which: ``counts[label, found]``."""

    labels: list[str]
    found: list[str]
    counts: Mapping[tuple[str, str], int]

    @property
    def most(self) -> int:
        """The largest count."""
        return max(self.counts.values(), default=1)


def confusion_of(place: FolderPlace, about: About) -> ConfusionView | None:
    """Count label and found language of the rows a cleaning run dropped; None for other runs."""
    if "dropped.jsonl" not in about.files:
        return None
    try:
        path = path_of(place, about, "dropped.jsonl")
    except FileNotListed:
        return None
    counts: Counter[tuple[str, str]] = Counter()
    page = read_page(path, page=0, where={"reason": "label_mismatch"}, rows=200_000)
    for _, row in page.rows:
        if isinstance(row.get("label"), str) and isinstance(row.get("top"), str):
            counts[row["label"], row["top"]] += 1
    if not counts:
        return None
    labels, tops = Counter[str](), Counter[str]()
    for (label, top), count in counts.items():
        labels[label] += count
        tops[top] += count
    kept_labels, kept_tops = (sorted(sorted(c), key=lambda k: -c[k])[:MOST_LABELS] for c in (labels, tops))
    return ConfusionView(sorted(kept_labels), sorted(kept_tops), counts)


def read_text(path: Path, most: int) -> tuple[str, bool]:
    """Return the beginning of a text and whether that is all."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    return data[:most].decode("utf-8", "replace"), len(data) <= most
