"""The first difference between two training runs: the step in their logs, the tensor in their checkpoints or models.

Logs say when two runs parted, checkpoints say where: both are compared bit by bit, and the first difference is named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.errors import ArtifactCorrupt
from samebits.lockstep.parent.checkpoints import Checkpoint, load_step, steps_in
from samebits.lockstep.parent.tensor_file import read_tensors

__all__ = [
    "checkpoint_difference",
    "first_checkpoint_difference",
    "first_step_difference",
    "models_differ",
    "named_tensors",
    "read_model",
    "read_steps",
    "tensor_difference",
]

FLAT = {
    "params": "parameter",
    "first": "first moment of",
    "second": "second moment of",
    "average": "average of",
}
Row = Mapping[str, Any]


def read_steps(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a ``steps.jsonl`` or ``val.jsonl``.

    Raises:
        ArtifactCorrupt: a line is no JSON object; names it.
    """
    found: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ArtifactCorrupt(f"{path}, line {number}: {error}") from None
        if not isinstance(row, dict):
            raise ArtifactCorrupt(f"{path}, line {number}: no JSON object")
        found.append(row)
    return found


def read_model(path: Path) -> dict[str, NDArray[Any]]:
    """Return the weights of a file.

    Raises:
        ArtifactCorrupt: it holds no tensors.
    """
    try:
        return read_tensors(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArtifactCorrupt(f"{path}: {error}") from None


def first_step_difference(ours: Sequence[Row], theirs: Sequence[Row], *, start: int = 0) -> str:
    """Name the first step in which two logs differ, with both values of the first field that does; "" if none does.

    ``start`` is the number of the first row.

    >>> first_step_difference([{"step": 0, "loss": 1.0}], [{"step": 0, "loss": 2.0}])
    'step 0: loss is 1.0 and 2.0'
    >>> first_step_difference([{"step": 0, "loss": 1.0}], [])
    'step 0: only one of them has it'
    """
    for index, (a, b) in enumerate(zip_longest(ours, theirs), start):
        if a is None or b is None:
            return f"step {index}: only one of them has it"
        for name in {**a, **b}:
            if a.get(name) != b.get(name):
                return f"step {index}: {name} is {a.get(name)} and {b.get(name)}"
    return ""


def _first_element(a: NDArray[Any], b: NDArray[Any]) -> str:
    """Name the first element in which two arrays of one shape differ in their bits; "" if none does."""
    whole = f"u{a.dtype.itemsize}"
    differing = np.flatnonzero(a.reshape(-1).view(whole) != b.reshape(-1).view(whole))
    if not len(differing):
        return ""
    at = [int(i) for i in np.unravel_index(differing[0], a.shape)]
    x, y = (float(array.reshape(-1)[differing[0]]) for array in (a, b))
    return f"at {at}: {x.hex()} and {y.hex()} ({len(differing):,} of {a.size:,} elements differ)"


def tensor_difference(ours: Mapping[str, NDArray[Any]], theirs: Mapping[str, NDArray[Any]]) -> str:
    """Name the first tensor, by name, in which two models differ; "" if none does."""
    for name in sorted({*ours, *theirs}):
        a, b = ours.get(name), theirs.get(name)
        if a is None or b is None:
            return f"{name!r}: only one of them has it"
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"{name!r}: {a.dtype} {a.shape} and {b.dtype} {b.shape}"
        if found := _first_element(a, b):
            return f"{name!r} {found}"
    return ""


def models_differ(ours: Path, theirs: Path) -> str:
    """Name the first tensor in which two files of weights differ; "" if none does."""
    return tensor_difference(read_model(ours), read_model(theirs))


def named_tensors(head: Mapping[str, Any], flat: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return every tensor of a flat buffer as the head of its checkpoint places them."""
    found = {}
    for name, shape, _, offset in head["tensors"]:
        found[name] = flat[offset : offset + prod(shape)].reshape(shape)
    return found


def checkpoint_difference(ours: Checkpoint, theirs: Checkpoint) -> str:
    """Name the first tensor, in the order of the buffer, in which two checkpoints differ; "" if none does.

    Raises:
        ArtifactCorrupt: one of them does not say where its tensors are.
    """
    try:
        return _checkpoint_difference(ours, theirs)
    except (KeyError, ValueError, TypeError) as error:
        raise ArtifactCorrupt(f"a checkpoint of step {ours.step} cannot be compared: {error!r}") from None


def _checkpoint_difference(ours: Checkpoint, theirs: Checkpoint) -> str:
    if ours.head["layout"] != theirs.head["layout"]:
        return "names, shapes or groups of the tensors"
    for flat, word in FLAT.items():
        if flat not in ours.tensors and flat not in theirs.tensors:
            continue
        others = named_tensors(theirs.head, theirs.tensors[flat])
        for name, tensor in named_tensors(ours.head, ours.tensors[flat]).items():
            if found := _first_element(tensor, others[name]):
                return f"{word} {name!r} {found}"
    return ""


def first_checkpoint_difference(ours: Path, theirs: Path) -> str:
    """Name the first step of which two folders keep different states, and the first tensor that differs; "" if none does."""
    for step in sorted({*steps_in(ours)} & {*steps_in(theirs)}):
        if found := checkpoint_difference(load_step(ours, step), load_step(theirs, step)):
            return f"the checkpoint after {step} steps: {found}"
    return ""
