"""Tables of counts: written row group by row group, with the bytes of a table that was written whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from samebits.data import table


class _Folder:
    """Stands in for an artifact."""

    def __init__(self, output: Path) -> None:
        self.output = output

    def path(self, name: str) -> Path:
        return self.output / name


ROWS = [(f"wörd {number % 97}", number * number) for number in range(1000)]


def _pieces(sizes: list[int]) -> list[tuple[Any, Any, Any]]:
    found, start = [], 0
    for size in sizes:
        keys = [key.encode() for key, _ in ROWS[start : start + size]]
        offsets = np.cumsum([0, *map(len, keys)], dtype=np.int64)
        counts = np.array([count for _, count in ROWS[start : start + size]], np.int64)
        found.append((np.frombuffer(b"".join(keys), np.uint8), offsets, counts))
        start += size
    return found


@pytest.mark.parametrize("sizes", [[1000], [300, 0, 1, 699], [100] * 10, [0], []], ids=str)
@pytest.mark.parametrize("group", [1 << 20, 1000, 300, 7])
def test_pieces_of_any_size_give_the_bytes_of_one_table(
    sizes: list[int], group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ROWS[: sum(sizes)]
    whole = pa.table({"ngram": [key for key, _ in rows], "count": [count for _, count in rows]})
    pq.write_table(whole, tmp_path / "whole.parquet", compression="zstd", row_group_size=group)
    monkeypatch.setattr(table, "ROW_GROUP", group)
    table.write_counts(_Folder(tmp_path), "counts.parquet", "ngram", iter(_pieces(sizes)))  # type: ignore[arg-type]
    assert (tmp_path / "counts.parquet").read_bytes() == (tmp_path / "whole.parquet").read_bytes()
