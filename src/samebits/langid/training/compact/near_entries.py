"""Put the evidence between near languages into a model: further columns of the features it has, and words it lacks.

A member of a group has a second column beside its own. N-grams are only taken where the model has them, since the search for
longer ones ends at one that is missing. Each group has room by the number of its languages, for what tells most.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.langid.model.compact_files import MOST_LANGUAGES, levels_of
from samebits.langid.training.compact.near_counts import GROUPS
from samebits.langid.training.compact.near_values import NearValues

__all__ = ["ModelEntries", "attach", "groups_of"]

SHIFT = 4  # from 1/1024 bit to 1/64


class ModelEntries(NamedTuple):
    """Features sorted by key, how many entries each has, and the entries' columns and levels."""

    keys: NDArray[np.uint64]
    sizes: NDArray[np.int64]
    columns: NDArray[np.uint8]
    levels: NDArray[np.uint16]


def groups_of(languages: list[str]) -> tuple[tuple[str, ...], ...]:
    """Return the groups of near languages with at least two in the model, as far as there is room for columns."""
    found: list[tuple[str, ...]] = []
    room = MOST_LANGUAGES - len(languages)
    for names in GROUPS:
        members = tuple(name for name in names if name in languages)
        if len(members) > 1 and len(members) <= room:
            found.append(members)
            room -= len(members)
    return tuple(found)


def attach(model: ModelEntries, near: NearValues, languages: list[str], *, num_bytes: int) -> ModelEntries:
    """Add entries of at most ``num_bytes``."""
    present = groups_of(languages)
    place = np.minimum(np.searchsorted(model.keys, near.keys), len(model.keys) - 1)
    known = model.keys[place] == near.keys
    room = num_bytes // max(1, sum(map(len, present)))
    first = len(languages)
    added = [(model.keys.repeat(model.sizes), model.columns, model.levels)]
    for members in present:
        number = next(k for k, names in enumerate(GROUPS) if members[0] in names)
        slots = [GROUPS[number].index(name) for name in members]
        added.append(_of_group(near, known, number, slots, first, room * len(members)))
        first += len(members)
    keys, columns, levels = (np.concatenate(parts) for parts in zip(*added, strict=True))
    order = np.lexsort((columns, keys))
    keys = keys[order]
    starts = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
    return ModelEntries(keys[starts], np.diff(starts, append=len(keys)), columns[order], levels[order])


def _of_group(
    near: NearValues,
    known: NDArray[np.bool_],
    number: int,
    slots: list[int],
    first: int,
    num_bytes: int,
) -> tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.uint16]]:
    """The group's entries that tell most: key, column and level of each."""
    of_group = np.flatnonzero((near.groups == number) & (near.is_word | known))
    # Members that the model lacks are left out of the comparison.
    levels = levels_of((near.values[of_group][:, slots] >> SHIFT).ravel()).reshape(-1, len(slots))
    cost = 2 * ((levels > 0).sum(axis=1) + ~known[of_group])
    order = np.lexsort((near.keys[of_group], -near.weights[of_group]))
    chosen = np.sort(order[np.cumsum(cost[order]) <= num_bytes])
    rows, slot = np.nonzero(levels[chosen])
    return (
        near.keys[of_group[chosen]][rows],
        (first + slot).astype(np.uint8),
        levels[chosen][rows, slot],
    )
