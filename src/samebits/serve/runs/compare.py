"""Two runs side by side: equal digests, or the first step, shard, file and byte in which they differ."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from samebits.core.digest import canonical_json
from samebits.serve import words
from samebits.serve.runs.about import About
from samebits.serve.runs.artifacts import FileNotListed, path_of
from samebits.serve.runs.places import FolderPlace

__all__ = ["Comparison", "Difference", "SettingDifference", "compare", "settings_that_differ"]

PIECE = 1 << 20
CONTEXT = 16  # bytes shown before and after the first difference
MOST_LINE = 4000
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")
HOW = ("executor", "workers", "seconds", "started_at")


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting with its value in each run, as text."""

    name: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two runs part.

    Attributes:
        kind: ``step``, ``byte``, ``file`` (only one has it) or ``manifest``.
        file: The file.
        place: Step or byte, counted from 0; None for a whole file.
        sentence: The same in words.
        left: What the first run has there.
        right: What the second has.
    """

    kind: str
    file: str
    place: int | None
    sentence: str
    left: str = ""
    right: str = ""


@dataclass
class Comparison:
    """Of the first run with one other.

    Attributes:
        verdict: ``same``, ``different``, ``unfinished`` or ``unlike`` (two jobs).
        sentence: The same in words.
        differences: The first one of each kind, the most telling first.
    """

    verdict: str
    sentence: str
    differences: list[Difference] = field(default_factory=list)

    def plain(self) -> dict[str, Any]:
        """Return it as data."""
        names = Difference.__slots__
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "differences": [{name: getattr(d, name) for name in names} for d in self.differences],
        }


def settings_that_differ(abouts: list[About]) -> tuple[list[SettingDifference], list[SettingDifference]]:
    """Return settings that change the result and differ, and facts about how the runs were made that differ."""
    what = sorted({key for about in abouts for key in about.config})
    how = [key for key in HOW if any(key in about.record for about in abouts)]
    return (
        _differing(what, [about.config for about in abouts]),
        _differing(how, [about.record for about in abouts]),
    )


def _differing(names: list[str], tables: list[dict[str, Any]]) -> list[SettingDifference]:
    found = []
    for name in names:
        values = tuple(_shown(table.get(name)) for table in tables)
        if len(set(values)) > 1:
            found.append(SettingDifference(name, values))
    return found


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        return words.number(value)
    if isinstance(value, str) and TIME.fullmatch(value):
        return value[:19].replace("T", " ")
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:199] + "…"


def compare(left: tuple[FolderPlace, About], right: tuple[FolderPlace, About]) -> Comparison:
    """Compare two runs; reads no more of their files than the bytes up to the first difference."""
    a, b = left[1], right[1]
    if a.job != b.job:
        return Comparison("unlike", f"two different jobs: {a.job} and {b.job}")
    if not (a.digest and b.digest):
        return Comparison("unfinished", "digests are compared when both runs are finished")
    if a.digest == b.digest:
        return Comparison("same", f"the same bytes: digest {a.digest[:16]}")
    differences = [found for found in (_first_step(left, right), _first_file(left, right)) if found]
    if not differences:
        differences = [_first_field(a, b)]
    first = differences[0]
    where = f"{first.file}, {first.kind} {first.place:,}" if first.place is not None else first.sentence
    return Comparison("different", f"first difference: {where}", differences)


def _first_step(left: tuple[FolderPlace, About], right: tuple[FolderPlace, About]) -> Difference | None:
    """Find the first step whose line differs; every line before it is the same in every digit."""
    name = "steps.jsonl"
    if not (name in left[1].files and name in right[1].files):
        return None
    if left[1].files[name]["sha256"] == right[1].files[name]["sha256"]:
        return None
    try:
        paths = path_of(*left, name), path_of(*right, name)
        place = _first_byte(*paths)
        if place is None:
            return None
        step, start = _line_of(paths[0], place)
        lines = [_line_at(path, start) for path in paths]
    except (OSError, FileNotListed):
        return None
    sentence = (
        f"the {step:,} steps before it are the same to the last bit" if step else "they differ from the start"
    )
    if not lines[0] or not lines[1]:
        sentence = f"the same for {step:,} steps, then one of them continues"
    return Difference("step", name, step, sentence, *lines)


def _first_file(left: tuple[FolderPlace, About], right: tuple[FolderPlace, About]) -> Difference | None:
    for name in sorted({*left[1].files, *right[1].files}):
        a, b = left[1].files.get(name), right[1].files.get(name)
        if a is None or b is None:
            only = left if a else right
            return Difference("file", name, None, f"only {only[0].name} has {name}")
        if a["sha256"] == b["sha256"]:
            continue
        try:
            paths = path_of(*left, name), path_of(*right, name)
            place = _first_byte(*paths)
            if place is None:
                return Difference("file", name, None, f"{name}: the manifests differ but the bytes do not")
            shown = [_bytes_around(path, place) for path in paths]
        except (OSError, FileNotListed) as error:
            return Difference("file", name, None, f"{name} cannot be read: {error}")
        return Difference("byte", name, place, f"{name} differs first at byte {place:,}", *shown)
    return None


def _first_field(a: About, b: About) -> Difference:
    """Files are the same: the manifests differ in what they say about the run."""
    for key in sorted({*a.manifest, *b.manifest} - {"digest", "files"}):
        x, y = a.manifest.get(key), b.manifest.get(key)
        if _canonical(x) != _canonical(y):
            sentence = f"every file is the same; only {key.replace('_', ' ')} differs"
            return Difference("manifest", "manifest.json", None, sentence, _shown(x), _shown(y))
    return Difference("manifest", "manifest.json", None, "the digests differ, and nothing else does")


def _canonical(value: Any) -> bytes:
    try:
        return canonical_json(value)
    except (TypeError, ValueError):
        return repr(value).encode()


def _first_byte(left: Path, right: Path) -> int | None:
    offset = 0
    with left.open("rb") as a, right.open("rb") as b:
        while True:
            x, y = a.read(PIECE), b.read(PIECE)
            if x != y:
                most = min(len(x), len(y))
                unequal = np.flatnonzero(
                    np.frombuffer(x[:most], np.uint8) != np.frombuffer(y[:most], np.uint8)
                )
                return offset + (int(unequal[0]) if len(unequal) else most)
            if not x:
                return None
            offset += len(x)


def _line_of(path: Path, place: int) -> tuple[int, int]:
    """Return the number of the line that holds a byte, from 0, and the byte it starts at."""
    number, start, offset = 0, 0, 0
    with path.open("rb") as file:
        while offset < place:
            data = file.read(min(PIECE, place - offset))
            if not data:
                break
            number += data.count(b"\n")
            if (end := data.rfind(b"\n")) >= 0:
                start = offset + end + 1
            offset += len(data)
    return number, start


def _line_at(path: Path, start: int) -> str:
    with path.open("rb") as file:
        file.seek(start)
        return file.readline(MOST_LINE).decode("utf-8", "replace").rstrip("\n")


def _bytes_around(path: Path, place: int) -> str:
    """Return the bytes around a place in hexadecimal, the first differing one in brackets."""
    start = max(0, place - CONTEXT)
    with path.open("rb") as file:
        file.seek(start)
        data = file.read(2 * CONTEXT)
    shown = [f"{byte:02x}" for byte in data]
    if place - start < len(shown):
        shown[place - start] = f"[{shown[place - start]}]"
    else:
        shown.append("[end]")
    return " ".join(shown)
