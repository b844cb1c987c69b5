"""The JSON kernel may pass a line on, but what it accepts must be what msgspec and json read."""

import json

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samebits.kernels.text import jsonl

PIECES = st.lists(
    st.sampled_from(
        [
            '{"t":"',
            '"}',
            '"',
            "{",
            "}",
            "[",
            "]",
            ":",
            ",",
            " ",
            "\r",
            "\t",
            "t",
            "text",
            '"t":',
            '"u":',
            "\\",
            "\\n",
            "\\u00e9",
            "\\ud83d",
            "\\ude42",
            "\\u",
            "\\/",
            "0",
            "1",
            "-",
            ".5",
            "e9",
            "E+999",
            "é",
            "null",
            "true",
            "false",
            "NaN",
            "\x01",
            "x" * 9,
            '{"u":[1,{}],"t":"a"}',
            "\x7f",
            "12345678901234567890",
        ]
    ),
    max_size=14,
).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


def extract(line: bytes, keys: list[bytes]) -> list[bytes] | None:
    """The values of one line, the same with and without AVX-512 and room behind it, or None where the kernel passes."""
    found = [extract_one(line, keys, wide, behind) for wide in (True, False) for behind in (2, 80)]
    assert found.count(found[0]) == len(found)
    return found[0]


def extract_one(line: bytes, keys: list[bytes], wide: bool, behind: int) -> list[bytes] | None:
    """The values of one line; a passed line must be untouched."""
    data = np.frombuffer(b"##" + line + b"#" * behind, dtype=np.uint8).copy()
    accepted, starts, stops = jsonl.extract_strings(
        data, np.array([2]), np.array([2 + len(line)]), np.zeros(1, dtype=np.uint8), keys, wide
    )
    assert data[:2].tobytes() == b"##"
    assert data[-behind:].tobytes() == b"#" * behind
    if not accepted[0]:
        assert data[2:-behind].tobytes() == line
        return None
    return [data[starts[k, 0] : stops[k, 0]].tobytes() for k in range(len(keys))]


@settings(max_examples=800)
@given(line=PIECES)
def test_accepted_lines_are_read_as_msgspec_and_json_read_them(line: str) -> None:
    found = extract(line.encode(), [b"t"])
    if found is not None:
        assert msgspec.json.decode(line.encode())["t"] == json.loads(line)["t"] == found[0].decode()


@settings(max_examples=150)
@given(
    rest=st.dictionaries(st.text(max_size=5), VALUES, max_size=4),
    t=st.text(max_size=40),
    u=st.text(max_size=40),
    ascii_only=st.booleans(),
)
def test_values_survive_a_round_trip(rest: dict[str, object], t: str, u: str, ascii_only: bool) -> None:
    line = json.dumps({**rest, "t": t, "u": u}, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    found = extract(line, [b"u", b"t"])
    if found is not None:
        assert found == [u.encode(), t.encode()]


@settings(max_examples=200)
@given(
    pieces=st.lists(
        st.sampled_from(["\n", '"', "\\", "\t", "é", "\u2028", "🙂", "\x01", ""])
        | st.text("ab\x7fü", max_size=40),
        min_size=10,
        max_size=60,
    ),
    ascii_only=st.booleans(),
)
def test_texts_with_many_escapes_are_all_accepted(pieces: list[str], ascii_only: bool) -> None:
    text = "".join(pieces)
    line = json.dumps({"t": text}, ensure_ascii=ascii_only).encode()
    assert extract(line, [b"t"]) == [text.encode()]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ('{"t":""}', [b""]),
        (' { "t" : "a b" } \r', [b"a b"]),
        ('{"t":"first","t":"last"}', [b"last"]),
        (r'{"t":"\"\\\/\b\f\n\r\t"}', [b'"\\/\x08\x0c\n\r\t']),
        (
            r'{"t":"\u0000\u007f\u0080\u07ff\u0800\uffff\ud83d\ude42!"}',
            ["\0\x7f\x80\u07ff\u0800\uffff🙂!".encode()],
        ),
        ('{"u":[[],{},[{"t":1}]],"v":-0.5e-10,"w":null,"t":"x"}', [b"x"]),
        ('{"u":' + "[" * 64 + "]" * 64 + ',"t":"deep"}', [b"deep"]),
    ],
)
def test_plain_lines_are_accepted(line: str, values: list[bytes]) -> None:
    assert extract(line.encode(), [b"t"]) == values


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{}",
        "[]",
        '"t"',
        '{"t":1}',
        '{"t":null}',
        '{"x":"t"}',
        '{"t":"a"} x',
        '{"t":"a"}{"t":"b"}',
        '{"t":"a",}',
        '{"t":"\x01"}',
        '{"t":"\\ud800"}',
        '{"t":"\\udc00\\ud800"}',
        '{"t":"\\x"}',
        '{"\\u0074":"a"}',
        "{'t':'a'}",
        '{"t":"a","u":NaN}',
        '{"t":"a","u":01}',
        '{"t":"a","u":1.}',
        '{"t":"a","u":+1}',
        '{"t":"a","u":1e999}',
        '{"t":"a","u":[1,]}',
        '{"t":"a","u":{"b"}}',
        '{"t":"a","u":[}',
        '{"t":"a"',
        '{"t":"a',
        '{"t":"a\\',
        '{"t":',
        '{"t":"a","u":' + "[" * 65 + "]" * 65 + "}",
        '{"t":"a","u":tru}',
        '{"t":"a","u":truex}',
        '{"t" "a"}',
        "{t:1}",
    ],
)
def test_doubtful_lines_are_passed_on_untouched(line: str) -> None:
    assert extract(line.encode(), [b"t"]) is None


def test_lines_of_another_kind_are_left_alone() -> None:
    line = rb'{"t":"\n"}'
    data = np.frombuffer(line * 2, dtype=np.uint8).copy()
    starts, stops = np.array([0, len(line)]), np.array([len(line), 2 * len(line)])
    accepted, _, _ = jsonl.extract_strings(data, starts, stops, np.array([2, 0], dtype=np.uint8), [b"t"])
    assert accepted.tolist() == [0, 1]
    assert data[: len(line)].tobytes() == line
