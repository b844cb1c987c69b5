"""The CSV kernel against Python's ``csv``, and its automaton against itself cut at any byte."""

import csv
import io
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from samebits.kernels.text import csvrows

COMMA = ord(",")
TEXTS = st.lists(st.sampled_from([b'"', b'""', b",", b"\n", b"\r\n", b"\r", b"a", b" ", "é".encode()])).map(
    b"".join
)


def fields_of(record: bytes) -> tuple[int, list[bytes]]:
    """Fault and fields of one record by the kernel."""
    for num_fields in range(1, 30):
        data = np.frombuffer(record + b"#", dtype=np.uint8).copy()
        faults, counts, starts, stops = csvrows.extract_fields(
            data,
            np.array([0]),
            np.array([len(record)]),
            np.zeros(1, dtype=np.uint8),
            COMMA,
            np.arange(num_fields),
            num_fields,
        )
        if faults[0] == csvrows.FINE:
            return 0, [data[starts[k, 0] : stops[k, 0]].tobytes() for k in range(num_fields)]
        if faults[0] != csvrows.WRONG_COUNT:
            return int(faults[0]), []
        assert counts[0] > num_fields
    raise AssertionError(record)


@settings(max_examples=300)
@given(rows=st.lists(st.lists(st.text("ab\"',\n\r é", max_size=5), min_size=2, max_size=4), max_size=6))
def test_what_csv_writes_is_read_back(rows: list[list[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    data = text.getvalue().encode()
    starts, stops = csvrows.split_records(data, 0, len(data), COMMA)
    found = [fields_of(data[a:b]) for a, b in zip(starts, stops, strict=True)]
    assert found == [(0, [field.encode() for field in row]) for row in rows]


@settings(max_examples=300)
@given(data=TEXTS)
def test_records_without_a_fault_are_those_csv_reads(data: bytes) -> None:
    """Lone CRs are left out: they end a record for ``csv`` and are text here."""
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"")
    starts, stops = csvrows.split_records(data, 0, len(data), COMMA)
    expected = list(csv.reader(io.StringIO(data.decode(), newline="")))
    assert len(starts) == len(expected)
    for start, stop, row in zip(starts, stops, expected, strict=True):
        if start == stop:
            assert row == []
            continue
        fault, fields = fields_of(data[start:stop])
        if fault == csvrows.FINE:
            assert fields == [field.encode() for field in row]


@given(data=TEXTS, cuts=st.lists(st.integers(0, 40), max_size=4))
def test_the_automaton_can_stop_and_go_on_anywhere(data: bytes, cuts: list[int]) -> None:
    whole, first, last = csvrows.scan_records(data, 0, len(data), 0, COMMA)
    bounds = sorted({0, len(data), *(min(cut, len(data)) for cut in cuts)})
    state = 0
    found: list[int] = []
    for start, stop in itertools.pairwise(bounds):
        state, one, other = csvrows.scan_records(data, start, stop, state, COMMA)
        found += [at for at in (one, other) if at]
    assert state == (whole if data else 0)
    assert (min(found, default=0), max(found, default=0)) == (first, last)


@pytest.mark.parametrize(
    ("record", "fault", "fields"),
    [
        (b"a,b", csvrows.FINE, [b"a", b"b"]),
        (b",", csvrows.FINE, [b"", b""]),
        (b'"a,b","say ""hi"""', csvrows.FINE, [b"a,b", b'say "hi"']),
        (b'5" pipe,an "inner" quote', csvrows.FINE, [b'5" pipe', b'an "inner" quote']),
        (b'"",""""', csvrows.FINE, [b"", b'"']),
        (b'"two\nlines",x', csvrows.FINE, [b"two\nlines", b"x"]),
        (b'"a"b,c', csvrows.TEXT_AFTER_QUOTE, []),
        (b'a,"never closed', csvrows.OPEN_QUOTE, []),
    ],
)
def test_fields(record: bytes, fault: int, fields: list[bytes]) -> None:
    assert fields_of(record) == (fault, fields)
