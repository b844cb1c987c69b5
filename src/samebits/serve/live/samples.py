"""Texts that a model wrote while it trained: the newest few, each read once."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from samebits.core.regular_file import open_regular
from samebits.errors import InputError
from samebits.serve.runs.places import FolderPlace

__all__ = ["WrittenSample", "WrittenSamples"]

MOST_SAMPLES = 4
MOST_BYTES = 8000


@dataclass(frozen=True, slots=True)
class WrittenSample:
    """What a model wrote after so many steps."""

    step: int
    text: str


class WrittenSamples:
    """The newest samples of one run, oldest first."""

    def __init__(self) -> None:
        self.newest: list[WrittenSample] = []
        self._names: list[str] = []

    @property
    def last_step(self) -> int:
        """Step of the newest sample; -1 when there is none."""
        return self.newest[-1].step if self.newest else -1

    def look(self, place: FolderPlace, *, finished: bool) -> None:
        """Read samples that came since the last look."""
        folder = place.output / "samples" if finished else place.journal / "checkpoints" / "lm"
        try:
            with os.scandir(folder) as entries:
                names = sorted(e.name for e in entries if _step(e.name) is not None and not e.is_symlink())
        except OSError:
            names = []
        names = names[-MOST_SAMPLES:]
        if names == self._names:
            return
        known = {sample.step: sample for sample in self.newest}
        steps = [(step, name) for name in names if (step := _step(name)) is not None]
        found = [known.get(step) or _read(folder / name, step) for step, name in steps]
        self._names, self.newest = names, [sample for sample in found if sample is not None]


def _step(name: str) -> int | None:
    digits = name.removeprefix("step-").removesuffix(".txt")
    return int(digits) if name == f"step-{digits}.txt" and digits.isdecimal() and len(digits) < 16 else None


def _read(path: Path, step: int) -> WrittenSample | None:
    try:
        with open_regular(path) as file:
            return WrittenSample(step, file.read(MOST_BYTES).decode("utf-8", "replace"))
    except (OSError, InputError):
        return None
