"""Every token kernel against a few lines of plain Python that say what it means."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from samebits.kernels.tokens import chars as tokens_chars
from samebits.kernels.tokens import order as tokens_order
from samebits.kernels.tokens import rows as tokens_rows
from samebits.kernels.tokens import words as tokens_words

MASK = (1 << 64) - 1
CLASSES = np.full(256, tokens_words.WORD, np.uint8)
CLASSES[list(b" \t\n\r\x0b\x0c")] = tokens_words.SPACE
CLASSES[list(b"()")] = tokens_words.ALONE

texts = st.lists(st.text(max_size=20), max_size=8)


def rows_of(rows: list[bytes]) -> tuple[bytes, NDArray[np.int64], NDArray[np.int64]]:
    """One buffer with gaps between the rows, so that a kernel reading past a row is caught."""
    buffer, starts = b"(gap) ", []
    for row in rows:
        starts.append(len(buffer))
        buffer += row + b" gap("
    begin = np.array(starts, np.int64)
    return buffer, begin, begin + np.array([len(r) for r in rows], np.int64)


def unflatten(ids: NDArray[np.uint32], offsets: NDArray[np.int64]) -> list[list[int]]:
    return [ids[a:b].tolist() for a, b in pairwise(offsets)]


def plain_mix(z: int) -> int:
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK
    return z ^ (z >> 31)


def plain_permute(seed: int, size: int, slot: int) -> int:
    half = 1
    while (1 << (2 * half)) < size:
        half += 1
    low = (1 << half) - 1
    keys = [plain_mix(plain_mix(seed) + (j + 1) * 0x9E3779B97F4A7C15 & MASK) for j in range(4)]
    while True:
        left, right = slot >> half, slot & low
        for key in keys:
            left, right = right, left ^ (plain_mix(right + key & MASK) & low)
        slot = left << half | right
        if slot < size:
            return slot


@given(texts)
def test_byte_ids_are_the_bytes(rows: list[str]) -> None:
    data = [row.encode() for row in rows]
    ids, offsets = tokens_chars.bytes_to_ids(*rows_of(data))
    assert unflatten(ids, offsets) == [list(row) for row in data]


@given(texts)
def test_char_ids_follow_the_table_and_count_the_unknown(rows: list[str]) -> None:
    table = np.full(0x110000, -1, np.int32)
    known = "abcé中\U0001f600 "
    table[[ord(c) for c in known]] = np.arange(10, 10 + len(known))
    ids, offsets, missing = tokens_chars.chars_to_ids(*rows_of([r.encode() for r in rows]), table, 1)
    expected = [[10 + known.index(c) if c in known else 1 for c in row] for row in rows]
    assert unflatten(ids, offsets) == expected
    assert missing == sum(c not in known for row in rows for c in row)


@pytest.mark.parametrize("row", [b"\xff", b"a\xe4\xb8", b"\xc3", b"\xf0\x9f\x98", b"\x80\x80", b"\xe4a\xb8"])
def test_broken_utf8_never_reads_past_its_row(row: bytes) -> None:
    table = np.full(0x110000, 5, np.int32)
    ids, offsets, missing = tokens_chars.chars_to_ids(*rows_of([row, b"ok"]), table, 1)
    assert offsets[-1] - offsets[1] == 2
    assert missing > 0
    assert ids[offsets[1] :].tolist() == [5, 5]


@given(texts)
def test_char_counts_are_exact(rows: list[str]) -> None:
    counts = tokens_chars.count_chars(*rows_of([r.encode() for r in rows]))
    joined = "".join(rows)
    assert {chr(c): int(counts[c]) for c in np.flatnonzero(counts)} == {
        c: joined.count(c) for c in set(joined)
    }


@given(texts)
def test_rows_come_back_as_strings(rows: list[str]) -> None:
    assert tokens_chars.rows_to_strings(*rows_of([r.encode() for r in rows])) == rows


def plain_words(row: bytes) -> list[bytes]:
    return re.findall(rb"[()]|[^ \t\n\r\x0b\x0c()]+", row)


@given(st.lists(st.binary(max_size=12) | st.text("ab( )é\u2003", max_size=30).map(str.encode), max_size=8))
def test_word_ids_compare_whole_words(rows: list[bytes]) -> None:
    vocabulary = [
        b"(",
        b")",
        b"a",
        b"ab",
        b"aab",
        b"solution",
        b"solutions",
        "é".encode(),
        b"x" * 16,
        b"x" * 17,
    ]
    arena = b"".join(vocabulary)
    words = np.concatenate(([0], np.cumsum([len(w) for w in vocabulary]))).astype(np.int64)
    table = tokens_words.build_table(arena, words)
    rows = [*rows, b"solution solutions solutio", b"x" * 16 + b" " + b"x" * 17 + b" " + b"x" * 18, b""]
    ids, offsets, missing = tokens_words.words_to_ids(*rows_of(rows), CLASSES, arena, words, *table, 5, 1)
    expected = [[5 + vocabulary.index(w) if w in vocabulary else 1 for w in plain_words(row)] for row in rows]
    assert unflatten(ids, offsets) == expected
    assert missing == sum(w not in vocabulary for row in rows for w in plain_words(row))


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_word_counts_are_exact_and_in_order_of_appearance(rows: list[bytes]) -> None:
    buffer, begin, end = rows_of(rows)
    starts, lengths, counts = tokens_words.count_words(buffer, begin, end, CLASSES)
    found = [
        (buffer[s : s + k], c)
        for s, k, c in zip(starts.tolist(), lengths.tolist(), counts.tolist(), strict=True)
    ]
    expected: dict[bytes, int] = {}
    for row in rows:
        for word in plain_words(row):
            expected[word] = expected.get(word, 0) + 1
    assert found == list(expected.items())


def test_word_counts_survive_growing_tables() -> None:
    row = " ".join(f"w{i % 30_000}" for i in range(90_000)).encode()
    _, _, counts = tokens_words.count_words(*rows_of([row]), CLASSES)
    assert counts.tolist() == [3] * 30_000


@given(st.integers(0, MASK), st.lists(st.integers(0, 2**62), max_size=20))
def test_row_hashes_are_splitmix64(seed: int, rows: list[int]) -> None:
    start = plain_mix(seed + 0x9E3779B97F4A7C15 & MASK)
    expected = [plain_mix(start + (row + 1) * 0x9E3779B97F4A7C15 & MASK) for row in rows]
    assert tokens_order.hash_rows(seed, np.array(rows, np.int64)).tolist() == expected


def test_row_hashes_are_golden() -> None:
    """These values decide which rows are validation rows: they may never change."""
    got = tokens_order.hash_rows(0, np.arange(3, dtype=np.int64)).tolist()
    assert got == [12035550249420947055, 12935080325729570654, 7141179953334974231]


def test_permutation_is_golden() -> None:
    """These values decide the order of shuffled rows: they may never change."""
    got = tokens_order.permute(0, 10, np.arange(10, dtype=np.int64)).tolist()
    assert got == [5, 0, 7, 9, 6, 2, 8, 3, 4, 1]


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_permutation_is_a_bijection_for_every_size(seed: int) -> None:
    for size in [*range(1, 200), 1023, 1024, 1025, 2000]:
        slots = np.arange(size, dtype=np.int64)
        assert np.array_equal(np.sort(tokens_order.permute(seed, size, slots)), slots)


@given(st.integers(0, MASK), st.integers(1, 2**40), st.data())
def test_permutation_follows_its_definition(seed: int, size: int, data: st.DataObject) -> None:
    slot = data.draw(st.integers(0, size - 1))
    row = tokens_order.permute(seed, size, np.array([slot], np.int64))
    assert row[0] == plain_permute(seed, size, slot)
    assert tokens_order.slots_of(seed, size, row)[0] == slot


def test_slots_and_rows_outside_the_permutation_are_refused() -> None:
    with pytest.raises(ValueError, match=r"slot 5 is outside range\(5\)"):
        tokens_order.permute(0, 5, np.array([5], np.int64))
    with pytest.raises(ValueError, match=r"row -1 is outside range\(5\)"):
        tokens_order.slots_of(0, 5, np.array([-1], np.int64))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
def test_pieces_interleave_runs_and_special_ids(dtype: type) -> None:
    ids = np.arange(10, 30, dtype=np.uint32)
    starts = np.array([[0, 3], [5, 9]], np.int64)
    stops = np.array([[2, 3], [8, 10]], np.int64)
    out: NDArray[np.uint8] = np.zeros(20, dtype)
    lengths = np.zeros(2, np.int64)
    pieces = np.array([-1 - 2, 0, -1 - 3, 1, -1 - 4], np.int64)
    size = tokens_rows.join_pieces(ids, starts, stops, pieces, out, lengths)
    assert out[:size].tolist() == [2, 10, 11, 3, 15, 16, 17, 4, 2, 3, 19, 4]
    assert lengths.tolist() == [8, 4]


def test_pieces_that_do_not_fit_are_refused() -> None:
    ids, one = np.arange(4, dtype=np.uint32), np.array([[0]], np.int64)
    with pytest.raises(ValueError, match="5 tokens do not fit an output of 4"):
        tokens_rows.join_pieces(
            ids,
            one,
            one + 4,
            np.array([0, -1], np.int64),
            np.zeros(4, np.uint8),
            np.zeros(1, np.int64),
        )


def test_ranges_outside_the_stream_are_refused() -> None:
    stream = np.arange(4, dtype=np.uint16)
    with pytest.raises(ValueError, match=r"row 0 is \[2, 5\) in a buffer of 4"):
        tokens_rows.copy_ranges(stream, np.array([2]), np.array([5]), np.zeros(9, np.uint16))


@given(st.lists(st.lists(st.integers(0, 65535), max_size=9), max_size=6), st.integers(1, 8))
def test_rows_are_cut_and_padded_to_fixed_slots(rows: list[list[int]], width: int) -> None:
    stream = np.array([i for row in rows for i in row], np.uint16)
    stops = np.cumsum([len(row) for row in rows], dtype=np.int64)
    starts = stops - np.array([len(row) for row in rows], np.int64)
    out = np.full((len(rows), width), 7, np.uint16)
    tokens_rows.place_rows(stream, starts, stops, out, 9)
    assert out.tolist() == [(row + [9] * width)[:width] for row in rows]
    flat = np.zeros(len(stream), np.uint16)
    assert tokens_rows.copy_ranges(stream, starts[::-1].copy(), stops[::-1].copy(), flat) == len(stream)
    assert flat.tolist() == [i for row in rows[::-1] for i in row]
