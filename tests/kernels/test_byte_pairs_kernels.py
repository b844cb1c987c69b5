"""The memory of pre-tokens: the same ids with wide instructions and without, and nothing read behind a buffer."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from samebits.core.seeds import rng_for
from samebits.kernels.tokens.byte_pairs.pair_memory import PairMemory
from samebits.kernels.tokens.byte_pairs.pair_merges import PairMerges
from samebits.tokens.character_classes import character_classes

LETTERS = b"abcXYZ 019'\n\r\t.=#{stdmlver"
PARTS = [
    "ab",
    "Zs",
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "'s",
    "'ll",
    "'RE",
    "12",
    "3456789",
    ".",
    "==",
    "é",
    "中",
    "\u2003",
    "=" * 17,
    "c" * 40,
]


def merges_of_all_pairs() -> PairMerges:
    """Any two of some bytes become one id, so that ids tell where texts were cut."""
    letters = np.frombuffer(LETTERS, np.uint8).astype(np.uint32)
    left, right = np.repeat(letters, len(letters)), np.tile(letters, len(letters))
    merged = np.arange(256, 256 + left.size, dtype=np.uint32)
    return PairMerges(left, right, merged, np.arange(256, dtype=np.uint32))


def random_texts(number: int) -> list[bytes]:
    rng = rng_for(7, "tokens", "wide")
    sizes = rng.integers(0, 90, number)
    return ["".join(rng.choice(PARTS, size)).encode() for size in sizes]


def column_of(texts: list[bytes]) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    sizes = np.array([len(text) for text in texts], np.int64)
    stops = np.cumsum(sizes)
    return np.frombuffer(b"".join(texts), np.uint8), stops - sizes, stops


@pytest.mark.parametrize("digits", [0, 1, 3])
def test_ids_are_the_same_with_wide_instructions_and_without(digits: int) -> None:
    merges, classes = merges_of_all_pairs(), character_classes()
    texts = random_texts(400)
    buffer, starts, stops = column_of(texts)
    wide, narrow = (PairMemory(merges, digits, wide=flag) for flag in (True, False))
    ids, offsets = narrow.encode(buffer, starts, stops, classes)
    found = wide.encode(buffer, starts, stops, classes)
    assert np.array_equal(found[0], ids)
    assert np.array_equal(found[1], offsets)
    after = np.array([9], np.uint16)
    rows, lengths = wide.encode_rows(buffer, starts, stops, classes, after[:0], after)
    assert np.array_equal(lengths, np.diff(offsets) + 1)
    assert np.array_equal(np.delete(rows, np.cumsum(lengths) - 1), ids.astype(np.uint16))
    for n, text in enumerate(texts):  # each in a buffer that ends with it
        alone = PairMemory(merges, digits).encode(*column_of([text]), classes)[0]
        assert np.array_equal(alone, ids[offsets[n] : offsets[n + 1]])
