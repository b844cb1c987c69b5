"""The files a store consists of, against NumPy's own and against a reader written from the format's description."""

from __future__ import annotations

import contextlib
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.errors import InputError
from samebits.tokens.layouts.megatron import read_index, write_index
from samebits.tokens.layouts.npy_stream import NpyStream, npy_header
from samebits.tokens.long_rows import fit_rows


@pytest.mark.parametrize(("dtype", "shape"), [("<u2", (3, 5)), ("|u1", (7,)), ("<u8", (0,)), ("|b1", (2, 3))])
def test_headers_are_those_of_numpy(dtype: str, shape: tuple[int, ...]) -> None:
    file = io.BytesIO()
    np.save(file, np.zeros(shape, dtype))
    assert file.getvalue()[:128] == npy_header(np.dtype(dtype), shape)


def test_an_appended_array_is_the_file_numpy_would_write(tmp_path: Path) -> None:
    rows = np.arange(12, dtype="<u2").reshape(4, 3)
    stream = NpyStream(tmp_path / "a.npy", "<u2", 3)
    stream.append(rows[:1])
    stream.append(rows[1:])
    stream.close()
    np.save(tmp_path / "b.npy", rows)
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_rows_of_another_width_are_refused(tmp_path: Path) -> None:
    stream = NpyStream(tmp_path / "a.npy", "<u2", 3)
    with pytest.raises(ValueError, match="width 3"):
        stream.append(np.zeros((2, 4), np.uint16))
    stream.close()


def test_an_index_comes_back_as_it_was_written(tmp_path: Path) -> None:
    offsets = np.array([0, 3, 3, 10], np.uint64)
    write_index(tmp_path / "a.idx", offsets, "<u2")
    dtype, lengths, pointers = read_index(tmp_path / "a.idx")
    assert (dtype, lengths.tolist(), pointers.tolist()) == ("<u2", [3, 0, 7], [0, 6, 6])
    assert (tmp_path / "a.idx").stat().st_size == 34 + 3 * 4 + 3 * 8 + 4 * 8


@given(st.binary(max_size=80))
def test_no_bytes_can_upset_the_index_reader(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.idx"
        for head in (b"", b"MMIDIDX\x00\x00", b"MMIDIDX\x00\x00" + (1).to_bytes(8, "little") + b"\x08"):
            path.write_bytes(head + data)
            with contextlib.suppress(InputError):
                read_index(path)


def plain_fit(rows: list[list[int]], width: int, policy: str, step: int) -> list[list[int]]:
    out = []
    for row in rows:
        if len(row) <= width:
            out.append(row)
        elif policy == "cut":
            out.append(row[:width])
        elif policy == "window":
            start = 0
            while True:
                out.append(row[start : start + width])
                if start + width >= len(row):
                    break
                start += step
    return out


@given(
    st.lists(st.lists(st.integers(0, 99), max_size=12), max_size=6),
    st.integers(1, 6),
    st.sampled_from(["cut", "drop", "window"]),
    st.integers(1, 6),
)
def test_long_rows_are_cut_dropped_or_windowed(
    rows: list[list[int]], width: int, policy: str, step: int
) -> None:
    ids = np.array([i for row in rows for i in row], np.uint16)
    lengths = np.array([len(row) for row in rows], np.int64)
    step = min(step, width)
    fitted = fit_rows(ids, lengths, width=width, policy=policy, step=step)
    stops = np.cumsum(fitted.lengths)
    got = [
        fitted.ids[b - n : b].tolist() for b, n in zip(stops.tolist(), fitted.lengths.tolist(), strict=True)
    ]
    assert got == plain_fit(rows, width, policy, step)
    for piece, row, start in zip(got, fitted.rows.tolist(), fitted.starts.tolist(), strict=True):
        assert rows[row][start : start + len(piece)] == piece
    long = [i for i, row in enumerate(rows) if len(row) > width]
    assert fitted.cut.tolist() == (long if policy == "cut" else [])
    assert fitted.dropped.tolist() == (long if policy == "drop" else [])
