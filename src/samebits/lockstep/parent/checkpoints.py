"""Exact checkpoints: a folder a step, put in place by a rename, checked by its sha256, the last few kept.

``step-000000200/state.safetensors``  parameters, moments, and the history of losses
``step-000000200/state.json``         step, settings, identity of the data, fingerprint, sha256 of the file above

No generator state is needed: randomness is named by (seed, step, shard). A checkpoint that is damaged is passed over for the
one before it, and said aloud.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from samebits.core.digest import canonical_json, digest_of_file
from samebits.data.files import sync_folder, writing
from samebits.errors import ArtifactCorrupt
from samebits.lockstep.parent.tensor_file import read_tensors, write_tensors
from samebits.lockstep.problem.config import Every

__all__ = ["Checkpoint", "load_nearest", "load_newest", "load_step", "remove_all", "save", "steps_in"]

FORMAT = "samebits.checkpoint.v1"
PREFIX = "step-"
PARTIAL = ".partial"
HEAD, DATA = "state.json", "state.safetensors"
DAMAGE = (OSError, ValueError, KeyError, TypeError, RecursionError)  # what reading a damaged one raises


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A saved state.

    Attributes:
        step: Steps done.
        head: Everything but arrays, as plain data.
        tensors: Arrays by name.
    """

    step: int
    head: dict[str, Any]
    tensors: Mapping[str, NDArray[Any]]


def _name(step: int) -> str:
    return f"{PREFIX}{step:09d}"


def steps_in(folder: Path) -> list[int]:
    """Return the steps that have a checkpoint, newest first."""
    names = [path.name for path in folder.glob(f"{PREFIX}*") if path.is_dir()] if folder.is_dir() else []
    numbers = [name.removeprefix(PREFIX) for name in names]
    return sorted((int(number) for number in numbers if number.isdecimal()), reverse=True)


def save(folder: Path, checkpoint: Checkpoint, *, every: Every) -> Path:
    """Write a checkpoint so that a crash leaves it whole or absent; older ones go, but for those that are to be kept.

    Raises:
        OutputFailed: it cannot be written, e.g. the disk is full; those before it stay.
    """
    final = folder / _name(checkpoint.step)
    partial = folder / (_name(checkpoint.step) + PARTIAL)
    try:
        with writing(final):
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            sha256 = write_tensors(partial / DATA, checkpoint.tensors)
            head = {**checkpoint.head, "format": FORMAT, "step": checkpoint.step, "sha256": sha256}
            with (partial / HEAD).open("wb") as file:
                file.write(canonical_json(head))
                file.flush()
                os.fsync(file.fileno())
            sync_folder(partial)
            if final.exists():
                shutil.rmtree(final)
            partial.rename(final)
            sync_folder(folder)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    if every.kept is not None and every.keeps(checkpoint.step):
        _keep(final, every.kept)
    for step in steps_in(folder)[max(1, every.keep) :]:
        if every.kept is not None or not every.keeps(step):
            shutil.rmtree(folder / _name(step), ignore_errors=True)
    return final


def _keep(checkpoint: Path, kept: Path) -> None:
    """Put a second name of a checkpoint's files into another folder; a copy where the file system has no second names."""
    final, partial = kept / checkpoint.name, kept / (checkpoint.name + PARTIAL)
    with writing(final):
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(final, ignore_errors=True)
        shutil.copytree(checkpoint, partial, copy_function=_link)
        partial.rename(final)
        sync_folder(kept)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def load_newest(folder: Path, say: Callable[[str], None]) -> Checkpoint | None:
    """Return the newest checkpoint that is whole; each damaged one before it is named."""
    for step in steps_in(folder):
        path = folder / _name(step)
        try:
            return _load(path, step)
        except DAMAGE as error:
            say(f"the checkpoint {path} is damaged ({error}); looking for the one before it")
    return None


def load_step(folder: Path, step: int) -> Checkpoint:
    """Return the checkpoint of one step.

    Raises:
        ArtifactCorrupt: it is damaged.
    """
    path = folder / _name(step)
    try:
        return _load(path, step)
    except DAMAGE as error:
        raise ArtifactCorrupt(
            f"the checkpoint {path} is damaged: {error}", hint="remove it to use the one before it"
        ) from None


def load_nearest(folder: Path, step: int) -> Checkpoint | None:
    """Return the last checkpoint of at most so many steps, if there is one.

    Raises:
        ArtifactCorrupt: it is damaged.
    """
    found = [each for each in steps_in(folder) if each <= step]
    return load_step(folder, found[0]) if found else None


def _load(path: Path, step: int) -> Checkpoint:
    head = json.loads((path / HEAD).read_bytes())
    if head["format"] != FORMAT or head["step"] != step:
        raise ValueError(f"its format is {head['format']!r} and its step {head['step']}")
    found = digest_of_file(path / DATA)
    if found != head["sha256"]:
        raise ValueError(f"sha256 of {DATA} is {found[:16]}, expected {str(head['sha256'])[:16]}")
    return Checkpoint(step, head, read_tensors(path / DATA))


def remove_all(folder: Path) -> None:
    """Throw away every checkpoint, whole or partial; other files of the folder are left alone."""
    for path in folder.glob(f"{PREFIX}*") if folder.is_dir() else ():
        shutil.rmtree(path, ignore_errors=True)
