"""The kernels behind training and Unigram against a few lines of plain Python that say what they mean."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.kernels.tokens.merges import learn_merges
from samebits.kernels.tokens.pieces import mark_spaces
from samebits.kernels.tokens.pretokens import PretokenCounts
from samebits.kernels.tokens.viterbi import PieceTrie
from samebits.tokens.character_classes import character_classes
from samebits.tokens.encoders.interface import column_of

NO_BYTES = np.zeros(0, np.int32)
UNKNOWN, UNKNOWN_SCORE = 99, -20.0
letters = st.text(alphabet="abé▁ \n", max_size=30)


def counts_of(table: PretokenCounts) -> dict[bytes, int]:
    keys, offsets, counts = table.counted()
    return {keys[a:b].tobytes(): n for (a, b), n in zip(pairwise(offsets), counts.tolist(), strict=True)}


def trie_of(pieces: dict[str, float]) -> PieceTrie:
    found = sorted((piece.encode(), i) for i, piece in enumerate(pieces))
    scores = list(pieces.values())
    return PieceTrie(
        b"".join(text for text, _ in found),
        np.cumsum([0, *(len(text) for text, _ in found)], dtype=np.int64),
        np.array([i for _, i in found], np.int32),
        np.array([scores[i] for _, i in found], np.float64),
    )


def plain_viterbi(text: str, pieces: dict[str, float]) -> list[int]:
    """The best way by trying every piece at every place; what no piece covers is joined."""
    names = list(pieces)
    best: list[tuple[float, int, int] | None] = [(0.0, 0, -1), *[None] * len(text)]
    for begin in range(len(text)):
        reached = best[begin]
        assert reached is not None
        known = [i for i, piece in enumerate(names) if text.startswith(piece, begin)]
        ways = [(reached[0] + pieces[names[i]], begin + len(names[i]), i) for i in known]
        if not any(len(names[i]) == 1 for i in known):
            ways.append((reached[0] + UNKNOWN_SCORE, begin + 1, UNKNOWN))
        for score, end, i in sorted(ways, key=lambda way: way[1]):
            there = best[end]
            if there is None or score > there[0]:
                best[end] = (score, begin, i)
    ids: list[int] = []
    at = len(text)
    while at:
        last = best[at]
        assert last is not None
        if last[2] != UNKNOWN or not ids or ids[-1] != UNKNOWN:
            ids.append(last[2])
        at = last[1]
    return ids[::-1]


@given(
    st.lists(letters, max_size=6),
    st.dictionaries(
        st.text(alphabet="abé▁", min_size=1, max_size=4),
        st.integers(-64, 0).map(lambda n: n / 4),
        max_size=12,
    ),
)
def test_the_best_way_is_found_and_ties_go_to_the_first(rows: list[str], pieces: dict[str, float]) -> None:
    """Quarters add up exactly in 32 bits and in 64, so both ways of adding agree with the plain one."""
    trie, column = trie_of(pieces), column_of(rows)
    arguments = column.buffer, column.starts, column.stops, UNKNOWN, UNKNOWN_SCORE, NO_BYTES
    ids, offsets = trie.encode(*arguments)
    assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == [plain_viterbi(row, pieces) for row in rows]
    ids, offsets = trie.encode(*arguments, by_word=True)
    words = [[word for word in re.split("(?=▁)", row) if word] for row in rows]
    expected = [[i for word in row for i in plain_viterbi(word, pieces)] for row in words]
    assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == expected


@given(st.binary(max_size=30))
def test_broken_utf8_and_zero_bytes_are_encoded_inside_their_row(row: bytes) -> None:
    """Every byte becomes its own id where no piece covers it."""
    trie = trie_of({"ab": -1.0})
    buffer = np.frombuffer(b"\xff" + row + b"\xe2\x96", np.uint8)
    bounds = np.array([1], np.int64), np.array([1 + len(row)], np.int64)
    ids, _ = trie.encode(buffer, *bounds, UNKNOWN, UNKNOWN_SCORE, np.arange(1000, 1256, dtype=np.int32))
    assert bytes(b for i in ids.tolist() for b in (b"ab" if i == 0 else bytes((i - 1000,)))) == row


@pytest.mark.parametrize("pieces", [[b"b", b"a"], [b"a", b"a"], [b""], [b"ab", b"a"]])
def test_pieces_out_of_order_are_refused(pieces: list[bytes]) -> None:
    ends = np.cumsum([0, *map(len, pieces)], dtype=np.int64)
    with pytest.raises(ValueError, match="piece"):
        PieceTrie(b"".join(pieces), ends, np.arange(len(pieces), dtype=np.int32), np.zeros(len(pieces)))


def test_a_trie_of_many_pieces_finds_each() -> None:
    pieces = {f"{i:b}".replace("0", "a").replace("1", "é"): -1.0 for i in range(3000)}
    trie, column = trie_of(pieces), column_of(list(pieces))
    ids, _ = trie.encode(column.buffer, column.starts, column.stops, UNKNOWN, UNKNOWN_SCORE, NO_BYTES)
    assert ids.tolist() == list(range(3000))


@given(st.lists(letters, max_size=6), st.booleans())
def test_spaces_are_marked(rows: list[str], prepend: bool) -> None:
    column = column_of(rows)
    buffer, offsets = mark_spaces(column.buffer, column.starts, column.stops, prepend)
    marked = [row.replace(" ", "▁") for row in rows]
    marked = ["▁" + row if prepend and row and row[0] != "▁" else row for row in marked]
    assert [buffer[a:b].tobytes().decode() for a, b in pairwise(offsets)] == marked


@given(st.lists(st.text(alphabet="ab \t\n\r\x0b", max_size=20), max_size=6))
def test_words_are_counted_and_tables_add_up(rows: list[str]) -> None:
    column = column_of(rows)
    expected = Counter(word for row in rows for word in re.split(b"[ \t\n\r]+", row.encode()) if word)
    halves = PretokenCounts(), PretokenCounts()
    for table, part in zip(halves, (slice(None, 2), slice(2, None)), strict=True):
        table.add_words(column.buffer, column.starts[part], column.stops[part])
    halves[0].add_counts(*halves[1].counted())
    assert counts_of(halves[0]) == expected
    assert len(halves[0]) == len(expected)


def test_pretoken_counts_survive_growing_tables() -> None:
    column, table = column_of([f"w{i % 50_000} " for i in range(100_000)]), PretokenCounts()
    table.add_rows(column.buffer, column.starts, column.stops, character_classes())
    assert sum(counts_of(table).values()) == 300_000
    assert counts_of(table)[b"49999"] == 2


@pytest.mark.parametrize(
    ("symbols", "offsets", "counts", "said"),
    [
        ([5], [0, 1], [1], "no token"),
        ([-1], [0, 1], [1], "no token"),
        ([0], [0, 2], [1], "offsets"),
        ([0], [0], [1], "offsets"),
        ([0, 1], [0, 2], [-1], "below 0"),
        ([0, 1], [0, 2, 1], [1, 1], "below 0"),
    ],
)
def test_words_that_are_none_are_refused(
    symbols: list[int], offsets: list[int], counts: list[int], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        learn_merges(
            np.array(symbols, np.int32), np.array(offsets), np.array(counts), [b"a", b"b"], 10, 1
        )  # fmt: skip
