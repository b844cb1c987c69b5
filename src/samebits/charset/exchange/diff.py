"""What changed between two trained models: pairs, byte pairs, and answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.model import CharsetModel
from samebits.charset.detection.readings import evidence_of

__all__ = ["Change", "compare_models", "flipped"]


@dataclass(frozen=True, slots=True)
class Change:
    """How one pair's counts moved.

    Attributes:
        pair: Its key.
        moved: Share of the byte pairs' probability that lies elsewhere now, 0 to 1.
        byte_pairs: The byte pairs that moved most, with their shares before and after.
    """

    pair: str
    moved: float
    byte_pairs: tuple[tuple[int, float, float], ...]


def compare_models(
    old: CharsetModel, new: CharsetModel, *, top: int = 5
) -> tuple[list[str], list[str], list[Change]]:
    """Pairs that were added, pairs that were lost, and how the others changed, most first."""
    before = {pair.key: i for i, pair in enumerate(old.pairs)}
    after = {pair.key: i for i, pair in enumerate(new.pairs)}
    changes = []
    for key in sorted(before.keys() & after.keys()):
        a, b = old.dense(before[key]), new.dense(after[key])
        if np.array_equal(a, b):
            continue
        p, q = a / a.sum(), b / b.sum()
        most = np.lexsort((np.arange(65536), -np.abs(p - q)))[:top]
        moves = tuple((int(i), float(p[i]), float(q[i])) for i in most.tolist() if p[i] != q[i])
        changes.append(Change(key, float(np.abs(p - q).sum() / 2), moves))
    changes.sort(key=lambda change: (-change.moved, change.pair))
    return sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys()), changes


def flipped(old: CharsetModel, new: CharsetModel, data: bytes) -> tuple[str | None, str | None] | None:
    """The two answers for some data, or None when they are the same."""
    a, b = (detect_with(evidence_of(model), data).encoding for model in (old, new))
    return None if a == b else (a, b)
