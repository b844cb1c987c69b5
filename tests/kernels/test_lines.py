"""The line kernel against what Python itself says of the same bytes."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from samebits.kernels.text import lines

HOSTILE = st.lists(
    st.sampled_from(
        [
            b"\n",
            b"\r",
            b"\r\n",
            b" ",
            b"\t",
            b"x",
            b"plain ascii of some length ",
            "é漢🙂".encode(),
            b"\x00",
            b"\xff",
            b"\xc0\x80",
            b"\xc3",
            b"\xed\xa0\x80",
            b"\xe0\x80\x80",
            b"\xf4\x90\x80\x80",
            b"\xf0\x9f",
        ]
    )
).map(b"".join)


def reference_lines(data: bytes) -> list[bytes]:
    pieces = data.split(b"\n")
    ended, last = pieces[:-1], pieces[-1]
    return [line.removesuffix(b"\r") for line in ended] + ([last] if last else [])


def first_invalid(data: bytes) -> int:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.start
    return len(data)


def reference_kind(line: bytes) -> int:
    if first_invalid(line) < len(line):
        return lines.INVALID
    return lines.TEXT if line.strip(b" \t") else lines.BLANK


@given(data=HOSTILE)
def test_lines_and_their_kinds_are_those_python_finds(data: bytes) -> None:
    starts, stops = lines.split_lines(data, 0, len(data))
    found = [data[a:b] for a, b in zip(starts, stops, strict=True)]
    assert found == reference_lines(data)
    assert lines.classify_lines(data, starts, stops).tolist() == [reference_kind(line) for line in found]


@given(data=st.binary(max_size=80) | HOSTILE)
def test_first_invalid_byte_is_where_decode_stops(data: bytes) -> None:
    assert lines.find_invalid(data, 0, len(data)) == first_invalid(data)


@settings(max_examples=50)
@given(data=st.text(max_size=60))
def test_every_text_is_valid(data: str) -> None:
    encoded = data.encode("utf-8", "surrogatepass")
    assert lines.find_invalid(encoded, 0, len(encoded)) == first_invalid(encoded)


def test_every_two_and_three_byte_sequence_gets_the_verdict_of_python() -> None:
    firsts = range(0xC0, 0x100)
    for first in firsts:
        for second in range(0x70, 0xD0):
            for tail in (b"", b"\x80", b"\xbf", b"\x7f", b"\x80\x80", b"\x80\xbf!"):
                data = bytes((first, second)) + tail
                assert lines.find_invalid(data, 0, len(data)) == first_invalid(data), data


@given(data=HOSTILE, start=st.integers(0, 40), length=st.integers(0, 60))
def test_newlines_are_counted_and_found_in_any_range(data: bytes, start: int, length: int) -> None:
    start = min(start, len(data))
    stop = min(start + length, len(data))
    found = data.find(b"\n", start, stop)
    assert lines.count_newlines(data, start, stop) == data.count(b"\n", start, stop)
    assert lines.find_newline(data, start, stop) == (stop if found < 0 else found)
    assert lines.line_start(data, start, stop) == max(data.rfind(b"\n", start, stop) + 1, start)


def test_counting_is_exact_over_many_full_counters() -> None:
    data = np.full(100_003, 10, dtype=np.uint8)
    assert lines.count_newlines(data, 1, len(data)) == 100_002


def test_an_empty_range_has_no_lines() -> None:
    starts, stops = lines.split_lines(b"", 0, 0)
    assert len(starts) == len(stops) == len(lines.classify_lines(b"", starts, stops)) == 0
