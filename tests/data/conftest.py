"""What the reader tests share: write bytes, read them back as rows, for any format and cell size."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from samebits.data.inputs.corpus import Corpus, open_corpus
from samebits.data.readers.rows import RowBlock, iter_rows


@dataclass
class Read:
    """All rows of a corpus of one source, with file line numbers."""

    rows: list[tuple[str, ...]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    bad: list[tuple[int, int | None, str]] = field(default_factory=list)
    num_lines: int = 0
    num_blank: int = 0
    num_blocks: int = 0

    @property
    def texts(self) -> list[str]:
        return [row[0] for row in self.rows]

    @property
    def reasons(self) -> list[str]:
        return [reason for _, _, reason in self.bad]

    def add(self, block: RowBlock, base: int, columns: tuple[str, ...]) -> None:
        assert block.num_lines == len(block) + block.num_blank + len(block.bad)
        texts = [list(block.columns[name].texts()) for name in columns]
        assert {len(column) for column in texts} == {len(block)} == {len(block.offsets)}
        self.rows += zip(*texts, strict=True)
        self.lines += (base + block.lines).tolist()
        self.offsets += block.offsets.tolist()
        self.bad += [(base + bad["line"], bad["offset"], bad["reason"]) for bad in block.bad]
        self.num_lines += block.num_lines
        self.num_blank += block.num_blank
        self.num_blocks += 1


def read_all(corpus: Corpus, columns: tuple[str, ...] = ("text",), **limits: Any) -> Read:
    """Read every shard in order, adding line bases as a fold does."""
    result = Read()
    for shard in corpus.shards():
        base = result.num_lines
        for block in iter_rows(corpus, shard, columns, **limits):
            result.add(block, base, columns)
    return result


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., Read]:
    """Write ``data`` to a file called ``name`` and read it."""

    def run(
        data: bytes,
        *,
        name: str = "in.txt",
        columns: tuple[str, ...] = ("text",),
        cell_bytes: int = 1 << 20,
        **limits: Any,
    ) -> Read:
        path = tmp_path / name
        path.write_bytes(data)
        return read_all(open_corpus([str(path)], cell_bytes=cell_bytes), columns, **limits)

    return run


@pytest.fixture
def read_corpus() -> Callable[..., Read]:
    """Read a corpus that is open already."""
    return read_all
