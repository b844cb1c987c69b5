"""How likely each language is before a letter is read, in 1/64 bit.

A language with more text is written by more people, up to a million letters as they are counted. Languages in which little is written (of no
state with a million people, or hardly used in print, or constructed) start behind: else a single word of a large language
that is also one of Scots, Aragonese or Ido would be theirs as often. Croatian and Serbian start ahead of Bosnian, in which
far less is written and which shares most words with both. All of it was chosen on held-out sources (dev/LOG.md);
who knows better gives the odds of all languages (``--odds``). Languages that allow-lists name compete with each other alone.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from samebits.langid.training.compact.ngram_counts import NgramVocabulary, text_per_language
from samebits.langid.training.compact.smoothing import logs

__all__ = ["biases", "built_in_odds"]

HALF_BITS_PER_DOUBLING = 3
MOST_LETTERS = 1_000_000
SHIFT = 4  # from 1/1024 bit to 1/64
BEHIND = 6 * 64
AHEAD = {"hr": 3 * 64, "sr": 64}
_LITTLE_WRITTEN = """
ab acu agr alt an ast ba ban bcl bem bho br cak ce ch chr cnh cni cop cv diq dsb dyu fj fo frp fur fy gd gsw gv hil hsb ia
ilo io iu jiv kab kjh koi krc lij mai mam mdf mnw mrj myv nan nds oc pnb quc rm sa sah sat sc sco se shi shn skr syr szl tig
to tok ty tyv vec vep vot wal xmf yi zgh
"""
LITTLE_WRITTEN = frozenset(_LITTLE_WRITTEN.split())


def built_in_odds() -> dict[str, int]:
    """Return how far languages are ahead, in 1/64 bit, where nobody gives other odds."""
    return {**dict.fromkeys(sorted(LITTLE_WRITTEN), -BEHIND), **AHEAD}


def biases(languages: list[str], words: NgramVocabulary, odds: Mapping[str, int]) -> NDArray[np.int32]:
    """Return the prior odds of each language: by its text, and as given in ``odds`` (1/64 bit) or, if that is empty, built in."""
    letters = np.minimum(text_per_language(words, in_bytes=True), MOST_LETTERS)
    known = odds or built_in_odds()
    ahead = np.array([known.get(name, 0) for name in languages], np.int64)
    return ((HALF_BITS_PER_DOUBLING * logs(letters) >> (SHIFT + 1)) + ahead).astype(np.int32)
