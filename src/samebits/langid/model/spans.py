"""Spans of mixed text: which stretch of a text is in which language."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.kernels.langid.spans import find_spans
from samebits.langid.config import MOST_POINTS
from samebits.langid.model.ranking import UNITS_PER_BIT, Ranker

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
    mask = np.ones(len(files.languages), np.uint8) if allowed is None else allowed.astype(np.uint8)
    odds = files.biases - files.biases.max()
    starts, _, found = find_spans(
        ranker.scorer, text.encode("utf-8", "replace"), odds, mask, PRICE_BITS * UNITS_PER_BIT, MOST_POINTS
    )
    if not len(found):
        return [Span(0, len(text), "und")] if text else []
    changes = np.flatnonzero(np.diff(found, prepend=-1))
    cuts = [0, *starts[changes[1:]].tolist(), len(text)]
    names = [files.languages[i] for i in found[changes].tolist()]
    return [Span(a, b, name) for a, b, name in zip(cuts[:-1], cuts[1:], names, strict=True)]
