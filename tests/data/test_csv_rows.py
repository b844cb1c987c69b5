"""CSV and TSV: columns by the header's names, records over several lines, any cell size."""

import csv
import io
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from samebits.data.inputs.blocks import BLOCK_BYTES
from samebits.errors import InputError

Reader = Callable[..., Any]


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.lists(st.text('ab",\n\r é', max_size=5), min_size=2, max_size=2), max_size=8),
    bom=st.booleans(),
    cell_bytes=st.integers(1, 30),
)
def test_any_cell_size_gives_what_csv_wrote(
    read: Reader, rows: list[list[str]], bom: bool, cell_bytes: int
) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows([["text", "n,o"], *rows])
    data = b"\xef\xbb\xbf" * bom + text.getvalue().encode()
    found = read(data, name="in.csv", columns=("n,o", "text"), cell_bytes=cell_bytes)
    assert found.rows == [(no, text) for text, no in rows]
    assert (found.bad, found.lines) == ([], list(range(len(rows))))


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.lists(st.sampled_from([b'"', b",", b"\n", b"\r\n", b"x", b"\xff", b"a,b\n"])).map(b"".join),
    cell_bytes=st.integers(1, 20),
)
def test_broken_files_are_read_the_same_for_any_cell_size(read: Reader, data: bytes, cell_bytes: int) -> None:
    whole = read(b"text,b\n" + data, name="in.csv")
    cut = read(b"text,b\n" + data, name="in.csv", cell_bytes=cell_bytes)
    assert (cut.rows, cut.bad, cut.num_blank) == (whole.rows, whole.bad, whole.num_blank)
    assert (cut.lines, cut.offsets) == (whole.lines, whole.offsets)


@pytest.mark.parametrize("cell_bytes", [BLOCK_BYTES, 100_000, 1 << 20])
def test_quoted_newlines_over_many_blocks_do_not_end_records(read: Reader, cell_bytes: int) -> None:
    texts = [f'{number} "quoted"\n, ' * (number % 50) for number in range(2000)]
    text = io.StringIO()
    csv.writer(text).writerows([["id", "text"], *([number, t] for number, t in enumerate(texts))])
    assert read(text.getvalue().encode(), name="in.csv", cell_bytes=cell_bytes).texts == texts


def test_tabs_separate_and_columns_may_be_in_any_order(read: Reader) -> None:
    data = b'id\tlang\ttext\n1\ten\tHe said "no", twice\r\n2\tde\t"a\tb"\n'
    found = read(data, name="in.tsv", columns=("text", "lang"))
    assert found.rows == [('He said "no", twice', "en"), ("a\tb", "de")]


def test_blank_lines_are_counted_and_spaces_are_data(read: Reader) -> None:
    found = read(b"text\n\n \n\r\na\n", name="in.csv")
    assert (found.texts, found.num_blank, found.lines) == ([" ", "a"], 2, [1, 3])


def test_records_that_do_not_fit_are_bad_rows(read: Reader) -> None:
    data = b'text,n\na,1\nb\n"c"x,2\nd,\xff\ne,2,3\nf,3\n"open,4\n'
    found = read(data, name="in.csv")
    assert found.texts == ["a", "f"]
    assert found.bad == [
        (1, 11, "1 fields, the header has 2"),
        (2, 13, "text after the closing quote of a field"),
        (3, 20, "invalid UTF-8 at byte 2: 0xff"),
        (4, 24, "3 fields, the header has 2"),
        (6, 34, "a quoted field is never closed"),
    ]


def test_a_record_that_is_too_long_is_bad(read: Reader) -> None:
    data = b"text,n\na,1\n" + b'"' + b"x\n" * 400_000 + b'",2\nb,3\n'
    found = read(data, name="in.csv", cell_bytes=1000, max_line_bytes=500)
    assert (found.texts, found.bad) == (["a", "b"], [(1, 11, "longer than 500 bytes")])


def test_an_empty_file_has_no_rows(read: Reader) -> None:
    assert read(b"", name="in.csv").rows == []
    assert read(b"text,n\n", name="in.csv").rows == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a,texts\n1,2\n", r"no column 'text' in the header\nhint: did you mean 'texts'\?"),
        (b"a,b\n1,2\n", r"no column 'text' in the header\nhint: known: a, b"),
        (b"text,text\n1,2\n", "2 columns 'text' in the header"),
        (b"\xef\xbb\xbf", "the header row cannot be used: it is empty"),
        (b"\n1\n", "the header row cannot be used: it is empty"),
        (b"te\xffxt\n1\n", "the header row cannot be used: 'utf-8' codec"),
        (b'"text', "the header row cannot be used: unexpected end of data"),
        (b"text" * 1000 + b"\n", "the header row cannot be used: longer than 100 bytes"),
    ],
)
@pytest.mark.parametrize("cell_bytes", [2, 1 << 20])
def test_a_header_that_cannot_be_used_is_an_error(
    read: Reader, data: bytes, message: str, cell_bytes: int
) -> None:
    with pytest.raises(InputError, match=message):
        read(data, name="in.csv", cell_bytes=cell_bytes, max_line_bytes=100)
