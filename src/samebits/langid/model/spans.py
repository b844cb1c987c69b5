"""Spans of mixed text: which stretch of a text is in which language."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.spans import find_spans
from samebits.langid.config import MOST_POINTS
from samebits.langid.model.ranking import UNITS_PER_BIT, Ranker, column_of

__all__ = ["Span", "spans_of"]

PRICE_BITS = 20  # of a change of language, chosen on lines mixed from held-out sentences (dev/LOG.md)


class Span(NamedTuple):
    """``text[start:stop]`` is in one language; offsets are of characters."""

    start: int
    stop: int
    label: str


def spans_of(ranker: Ranker, text: str, allowed: NDArray[np.bool_] | None) -> list[Span]:
    """Cut a text where its language changes; the spans cover it whole, and none has neither letters nor neighbours.

    Signs and spaces belong to the words before them. A text without a word is one span ``und``; beyond 4,096 characters
    the last language goes on.
    """
    files = ranker.files
    mask, odds = np.zeros(files.num_columns, np.uint8), np.zeros(files.num_columns, np.int32)
    mask[: len(files.languages)] = 1 if allowed is None else allowed
    odds[: len(files.languages)] = files.biases - files.biases.max()
    starts, _, found = find_spans(
        ranker.scorer, text.encode("utf-8", "replace"), odds, mask, PRICE_BITS * UNITS_PER_BIT, MOST_POINTS
    )
    if not len(found):
        return [Span(0, len(text), "und")] if text else []
    changes = np.flatnonzero(np.diff(found, prepend=-1))
    cuts = [0, *starts[changes[1:]].tolist(), len(text)]
    labels = [
        _among_near(ranker, text[a:b], label, mask)
        for a, b, label in zip(cuts[:-1], cuts[1:], found[changes].tolist(), strict=True)
    ]
    firsts = [k for k, label in enumerate(labels) if k == 0 or label != labels[k - 1]]
    ends = [cuts[k] for k in firsts[1:]] + [len(text)]
    return [Span(cuts[k], end, files.languages[labels[k]]) for k, end in zip(firsts, ends, strict=True)]


def _among_near(ranker: Ranker, text: str, label: int, mask: NDArray[np.uint8]) -> int:
    """The best of a label's near languages for a whole span: word by word they are not settled."""
    group = [member for member in ranker.group_of.get(label, ()) if mask[member]]
    if len(group) < 2:
        return label
    allowed = np.zeros(len(ranker.files.languages), bool)
    allowed[group] = True
    best = int(ranker.rank(column_of([text]), 1, allowed)[0][0, 0])
    return best if best >= 0 else label
