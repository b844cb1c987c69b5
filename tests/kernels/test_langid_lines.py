"""Rows as lines: the kernels give the bytes of msgspec and of str.split."""

from __future__ import annotations

import msgspec
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from samebits.kernels.langid.text.lines import json_lines, label_lines
from samebits.langid.model.model import column_of
from samebits.langid.tables import load_tables

TEXTS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=8)


Positions = NDArray[np.int64]
Columns = tuple[NDArray[np.uint8], Positions, Positions, NDArray[np.uint8], Positions, Positions]


def columns(texts: list[str], labels: list[str]) -> Columns:
    text, label = column_of(texts), column_of(labels)
    return text.buffer, text.starts, text.stops, label.buffer, label.starts, label.stops


@given(TEXTS)
def test_json_lines_are_those_of_msgspec(texts: list[str]) -> None:
    labels = [text[::-1] for text in texts]
    rows = np.arange(len(texts), dtype=np.int64)[::2].copy()
    found = json_lines(*columns(texts, labels), rows, b'{"text":"', b'","lang":"').tobytes()
    wanted = [{"text": texts[i], "lang": labels[i]} for i in rows.tolist()]
    assert found == msgspec.json.Encoder().encode_lines(wanted)


def test_every_ascii_character_is_escaped_as_msgspec_does() -> None:
    texts = [chr(i) for i in range(128)]
    found = json_lines(
        *columns(texts, texts), np.arange(128, dtype=np.int64), b'{"text":"', b'","lang":"'
    ).tobytes()
    assert found == msgspec.json.Encoder().encode_lines([{"text": c, "lang": c} for c in texts])


@given(TEXTS)
def test_label_lines_hold_one_space_where_the_text_has_white_space(texts: list[str]) -> None:
    labels = [f"l{i}" for i in range(len(texts))]
    found = label_lines(load_tables(), *columns(texts, labels), np.arange(len(texts), dtype=np.int64))
    wanted = [
        f"__label__{label} {' '.join(text.split())}\n" for label, text in zip(labels, texts, strict=True)
    ]
    assert found.tobytes().decode() == "".join(wanted)
