"""The langid kernels against short references in plain Python."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from samebits.kernels.langid.confusion import pairwise_sum
from samebits.kernels.langid.dict import Dictionary, accumulate, first_rows
from samebits.kernels.langid.features import count_features, features_of, log2_fixed
from samebits.kernels.langid.known import score_rows
from samebits.kernels.langid.score import Scorer, softmax_gradient
from samebits.kernels.langid.text.encode import encode_rows
from samebits.kernels.langid.text.fold import fold_rows
from samebits.kernels.langid.text.sentences import split_labels, split_sentences
from samebits.kernels.langid.text.unicode import normalize
from samebits.kernels.langid.text.words import Vocabulary, renumber
from samebits.langid.config import MOST_POINTS
from samebits.langid.model.features import group_numbers, powers_of_two
from samebits.langid.tables import load_tables, unicode_version

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
SAME_UNICODE = pytest.mark.skipif(
    unicodedata.unidata_version != unicode_version(), reason="another Unicode version than the tables"
)


def columns(texts: list[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    data = [text.encode() for text in texts]
    stops = np.cumsum([len(item) for item in data], dtype=np.int64)
    starts = stops - np.array([len(item) for item in data], np.int64)
    return np.frombuffer(b"".join(data) + b"\0", np.uint8), starts, stops


def cut(data: NDArray[np.uint8], stops: NDArray[np.int64]) -> list[str]:
    ends = stops.tolist()
    return [data[a:b].tobytes().decode() for a, b in zip([0, *ends], ends, strict=False)]


@SAME_UNICODE
@given(TEXT)
def test_normal_forms_are_those_of_unicodedata(text: str) -> None:
    assert normalize(load_tables(), text.encode(), False).decode() == unicodedata.normalize("NFD", text)
    assert normalize(load_tables(), text.encode(), True).decode() == unicodedata.normalize("NFC", text)


@SAME_UNICODE
def test_a_long_run_of_marks_is_put_in_canonical_order() -> None:
    text = "a" + "\u0301\u0323\u0327" * 500
    assert normalize(load_tables(), text.encode(), False).decode() == unicodedata.normalize("NFD", text)


def folded_words(text: str) -> list[str]:
    words, word = [], ""
    for char in unicodedata.normalize("NFC", text):
        if unicodedata.category(char)[0] in "LM":
            word += char.lower()[0]
        elif word:
            words.append(word)
            word = ""
    return [*words, word] if word else words


@SAME_UNICODE
@given(st.lists(TEXT, max_size=5))
def test_folding_gives_lower_case_words_of_letters_and_marks(texts: list[str]) -> None:
    found = fold_rows(load_tables(), *columns(texts), MOST_POINTS)
    words = cut(found["words"], found["word_stops"])
    stops = [0, *found["token_stops"].tolist()]
    rows = [[words[i] for i in found["tokens"][a:b]] for a, b in itertools.pairwise(stops)]
    assert rows == [folded_words(text) for text in texts]


def test_a_text_is_cut_after_the_most_code_points_and_says_so() -> None:
    found = fold_rows(load_tables(), *columns(["é" * 11, "é" * 10]), 10)
    assert found["cut"].tolist() == [1, 0]
    assert cut(found["words"], found["word_stops"]) == ["é" * 10]


@given(st.lists(st.text(min_size=1, max_size=20), max_size=30))
def test_words_are_numbered_in_order_of_first_occurrence(words: list[str]) -> None:
    words = [word.encode(errors="replace").decode() for word in words]
    vocabulary = Vocabulary()
    order = list(dict.fromkeys(words))
    assert vocabulary.add(*columns(words)).tolist() == [order.index(word) for word in words]
    assert cut(*vocabulary.export()) == order
    assert vocabulary.find(*columns(["never seen before", *order])).tolist()[1:] == list(range(len(order)))


def test_the_empty_string_has_no_number() -> None:
    with pytest.raises(ValueError, match="empty"):
        Vocabulary().add(*columns([""]))


@given(st.integers(1, 2**64 - 1))
def test_log2_is_rounded_down_to_ten_bits(value: int) -> None:
    log = int(log2_fixed(np.array([value], np.uint64))[0])
    # 2**(log/1024) <= value, up to the 31 bits the kernel keeps of the mantissa
    assert Fraction(2) ** log <= Fraction(value) ** 1024
    assert Fraction(value) ** 1024 <= Fraction(2) ** (log + 1) * (1 + Fraction(1, 2**15))


def test_powers_of_two_are_the_integer_part() -> None:
    table = powers_of_two(11).tolist()
    assert table[0] == 1 << 30
    assert table[1024] == 759250124
    assert all(
        (value + 2) ** 2048 > 2 ** (30 * 2048 - i) > (value - 2) ** 2048 for i, value in enumerate(table[:40])
    )


def reference_features(word: str) -> int:
    edged = f"\1{word}\1"
    grams = sum(len(edged) - n + 1 for n in (2, 3, 4) if len(edged) >= n)
    return len(word) + grams + 1


@given(st.text(st.characters(categories=["L"]), min_size=1, max_size=12))
def test_a_word_has_its_ngrams_and_itself(word: str) -> None:
    found = features_of(word.encode())
    assert len(found) == reference_features(word)
    keys = np.array([key for key, _ in found], np.uint64)
    assert group_numbers(keys).tolist() == [group for _, group in found]


def test_equal_hashes_point_to_the_first_row_and_empty_rows_to_none() -> None:
    hashes = np.array([[1, 1], [2, 2], [1, 1], [1, 2], [0, 0]], np.uint64)
    assert first_rows(hashes, np.array([1, 1, 1, 1, 0], np.uint8)).tolist() == [0, 1, 0, 3, -1]


ROWS = st.lists(st.tuples(st.lists(st.integers(0, 5), max_size=6), st.integers(0, 3)), max_size=12)


IN_TABLE, IN_LISTS = 4, 1 << 20  # by how many languages there are, words are counted in one or the other


@given(ROWS, st.integers(0, 12), st.sampled_from([IN_TABLE, IN_LISTS]), st.booleans())
def test_word_counts_keep_the_order_of_first_use_for_any_cut(
    rows: list[tuple[list[int], int]], at: int, num_languages: int, once: bool
) -> None:
    expected: list[dict[int, int]] = [{} for _ in range(6)]
    for words, label in rows:
        for word in dict.fromkeys(words) if once else words:
            expected[word][label] = expected[word].get(label, 0) + 1
    total = Dictionary(6)
    for part in (rows[:at], rows[at:]):
        tokens = np.array([w for words, _ in part for w in words], np.uint32)
        stops = np.cumsum([len(words) for words, _ in part], dtype=np.int64)
        labels = np.array([label for _, label in part], np.int32)
        keep = np.ones(len(part), np.uint8)
        total.add(*accumulate(tokens, stops, labels, keep, 6, num_languages, once))
    stops, languages, counts = total.export()
    ends = [0, *stops.tolist()]
    found = [
        dict(zip(languages[a:b].tolist(), counts[a:b].tolist(), strict=True))
        for a, b in itertools.pairwise(ends)
    ]
    assert [list(item.items()) for item in found] == [list(item.items()) for item in expected]


@pytest.mark.parametrize("num_rows", [0xFFFE, 0xFFFF, 0x10000, 70_000])
@pytest.mark.parametrize("once", [True, False])
def test_counts_beyond_sixteen_bits(num_rows: int, once: bool) -> None:
    tokens = np.tile(np.array([1, 1, 0], np.uint32), num_rows)
    stops = np.arange(3, 3 * num_rows + 1, 3)
    labels, keep = np.zeros(num_rows, np.int32), np.ones(num_rows, np.uint8)
    words, _, _, counts = accumulate(tokens, stops, labels, keep, 2, 3, once)
    assert words.tolist() == [0, 1]
    assert counts.tolist() == [num_rows, num_rows if once else 2 * num_rows]


def test_equal_languages_go_to_the_one_met_first() -> None:
    # word 0 knows languages 2 then 1; word 1 knows 1 then 2
    word_stops, languages = np.array([2, 4]), np.array([2, 1, 1, 2], np.int32)
    tokens = np.array([0, 1, 0xFFFFFFFF], np.uint32)
    top, first, second, total = score_rows(tokens, np.array([2, 3]), word_stops, languages, 3)
    assert top.tolist() == [2, -1]
    assert (first.tolist(), second.tolist(), total.tolist()) == ([2, 0], [2, 0], [2, 1])


def best_two(row: list[int], table: list[list[int]]) -> tuple[int, int, int]:
    counts = Counter(language for word in row if word < len(table) for language in table[word])
    ranked = counts.most_common()  # equal ones in the order they were met
    first, second = [*(count for _, count in ranked), 0, 0][:2]
    return (ranked[0][0] if ranked else -1), first, second


TABLE = st.lists(st.lists(st.integers(0, 7), max_size=8, unique=True), min_size=1, max_size=6)


@given(TABLE, st.lists(st.lists(st.integers(0, 7), max_size=9), max_size=9), st.sampled_from([4, 8, 9]))
def test_the_best_two_languages_are_those_that_know_most_words(
    table: list[list[int]], rows: list[list[int]], num_languages: int
) -> None:
    table = [[language for language in item if language < num_languages] for item in table]
    rows = [*rows, [0] * 255, [0] * 256]  # as long as what is added up in bytes, and longer
    tokens = np.array([word for row in rows for word in row], np.uint32)
    stops = np.cumsum([len(row) for row in rows], dtype=np.int64)
    word_stops = np.cumsum([len(item) for item in table], dtype=np.int64)
    languages = np.array([language for item in table for language in item], np.int32)
    top, first, second, total = score_rows(tokens, stops, word_stops, languages, num_languages)
    assert list(zip(top.tolist(), first.tolist(), second.tolist(), strict=True)) == [
        best_two(row, table) for row in rows
    ]
    assert total.tolist() == [len(row) for row in rows]


def test_tokens_are_renumbered_whatever_their_width() -> None:
    numbers, out = np.array([7, 5, 9], np.uint32), np.zeros(5, np.uint32)
    renumber(numbers, np.array([2, 0, 0, 1], np.uint16), out)
    assert out.tolist() == [9, 7, 7, 5, 0]
    renumber(numbers, np.array([1, 1], np.uint32), out[3:])
    assert out.tolist() == [9, 7, 7, 5, 5]
    renumber(numbers, np.array([], np.uint16), out)
    assert out.tolist() == [9, 7, 7, 5, 5]
    with pytest.raises(ValueError, match="room for 1 of 2 numbers"):
        renumber(numbers, np.array([1, 1], np.uint16), out[:1])


# Not . , : @ + #, which may begin a number, a domain or a tag; long runs of letters, digits and blanks on purpose.
PLAIN = st.lists(
    st.sampled_from([*"abAB019 -!\t\x00\x7f", "aaa", "aAa", "111", "  ", "xyzw"]), max_size=40
).map("".join)


@given(st.lists(PLAIN, max_size=5))
def test_plain_rows_become_lower_case_words_without_runs_of_three_letters(texts: list[str]) -> None:
    buffer, starts, stops = columns(texts)
    found = encode_rows(load_tables(), buffer, starts, stops, -1, 1)
    ends, data = found["word_stops"].tolist(), found["words"].tobytes().decode()
    names = [data[a:b] for a, b in itertools.pairwise([0, *ends])]
    bounds = itertools.pairwise([0, *found["token_stops"].tolist()])
    assert [[names[i] for i in found["tokens"][a:b].tolist()] for a, b in bounds] == [
        plain_words(text) for text in texts
    ]
    assert len(found["texts"]) == 0  # cleaning these again changes nothing


def plain_words(text: str) -> list[str]:
    short = re.sub(r"([a-z])\1{2,}", r"\1\1", text.lower())
    words = re.sub(r"[^a-z0-9]+", " ", short).split()
    return [] if len(words) == 1 and words[0].isdigit() else words


def small_model() -> Scorer:
    words, _, word_stops = columns(["the", "der", "they"])
    counted = (np.array([1, 2, 4]), np.array([0, 1, 0, 1], np.int32), np.array([5, 4, 2, 1], np.uint32))
    keys, languages, counts = count_features(words, word_stops, *counted)
    order = np.lexsort((languages, keys))
    keys, languages, counts = keys[order], languages[order], counts[order]
    last = np.flatnonzero(np.append(keys[1:] != keys[:-1], True))
    floors = np.arange(10, dtype=np.int32).reshape(5, 2) * 7
    stops = (last + 1).astype(np.int64)
    values = (counts * 10).astype(np.int16)
    return Scorer(keys[last], stops, languages.astype(np.uint16), values, floors)


def test_scores_are_the_sums_of_values_and_floors_of_known_features() -> None:
    words, _, word_stops = columns(["the", "der", "they"])
    scorer = small_model()
    found, known = scorer.score(np.array([2, 0, 0], np.uint32), np.array([1, 3]), words, word_stops, 0, 2)
    assert found.shape == (2, 2)
    assert known.tolist() == [len(features_of(b"they")) - 1, 2 * (len(features_of(b"the")) - 1)]
    again, _ = scorer.score(np.array([2, 0, 0], np.uint32), np.array([1, 3]), words, word_stops, 1, 2)
    assert again.tolist() == found[1:].tolist()


def test_a_gradient_sums_to_zero_but_for_rounding() -> None:
    scores = np.array([[0, -2048, -100000], [5, 5, 5]], np.int32)
    gradient = softmax_gradient(scores, np.array([1, -1], np.int32), powers_of_two(11), 11)
    assert gradient[1].tolist() == [0, 0, 0]
    assert 0 <= int(gradient[0].sum()) < 3
    assert gradient[0, 0] == -(2 * 65536 // 3)


def test_sentences_end_at_stops_and_line_ends_but_not_at_initials_or_decimals() -> None:
    texts = ["It is 3.5 m. A. Turing said so! ok? Yes.\nnew", "一。二。", "   ", "one"]
    data, starts, stops = columns(texts)
    rows, begins, ends = split_sentences(load_tables(), data, starts, stops)
    found = [data[a:b].tobytes().decode().strip() for a, b in zip(begins, ends, strict=True)]
    assert found == ["It is 3.5 m.", "A. Turing said so! ok?", "Yes.", "new", "一。", "二。", "", "one"]
    assert rows.tolist() == [0, 0, 0, 0, 1, 1, 2, 3]


def test_a_label_ends_at_the_first_space_and_needs_its_prefix() -> None:
    data, starts, stops = columns(["__label__en a text", "no label", "__label__", "__label__de"])
    ends = split_labels(data, starts, stops, b"__label__")
    assert (ends - starts)[[0, 3]].tolist() == [11, 11]
    assert ends[[1, 2]].tolist() == [-1, -1]


def added_pairwise(values: list[float]) -> float:
    if len(values) > 128:
        half = len(values) // 2 // 8 * 8
        return added_pairwise(values[:half]) + added_pairwise(values[half:])
    whole = len(values) // 8 * 8
    a, b, c, d, e, f, g, h = (added(values[i:whole:8]) for i in range(8))
    return added(values[whole:], ((a + b) + (c + d)) + ((e + f) + (g + h)))


def added(values: list[float], total: float = 0.0) -> float:
    for value in values:  # not sum(), which compensates from Python 3.12 on
        total += value
    return total


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 127, 128, 129, 1000, 100_003])
def test_a_sum_of_floats_is_added_in_one_written_out_order(size: int) -> None:
    """The order is the kernel's own: NumPy 1.26 and 2 add 100,003 numbers in different ones."""
    values = np.arange(1, size + 1, dtype=np.float64) ** 2 / 7.0
    assert pairwise_sum(values).hex() == added_pairwise(values.tolist()).hex()
