"""Write the code point tables of the langid kernels: ``src/samebits/langid/unicode.bin``.

The tables are committed because the running Python's ``unicodedata`` changes with its version: built at run time,
the same text would give another model on another Python. They state the Unicode version they were made from, and a
test rebuilds them when the running Python has that version.

Every code point has a record number, looked up in two stages (blocks of 128); equal records are stored once. Case
mappings are differences, so that whole alphabets share one record. Decompositions of Hangul are arithmetic and not
stored.

Run: ``python dev/make_langid_tables.py`` (about 10 s). The script ranges are those of unscript 0.1.3, written as
facts in ``langid_script_ranges.py`` beside this file.
"""

from __future__ import annotations

import sys
import unicodedata
import zlib
from collections.abc import Sequence
from functools import lru_cache
from itertools import filterfalse
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from langid_script_ranges import SCRIPTS, SHARED

from samebits.core.codec import encode

NUM_CODE_POINTS = 0x110000
BLOCK = 128
OUTPUT = Path(__file__).parent.parent / "src/samebits/langid/unicode.bin"

# The same bits are named in kernels/langid/text/unicode.pxd.
WORD, DECIMAL, SPACE, ALNUM, EMOJI, DECOMPOSES = 1, 2, 4, 8, 16, 32
CASED, IGNORABLE, COMPOSES, LOWER, CLOSER, STOP = 64, 128, 256, 512, 1024, 2048
STOP_WIDE = 4096
NOT_A_LETTER = -0x200000  # below every difference; one value, so that all such code points share records

STOPS = ".!?…।॥؟۔։።"
WIDE_STOPS = "。！？"
EMOJI_RANGES = (
    (0x1F000, 0x1FFFF),
    (0x2600, 0x26FF),
    (0x2700, 0x27BF),
    (0x200D, 0x200D),
    (0x20E3, 0x20E3),
    (0xFE0F, 0xFE0F),
)


def is_surrogate(point: int) -> bool:
    """UTF-8 text never holds these."""
    return 0xD800 <= point < 0xE000


def mask_of(ranges: Sequence[tuple[int, int]]) -> NDArray[np.bool_]:
    """True for the code points in the closed ranges."""
    mask = np.zeros(NUM_CODE_POINTS, bool)
    for first, last in ranges:
        mask[first : last + 1] = True
    return mask


def scripts_of() -> tuple[NDArray[np.uint8], NDArray[np.uint64]]:
    """The first script a code point belongs to (255: none), and which scripts' filters keep it."""
    script = np.full(NUM_CODE_POINTS, 255, np.uint8)
    for number, name in reversed(list(enumerate(SCRIPTS))):
        script[mask_of(SCRIPTS[name])] = number
    shared = {name: mask_of(ranges) for name, ranges in SHARED.items()}
    covered = mask_of([r for ranges in SCRIPTS.values() for r in ranges])
    for mask in shared.values():
        covered |= mask
    shared["symbols"] |= ~covered  # the reference calls everything it does not know a symbol
    allowed = ~shared["punctuation"] & (shared["numbers"] | ~shared["symbols"])
    keep = np.zeros(NUM_CODE_POINTS, np.uint64)
    for number, name in enumerate(SCRIPTS):
        kept = (mask_of(SCRIPTS[name]) | shared["spaces"] | shared["numbers"]) & allowed
        keep[kept] |= np.uint64(1 << number)
    return script, keep


def flags_of(char: str, composing: frozenset[str]) -> int:
    """The yes/no properties of one character, as bits."""
    point = ord(char)
    category = unicodedata.category(char)
    is_word = char.isalnum() or char == "_"
    before_sigma = (char + "Σ").lower()[-1] == "ς"
    around_sigma = ("a" + char + "Σ").lower()[-1] == "ς"
    is_cased = char == "Σ" or before_sigma
    truths = {
        WORD: is_word,
        DECIMAL: char.isdecimal(),
        SPACE: char.isspace(),
        ALNUM: point < 128 and is_word,
        EMOJI: any(first <= point <= last for first, last in EMOJI_RANGES),
        DECOMPOSES: unicodedata.normalize("NFD", char) != char or unicodedata.combining(char) != 0,
        CASED: is_cased,
        IGNORABLE: not is_cased and around_sigma,
        COMPOSES: char in composing
        or unicodedata.combining(char) != 0
        or not unicodedata.is_normalized("NFC", char),
        LOWER: category == "Ll",
        CLOSER: category in ("Pe", "Pf", "Pi") or char in "\"'",
        STOP: char in STOPS,
        STOP_WIDE: char in WIDE_STOPS,
    }
    return sum(bit for bit, true in truths.items() if true)


@lru_cache
def assigned() -> tuple[int, ...]:
    """Code points of characters: one in eight. The others, unassigned or private, have no property but emoji."""
    points = filterfalse(is_surrogate, range(NUM_CODE_POINTS))
    return tuple(point for point in points if unicodedata.category(chr(point)) not in ("Cn", "Co"))


@lru_cache
def compositions() -> list[tuple[int, int, int]]:
    """(first, second, composed) for every pair that NFC joins, Hangul left out (arithmetic)."""
    triples = []
    for point in assigned():
        if 0xAC00 <= point <= 0xD7A3:
            continue
        parts = unicodedata.decomposition(chr(point)).split()
        if len(parts) == 2 and not parts[0].startswith("<") and unicodedata.is_normalized("NFC", chr(point)):
            triples.append((int(parts[0], 16), int(parts[1], 16), point))
    return sorted(triples)


def folded(char: str) -> int:
    """The backoff alphabet: letters and marks in lower case, 0 for whatever ends a word."""
    return ord(char.lower()[0]) if unicodedata.category(char)[0] in "LM" else 0


def records() -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
    """One row of properties per code point, and all decompositions one after another."""
    script, keep = scripts_of()
    composing = frozenset(chr(second) for _, second, _ in compositions())
    composing |= frozenset(map(chr, range(0x1161, 0x11C3)))  # vowels and finals of Hangul
    expansions: list[int] = []
    rows = np.zeros((NUM_CODE_POINTS, 9), np.int64)
    rows[:, 1], rows[:, 2], rows[:, 3] = script, keep & np.uint64(0xFFFFFFFF), keep >> np.uint64(32)
    rows[:, 0], rows[:, 6] = EMOJI * mask_of(EMOJI_RANGES), NOT_A_LETTER
    rows[0xD800:0xE000, [0, 6]] = 0
    for point in assigned():
        row = rows[point]
        char = chr(point)
        row[0] = flags_of(char, composing)
        row[4] = unicodedata.combining(char)
        lower = char.lower()
        row[5] = ord(lower) - point if len(lower) == 1 else 0
        fold = folded(char)
        row[6] = fold - point if fold else NOT_A_LETTER
        decomposed = unicodedata.normalize("NFD", char)
        if decomposed != char and not 0xAC00 <= point <= 0xD7A3:
            row[7], row[8] = len(expansions), len(decomposed)
            expansions.extend(map(ord, decomposed))
    return rows, np.array(expansions, np.uint32)


def two_stage(values: NDArray[np.int64]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """Values per code point as block numbers and distinct blocks."""
    blocks, first = np.unique(values.reshape(-1, BLOCK), axis=0, return_inverse=True)
    assert blocks.max() < 65536
    assert len(blocks) < 65536
    return first.reshape(-1).astype(np.uint16), blocks.astype(np.uint16).reshape(-1)


def distinct_rows(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """``np.unique(rows, axis=0, return_inverse=True)``, column by column: six times as fast."""
    numbers = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, ranks = np.unique(column, return_inverse=True)
        numbers = np.unique(numbers * len(values) + ranks, return_inverse=True)[1]
    first = np.unique(numbers, return_index=True)[1]
    return rows[first], numbers


def build() -> dict[str, NDArray[Any]]:
    """All arrays of the file."""
    rows, expansions = records()
    distinct, numbers = distinct_rows(rows)
    stage1, stage2 = two_stage(numbers)
    keep = distinct[:, 2].astype(np.uint64) | (distinct[:, 3].astype(np.uint64) << np.uint64(32))
    triples = compositions()
    return {
        "unicode_version": np.frombuffer(unicodedata.unidata_version.encode(), np.uint8),
        "script_names": np.frombuffer(" ".join(SCRIPTS).encode(), np.uint8),
        "stage1": stage1,
        "stage2": stage2,
        "flags": distinct[:, 0].astype(np.uint16),
        "script": distinct[:, 1].astype(np.uint8),
        "keep": keep,
        "ccc": distinct[:, 4].astype(np.uint8),
        "lower": distinct[:, 5].astype(np.int32),
        "fold": distinct[:, 6].astype(np.int32),
        "nfd_start": distinct[:, 7].astype(np.uint16),
        "nfd_length": distinct[:, 8].astype(np.uint8),
        "nfd": expansions,
        "pairs": np.array([first << 21 | second for first, second, _ in triples], np.uint64),
        "composed": np.array([point for _, _, point in triples], np.uint32),
    }


def main() -> None:
    """Write the file."""
    OUTPUT.write_bytes(zlib.compress(encode(build()), 9))


if __name__ == "__main__":
    main()
