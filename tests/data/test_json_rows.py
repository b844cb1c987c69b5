"""JSON lines: rows equal to a plain loop over json, any cell size; everything else is a bad row with a reason."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Reader = Callable[..., Any]
LINES = st.lists(
    st.sampled_from(
        [
            b'{"text":"',
            b'"}',
            b"{",
            b"}",
            b'"',
            b"\\",
            b"\n",
            b"\r",
            b" ",
            b"x",
            "é".encode(),
            b'{"text":"y"}\n',
        ]
    )
).map(b"".join)


def reference(data: bytes) -> tuple[list[str], int]:
    texts, bad = [], 0
    *lines, rest = data.split(b"\n")
    for line in [line.removesuffix(b"\r") for line in lines] + [rest]:
        if not line.strip(b" \t"):
            continue
        try:
            texts.append(str(json.loads(line)["text"]))
        except (ValueError, KeyError, TypeError):
            bad += 1
    return texts, bad


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=LINES, cell_bytes=st.integers(1, 40))
def test_any_cell_size_gives_the_rows_of_a_plain_loop(read: Reader, data: bytes, cell_bytes: int) -> None:
    found = read(data, name="in.jsonl", cell_bytes=cell_bytes)
    texts, bad = reference(data)
    assert found.texts == texts
    assert len(found.bad) == bad


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "not valid JSON: Input data was truncated"),
        (b'{"text":"a"} {"text":"b"}', "not valid JSON: trailing characters (byte 14)"),
        (b'{"text":NaN}', "not valid JSON: invalid character (byte 8)"),
        (b'{"text":"a\x00b"}', "not valid JSON: invalid character (byte 10)"),
        (b'{"text":"\\ud800 alone"}', "lone surrogate \\ud800 in a string"),
        (b'{"text":"fine","other":"\\udc00"}', "lone surrogate \\udc00 in a string"),
        (b"[1]", "not a JSON object but an array"),
        (b"7", "not a JSON object but a number"),
        (b'{"txt":"a"}', "no key 'text'"),
        (b'{"text":null}', "'text' is null, not a string"),
        (b'{"text":7}', "'text' is a number, not a string"),
        (b'{"text":true}', "'text' is a boolean, not a string"),
        (b'{"text":{"text":"a"}}', "'text' is an object, not a string"),
        (b'{"text":"first","text":["last"]}', "'text' is an array, not a string"),
        (b'{"text":"\xff"}', "invalid UTF-8 at byte 9: 0xff"),
        (b'{"text":"a","deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested deeper than 256 levels"),
        (
            b"\xef\xbb\xbf" + b'{"text":"a mark inside the file"}',
            "not valid JSON: invalid character (byte 0)",
        ),
    ],
)
def test_unusable_lines_are_bad_rows_with_a_reason(read: Reader, line: bytes, reason: str) -> None:
    found = read(b'{"text":"before"}\n' + line + b'\n{"text":"after"}\n', name="in.jsonl")
    assert found.texts == ["before", "after"]
    assert found.bad == [(1, 18, reason)]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (b'{"text":"a","deep":' + b"[" * 250 + b"]" * 250 + b"}", "a"),
        (b'{"t\\u0065xt":"escaped key"}', "escaped key"),
        (b'{"text":7,"text":"last \\u00e9"}', "last é"),
        (b'{"text":"nul \\u0000 kept"}', "nul \x00 kept"),
        (b'{"big":123456789012345678901234567890,"text":"a"}', "a"),
        (b'{"text":""}', ""),
        (b'\xef\xbb\xbf{"text":"mark at the start"}\r', "mark at the start"),
    ],
)
def test_unusual_lines_are_rows(read: Reader, line: bytes, text: str) -> None:
    found = read(line + b"\n\n", name="in.jsonl")
    assert (found.texts, found.bad, found.num_blank) == ([text], [], 1)


def test_several_columns_in_any_order(read: Reader) -> None:
    lines = [
        b'{"b":"1\\n","a":"2"}',
        b'{"a":"3","c":0,"b":"\\u00e9"}',
        b'{"a":"4"}',
        b'{"\\u0061":"5","b":"6\\t"}',
    ]
    found = read(b"\n".join(lines), name="in.ndjson", columns=("a", "b"))
    assert found.rows == [("2", "1\n"), ("3", "é"), ("5", "6\t")]
    assert found.reasons == ["no key 'b'"]


def test_a_long_line_is_bad(read: Reader) -> None:
    data = b'{"text":"' + b"x" * 500_000 + b'"}\n{"text":"a"}\n'
    found = read(data, name="in.jsonl", cell_bytes=100, max_line_bytes=1000)
    assert (found.texts, found.bad) == (["a"], [(0, 0, "longer than 1000 bytes")])
