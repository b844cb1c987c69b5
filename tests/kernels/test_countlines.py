"""Counts as JSON lines, against msgspec writing the same rows."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samebits.kernels.text.countlines import count_lines

counts = st.one_of(st.integers(0, 20), st.integers(0, 2**63 - 1))
rows = st.lists(st.tuples(st.text(max_size=12), counts), max_size=8)


def lines_of(table: list[tuple[str, int]], order: list[int]) -> bytes:
    keys = [key.encode() for key, _ in table]
    offsets = np.concatenate([[0], np.cumsum([len(key) for key in keys])]).astype(np.int64)
    numbers = np.array([count for _, count in table], dtype=np.int64)
    chosen = np.array(order, dtype=np.int64)
    return count_lines(b"".join(keys), offsets, numbers, chosen, b"ngram", b"count").tobytes()


def by_msgspec(table: list[tuple[str, int]]) -> bytes:
    return msgspec.json.Encoder().encode_lines([{"ngram": key, "count": count} for key, count in table])


@given(rows, st.data())
def test_lines_are_those_of_the_json_library_in_the_order_given(
    table: list[tuple[str, int]], data: st.DataObject
) -> None:
    order = data.draw(st.permutations(range(len(table))))[: data.draw(st.integers(0, len(table)))]
    assert lines_of(table, order) == by_msgspec([table[i] for i in order])


def test_every_ascii_character_is_escaped_as_the_json_library_does() -> None:
    table = [(chr(code) * 3, code) for code in range(129)]
    assert lines_of(table, list(range(129))) == by_msgspec(table)
