"""The n-gram kernel against a few lines of Python that say what it means."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.kernels.text.ngrams import NgramTable

# letters of one to four bytes, every kind of white space, and lead bytes of white space that continue otherwise
ALPHABET = "abé語😀 \t\x1c\x85\xa0\u1680\u2003\u2028\u202f\u205f\u3000\u2010\u2060\u1681\xa1\x00"
rows = st.lists(st.text(alphabet=ALPHABET, max_size=30), max_size=8)


def as_columns(texts: list[str]) -> tuple[bytes, np.ndarray, np.ndarray]:
    data = [text.encode() for text in texts]
    stops = np.cumsum([len(piece) for piece in data], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), stops])[: len(stops)]
    return b"".join(data), starts, stops


def as_dict(table: NgramTable) -> dict[str, int]:
    keys, offsets, counts = table.arrays()
    return {keys[offsets[i] : offsets[i + 1]].decode(): int(counts[i]) for i in range(len(counts))}


def words_of(texts: list[str], n: int) -> Counter[str]:
    found: Counter[str] = Counter()
    for text in texts:
        words = text.split()
        found.update(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
    return found


def chars_of(texts: list[str], n: int) -> Counter[str]:
    return Counter(text[i : i + n] for text in texts for i in range(len(text) - n + 1))


@given(rows, st.integers(1, 4))
def test_words_are_those_of_str_split_in_order_of_first_sight(texts: list[str], n: int) -> None:
    table = NgramTable()
    table.count_words(*as_columns(texts), n)
    expected = words_of(texts, n)
    assert list(as_dict(table).items()) == list(expected.items())
    assert table.total == expected.total()


@given(rows, st.integers(1, 4))
def test_characters_are_code_points_and_no_ngram_crosses_a_row(texts: list[str], n: int) -> None:
    table = NgramTable()
    table.count_chars(*as_columns(texts), n)
    assert list(as_dict(table).items()) == list(chars_of(texts, n).items())


@given(rows, rows)
def test_adding_the_tables_of_two_halves_gives_the_table_of_the_whole(
    left: list[str], right: list[str]
) -> None:
    whole, folded = NgramTable(), NgramTable()
    whole.count_words(*as_columns(left + right), 1)
    for half in (left, right):
        part = NgramTable()
        part.count_words(*as_columns(half), 1)
        folded.add(*part.arrays())
    assert list(as_dict(folded).items()) == list(as_dict(whole).items())
    assert folded.total == whole.total


@given(rows)
def test_the_ranking_is_by_falling_count_and_then_by_bytes(texts: list[str]) -> None:
    table = NgramTable()
    table.count_words(*as_columns(texts), 1)
    items = list(as_dict(table).items())
    ranked = [items[i] for i in table.ranking()]
    assert ranked == sorted(items, key=lambda item: (-item[1], item[0].encode()))


@pytest.mark.parametrize("num_words", [10, 5_000, 120_000])
def test_the_table_grows_past_every_size(num_words: int) -> None:
    words = [f"word{i % (num_words // 2)}" for i in range(num_words)]
    table = NgramTable()
    table.count_words(*as_columns([" ".join(words)]), 1)
    assert as_dict(table) == Counter(words)


@pytest.mark.parametrize("length", [1, 7, 8, 9, 15, 16, 17, 100_000])
def test_words_that_differ_only_in_their_last_byte_are_two(length: int) -> None:
    stem = "x" * (length - 1)
    table = NgramTable()
    table.count_words(*as_columns([f"{stem}a {stem}b {stem}a"]), 1)
    assert as_dict(table) == {f"{stem}a": 2, f"{stem}b": 1}


def test_empty_rows_and_an_empty_buffer_count_nothing() -> None:
    table = NgramTable()
    table.count_words(*as_columns([]), 1)
    table.count_words(*as_columns(["", ""]), 2)
    table.count_chars(*as_columns(["", ""]), 1)
    assert len(table) == 0
    assert list(table.ranking()) == []
