"""Where each tensor lies in the flat buffer: the same for every number of workers.

Tensors start on 64 bytes and groups on chunks of 4096 floats; slices are cut on chunk borders only. So no vector tail moves with
the number of workers, math libraries see the same alignment everywhere, and a chunk's norm has one owner.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

from samebits.core.digest import canonical_json
from samebits.errors import ConfigError
from samebits.lockstep.problem.objective import Floats, Group, TensorSpec

__all__ = ["CHUNK", "Entry", "Layout", "make_layout"]

CHUNK = (
    4096  # floats: 16 KB, so that 0.8 million parameters make about 200 slices' worth of borders and norms
)
ALIGNED = 16  # floats in 64 bytes: a cache line, and the widest vector


@dataclass(frozen=True, slots=True)
class Entry:
    """One tensor and its first position."""

    spec: TensorSpec
    offset: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All tensors of an objective.

    Attributes:
        entries: In the order of the buffer: matrices, embeddings, vectors; inside a group as the objective gives them.
        ends: End of each group, in the order of ``Group``.
        size: Floats of the buffer, padding included.
    """

    entries: tuple[Entry, ...]
    ends: tuple[int, ...]
    size: int

    @property
    def num_parameters(self) -> int:
        """Floats without padding."""
        return sum(entry.spec.size for entry in self.entries)

    @property
    def num_chunks(self) -> int:
        """Chunks of the buffer."""
        return self.size // CHUNK

    @property
    def digest(self) -> str:
        """Digest of names, shapes, groups and places."""
        return hashlib.sha256(canonical_json(self.rows())).hexdigest()

    def rows(self) -> list[list[Any]]:
        """Return name, shape, group and place of every tensor, as plain data."""
        return [[e.spec.name, list(e.spec.shape), e.spec.group, e.offset] for e in self.entries]

    def bounds(self, group: Group) -> tuple[int, int]:
        """Return start and stop of a group."""
        index = get_args(Group).index(group)
        return (self.ends[index - 1] if index else 0), self.ends[index]

    def views(self, flat: Floats) -> dict[str, Floats]:
        """Return every tensor as a view of a flat buffer."""
        return {
            entry.spec.name: flat[entry.offset : entry.offset + entry.spec.size].reshape(entry.spec.shape)
            for entry in self.entries
        }


def make_layout(specs: Sequence[TensorSpec]) -> Layout:
    """Place tensors.

    Raises:
        ConfigError: for no tensors, an empty one, a name twice or an unknown group.
    """
    _check(specs)
    entries: list[Entry] = []
    ends: list[int] = []
    position = 0
    for group in get_args(Group):
        for spec in specs:
            if spec.group == group:
                entries.append(Entry(spec, position))
                position += _round_up(spec.size, ALIGNED)
        position = _round_up(position, CHUNK)
        ends.append(position)
    return Layout(tuple(entries), tuple(ends), position)


def _check(specs: Sequence[TensorSpec]) -> None:
    names = [spec.name for spec in specs]
    if not specs:
        raise ConfigError("the objective has no parameters")
    for spec in specs:
        if names.count(spec.name) > 1:
            raise ConfigError(f"the objective has two tensors named {spec.name!r}")
        if spec.size < 1:
            raise ConfigError(f"the tensor {spec.name!r} of shape {spec.shape} is empty")
        if spec.group not in get_args(Group):
            raise ConfigError(
                f"the tensor {spec.name!r} has group {spec.group!r}",
                hint=f"known: {', '.join(get_args(Group))}",
            )


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
