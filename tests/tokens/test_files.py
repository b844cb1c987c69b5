"""The files a store consists of, against NumPy's own and against a reader written from the format's description."""

from __future__ import annotations

import contextlib
import io
import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.core.seeds import rng_for
from samebits.data.array_file import npy_header
from samebits.data.folding import output_file
from samebits.data.folding.piece_files import PieceFolder
from samebits.errors import InputError
from samebits.tokens.keeping.kept_rows import Group, KeptRows, RowTable, group_pieces
from samebits.tokens.layouts import store_file
from samebits.tokens.layouts.interface import Extras, split_files
from samebits.tokens.layouts.megatron import read_index
from samebits.tokens.layouts.store_file import StoreShape
from samebits.tokens.layouts.table import LAYOUTS
from samebits.tokens.long_rows import fit_rows


@pytest.mark.parametrize(("dtype", "shape"), [("<u2", (3, 5)), ("|u1", (7,)), ("<u8", (0,)), ("|b1", (2, 3))])
def test_headers_are_those_of_numpy(dtype: str, shape: tuple[int, ...]) -> None:
    file = io.BytesIO()
    np.save(file, np.zeros(shape, dtype))
    assert file.getvalue()[:128] == npy_header(dtype, shape)


Rows = list[tuple[list[int], int, int]]  # ids, line, prompt


def kept(folder: PieceFolder, groups: list[Rows], dtype: str, lines: list[int]) -> RowTable:
    """Keep groups of rows as a worker would; the lines of group i count from ``lines[i]``."""
    found = []
    for number, rows in enumerate(groups):
        ids = [np.array(ids, dtype) for ids, _, _ in rows]
        lengths, begins, prompts = (
            np.array(column, np.int64)
            for column in ([len(one) for one in ids], [row[1] for row in rows], [row[2] for row in rows])
        )
        pieces = group_pieces(lengths, begins, prompts, ids)
        found.append(folder.write(f"group-{number}", pieces)[0])
    sizes = [[len(rows), sum(len(ids) for ids, _, _ in rows)] for rows in groups]
    return RowTable.of([Group(index, 0, len(index.sizes)) for index in found], sizes, lines)


def plain_files(rows: Rows, layout: str, dtype: str, width: int, pad: int) -> dict[str, bytes]:
    """What one process writes that has all rows."""
    lengths = [len(ids) for ids, _, _ in rows]
    offsets = np.cumsum([0, *lengths])
    arrays = {"source": np.array([line for _, line, _ in rows], "<u8")}
    prompts = [prompt for _, _, prompt in rows]
    if layout == "packed":
        arrays |= {"offsets": offsets.astype("<u8"), "prompts": np.array(prompts, "<u4")}
    else:
        padded = [ids + [pad] * (width - len(ids)) for ids, _, _ in rows]
        seen = [[k < n - 1 for k in range(width - 1)] for n in lengths]
        shown = [np.where(m, row[:-1], pad) for m, row in zip(seen, padded, strict=True)]
        after = [np.where(m, row[1:], pad) for m, row in zip(seen, padded, strict=True)]
        arrays |= {
            "tokens": np.array(padded, dtype).reshape(-1, width),
            "lengths": np.array(lengths, "<u2"),
            "prompts": np.array(prompts, "<u2"),
            "input_ids": np.array(shown, "<i4").reshape(-1, width - 1),
            "target_ids": np.array(after, "<i4").reshape(-1, width - 1),
            "attention_mask": np.array(seen, "?").reshape(-1, width - 1),
        }
    files = {}
    for name, array in arrays.items():
        file = io.BytesIO()
        np.save(file, array)
        files[f"{name}.npy"] = file.getvalue()
    if layout == "packed":
        files["bin"] = np.array([i for ids, _, _ in rows for i in ids], dtype).tobytes()
        size = np.dtype(dtype).itemsize
        numbers = (np.array(lengths, "<i4"), (offsets[:-1] * size).astype("<i8"), np.arange(len(rows) + 1))
        code = {1: 1, 2: 8, 4: 4}[size]
        head = struct.pack("<9sQBQQ", b"MMIDIDX", 1, code, len(rows), len(rows) + 1)
        files["idx"] = head + b"".join(one.tobytes() for one in numbers)
    return files


@pytest.mark.parametrize("layout", ["packed", "rows"])
@pytest.mark.parametrize("dtype", ["|u1", "<u2", "<u4"])
@pytest.mark.parametrize("sizes", [[], [0], [7], [0, 3, 0, 0, 9, 1]], ids=str)
def test_any_range_of_a_file_is_that_of_the_file_one_process_writes(
    layout: str, dtype: str, sizes: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(output_file, "PIECE_BYTES", 8)
    monkeypatch.setattr(store_file, "CHUNK_BYTES", 20)
    rng = rng_for(5, "files", layout, dtype, len(sizes))
    width, pad, groups, lines = 6, 99, list[Rows](), list[int]()
    for number, size in enumerate(sizes):
        ids = [rng.integers(0, 90, rng.integers(0, width + 1)).tolist() for _ in range(size)]
        groups.append([(one, line, len(one) // 2) for line, one in enumerate(ids)])
        lines.append((1 << 33) * number)
    rows = [
        (ids, line + first, prompt)
        for own, first in zip(groups, lines, strict=True)
        for ids, line, prompt in own
    ]
    folder = PieceFolder.make(tmp_path / "kept", "token")
    shape = StoreShape(dtype, width, pad, prompts=True)
    extras = Extras(("megatron",), materialize=True)
    files = split_files(LAYOUTS[layout], "train", kept(folder, groups, dtype, lines), shape, extras)
    expected = plain_files(rows, layout, dtype, width, pad)
    assert set(files) == {f"train.{name}" for name in expected}
    for name, data in expected.items():
        file = files[f"train.{name}"]
        assert file.num_bytes == len(data)
        for step in (1, 5, 50, 10_000):
            for start in range(0, len(data), step):
                stop = min(start + step, len(data))
                assert b"".join(file.chunks(folder, start, stop)) == data[start:stop], (name, start, stop)


def test_lines_beyond_32_bits_are_kept(tmp_path: Path) -> None:
    folder = PieceFolder.make(tmp_path, "token")
    table = kept(folder, [[([1], 7, 0), ([2], (1 << 32) + 5, 0)]], "<u2", [1])
    assert KeptRows(folder, table, 0, "<u2").source.tolist() == [8, (1 << 32) + 6]


def test_an_index_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder = PieceFolder.make(tmp_path / "kept", "token")
    table = kept(folder, [[([1, 2, 3], 0, 0), ([], 1, 0)], [([4] * 7, 0, 0)]], "<u2", [0, 2])
    shape = StoreShape("<u2", None, 0, prompts=False)
    index = split_files(LAYOUTS["packed"], "a", table, shape, Extras(("megatron",)))["a.idx"]
    (tmp_path / "a.idx").write_bytes(b"".join(index.chunks(folder, 0, index.num_bytes)))
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
