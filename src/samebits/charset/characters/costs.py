"""Counts of character pairs to costs in eighths of a bit.

A pair's probability is its count, smoothed towards what its kinds of characters do (a small letter after a
capital, a closing sign after a letter); kinds are counted over all languages of the script, so a language with
little text is not a language in which everything is possible. Only additions, products and quotients of integers and
a table of thresholds are used, no logarithm: the same costs on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from samebits.charset.characters.alphabet import FILE_SIGNS, LOCAL_CLASSES, Alphabet

__all__ = ["UNITS_PER_BIT", "pair_costs", "quantised"]

UNITS_PER_BIT = 8
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Share of a character's probability that comes from the script's average: signs are no matter of language, letters are.
SIGN_SHARE = 0.3
LETTER_SHARE = 0.06
#: Strength of the fall-back from a pair to its kinds: a constant and a part per distinct successor.
BACKOFF, BACKOFF_PER_SUCCESSOR = 8.0, 0.5
#: What a class may hold although no text showed it; everything else has 1e-6.
_UNSEEN = {
    "undefined": 1e-8,
    "control": 1e-6,
    "control-high": 1e-7,
    "private": 1e-7,
    "box": 2e-5,
    "math": 2e-5,
    "symbol": 1e-4,
    "own": 3e-5,
    "own-capital": 2e-5,
    "foreign": 2e-5,
}
_FILE_SIGNS = {**dict.fromkeys(FILE_SIGNS, 1e-4), "\xa0": 1e-5}
#: A letter of the script right beside an ASCII letter is a mistake of the corpus, or of the reading.
MIXED_SHARE = 8
_MIXED = ("latin", "latin-capital")
_SIGNS = frozenset({"symbol", "open", "shut", "dash", "quote", "sign", "close", "hard space", "box"})


def _thresholds() -> Floats:
    """Probabilities halfway between neighbouring costs; square roots are exact on every machine."""
    step = 0.5
    for _ in range(4):
        step = math.sqrt(step)  # 2 ** -(1 / 16), half a unit
    unit = step * step
    out = [step]
    while len(out) < 255:
        out.append(out[-1] * unit)
    return np.array(out)


_THRESHOLDS = _thresholds()


def quantised(probability: Floats) -> NDArray[np.uint8]:
    """Cost of each probability in eighths of a bit, at most 255.

    >>> quantised(np.array([1.0, 0.5, 0.25, 0.0]))
    array([  0,   8,  16, 255], dtype=uint8)
    """
    ascending = _THRESHOLDS[::-1]
    found: NDArray[np.uint8] = (255 - np.searchsorted(ascending, probability, side="left")).astype(np.uint8)
    return found


def pair_costs(alphabet: Alphabet, counts: Sequence[Ints]) -> NDArray[np.uint8]:
    """(size, size, languages): cost of the second character after the first.

    Args:
        alphabet: The script's alphabet.
        counts: Per language, (size, size) counts of pairs.
    """
    counts = [_unmixed(alphabet, table) for table in counts]
    average = _average(alphabet, counts)
    kind, transitions = _kind_transitions(alphabet, counts, average)
    signs = np.array([name in _SIGNS for name in alphabet.kinds])
    out = np.empty((alphabet.size, alphabet.size, len(counts)), np.uint8)
    for number, table in enumerate(counts):
        share = np.where(signs, SIGN_SHARE, LETTER_SHARE)
        single = table.sum(0) / table.sum() * (1 - share) + share * average
        single /= math.fsum(single)
        of_kind = np.array([math.fsum(single[kind == k]) for k in range(kind.max() + 1)])
        # expected: (first, second): how the second's kind follows the first's, times its share of the kind
        expected = transitions[kind][:, kind] * (single / of_kind[kind])[None, :]
        strength = ((table > 0).sum(1) * BACKOFF_PER_SUCCESSOR + BACKOFF)[:, None]
        chance = (table + strength * expected) / (table.sum(1)[:, None] + strength)
        out[:, :, number] = quantised(chance / alphabet.members[None, :])
    return out


def _unmixed(alphabet: Alphabet, table: Ints) -> Ints:
    """Counts without words of two scripts."""
    latin = np.array([name in _MIXED for name in alphabet.kinds])
    own = np.array([name.endswith("of its own") for name in alphabet.kinds])
    mixed = (latin[:, None] & own[None, :]) | (own[:, None] & latin[None, :])
    return np.where(mixed, table // MIXED_SHARE, table)


def _average(alphabet: Alphabet, counts: Sequence[Ints]) -> Floats:
    """Share of each character over the languages; of signs the middle language's, so that no single habit rules."""
    shares = np.stack([table.sum(0) / table.sum() for table in counts])
    mean = shares.sum(0) / len(counts)
    middle = np.sort(shares, axis=0)[len(counts) // 2]
    signs = np.array([name in _SIGNS for name in alphabet.kinds])
    average = np.where(signs, 0.5 * mean + 0.5 * middle, mean)
    floor = np.full(alphabet.size, 1e-6)
    floor[: len(LOCAL_CLASSES)] = [_UNSEEN.get(name, 1e-6) for name in LOCAL_CLASSES]
    for number, char in alphabet.chars.items():
        floor[number] = _FILE_SIGNS.get(char, 1e-6)
    average = average + floor
    normalised: Floats = average / math.fsum(average)
    return normalised


def _kind_transitions(alphabet: Alphabet, counts: Sequence[Ints], average: Floats) -> tuple[Ints, Floats]:
    """Number of each character's kind, and how likely a kind follows another, over all languages alike."""
    names = sorted(set(alphabet.kinds))
    kind = np.array([names.index(name) for name in alphabet.kinds])
    pooled = np.zeros((len(names), len(names)))
    for table in counts:
        by_kind = np.zeros((len(names), len(names)), np.int64)
        np.add.at(by_kind, (kind[:, None], kind[None, :]), table)
        pooled += by_kind / table.sum() * 1e6 / len(counts)
    share = np.array([math.fsum(average[kind == k]) for k in range(len(names))])
    rows = np.array([math.fsum(row) for row in pooled])
    return kind, (pooled + 3 * share[None, :]) / (rows + 3)[:, None]
