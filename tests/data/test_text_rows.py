"""Plain text: a row is a line, whatever the cell size; nothing is lost and nothing is read twice."""

import gzip
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

Reader = Callable[..., Any]
TEXTS = st.lists(
    st.sampled_from([b"{", b"}", b'"', b"\\", b"\n", b"\r", b" ", b"x", "é".encode(), b"\xff"])
).map(b"".join)


def reference(data: bytes) -> tuple[list[str], list[int], list[int], list[int], int]:
    """Texts, their line numbers and offsets, bad line numbers, and the number of lines, by plain Python."""
    texts, numbers, offsets, bad = [], [], [], []
    at = 3 if data.startswith(b"\xef\xbb\xbf") else 0
    *lines, rest = data[at:].split(b"\n")
    ended = len(lines)
    lines += [rest] if rest else []
    for number, raw in enumerate(lines):
        line = raw.removesuffix(b"\r") if number < ended else raw
        start = at
        at += len(raw) + 1
        try:
            text = line.decode()
        except UnicodeDecodeError:
            bad.append(number)
            continue
        if text.strip(" \t"):
            texts.append(text)
            numbers.append(number)
            offsets.append(start)
    return texts, numbers, offsets, bad, len(lines)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=TEXTS, bom=st.booleans(), cell_bytes=st.integers(1, 20))
def test_any_cell_size_gives_the_lines_of_the_file(
    read: Reader, data: bytes, bom: bool, cell_bytes: int
) -> None:
    data = b"\xef\xbb\xbf" * bom + data
    found = read(data, cell_bytes=cell_bytes)
    texts, numbers, offsets, bad, num_lines = reference(data)
    assert found.texts == texts
    assert found.lines == numbers
    assert found.offsets == offsets
    assert [line for line, _, _ in found.bad] == bad
    assert found.num_lines == num_lines


@pytest.mark.parametrize("cell_bytes", [1, 7, 1 << 18, (1 << 18) + 1, 1 << 20])
def test_lines_across_cells_and_blocks_are_whole(read: Reader, cell_bytes: int) -> None:
    lines = [b"%d " % number * (number % 97) for number in range(1, 6000 if cell_bytes > 7 else 60)]
    data = b"\n".join(lines)
    found = read(data, cell_bytes=cell_bytes)
    assert found.texts == [line.decode() for line in lines if line]


@pytest.mark.parametrize(
    ("data", "texts", "num_blank"),
    [
        (b"", [], 0),
        (b"\xef\xbb\xbf", [], 0),
        (b"\xef\xbb\xbfone\n", ["one"], 0),
        (b"one\n\xef\xbb\xbftwo", ["one", "\ufefftwo"], 0),
        (b"one\r\ntwo\r\n", ["one", "two"], 0),
        (b"a\rb\r\r\nc\r", ["a\rb\r", "c\r"], 0),
        (b"no newline at the end", ["no newline at the end"], 0),
        (b"\n\n \n\t\r\n", [], 4),
        (b"nul \x00 inside\n\x00\n", ["nul \x00 inside", "\x00"], 0),
        ("a\u2028b\u0085c\n".encode(), ["a\u2028b\u0085c"], 0),
    ],
    ids=["empty", "only BOM", "BOM", "BOM later", "CRLF", "lone CR", "no newline", "blank", "NUL", "U+2028"],
)
def test_odd_but_valid_text(read: Reader, data: bytes, texts: list[str], num_blank: int) -> None:
    found = read(data)
    assert (found.texts, found.num_blank, found.bad) == (texts, num_blank, [])


def test_invalid_utf8_is_a_bad_row_with_line_offset_and_byte(read: Reader) -> None:
    found = read(b"good\n\nab\xffcd\nalso good\n\xed\xa0\x80\n", cell_bytes=5)
    assert found.texts == ["good", "also good"]
    assert found.bad == [
        (2, 6, "invalid UTF-8 at byte 2: 0xff"),
        (4, 22, "invalid UTF-8 at byte 0: 0xed"),
    ]
    assert found.num_blank == 1


@pytest.mark.parametrize("cell_bytes", [3, 64, 1 << 20])
def test_the_longest_line_allowed_is_a_row_and_one_byte_more_is_bad(read: Reader, cell_bytes: int) -> None:
    data = b"a\n" + b"x" * 10 + b"\r\n" + b"y" * 11 + b"\r\nb\n" + b"z" * 12
    found = read(data, cell_bytes=cell_bytes, max_line_bytes=10)
    assert found.texts == ["a", "xxxxxxxxxx", "b"]
    assert found.bad == [(2, 14, "longer than 10 bytes"), (4, 29, "longer than 10 bytes")]


def test_a_line_over_many_cells_is_never_read_as_a_whole(read: Reader) -> None:
    data = b"before\n" + b"x" * 3_000_000 + b"\nafter\n"
    found = read(data, cell_bytes=1 << 18, max_line_bytes=1000)
    assert found.texts == ["before", "after"]
    assert found.bad == [(1, 7, "longer than 1000 bytes")]


@pytest.mark.parametrize("name", ["in.txt", "in.txt.gz"])
def test_memory_stays_small_however_long_a_line_is(read: Reader, name: str) -> None:
    data = b"before\n" + b"x" * (40 << 20) + b"\nafter\n"
    data = gzip.compress(data, 1) if name.endswith(".gz") else data
    tracemalloc.start()
    try:
        found = read(data, name=name, cell_bytes=1 << 20, max_line_bytes=1 << 20, stream_bytes=1 << 20)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.texts == ["before", "after"]
    assert found.bad == [(1, 7, "longer than 1048576 bytes")]
    assert peak < 12 << 20  # the cell, its line of a megabyte, and the block that is hashed
