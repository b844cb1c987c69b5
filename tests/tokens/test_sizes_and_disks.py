"""Long lines, many files and disks that are full or cannot be written: the same tokens or a named error."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.faults.disks import can_mount
from tests.tokens.conftest import Build

from samebits.api import run
from samebits.core.options import RunOptions
from samebits.core.plan import Shard
from samebits.data.artifact import open_artifact
from samebits.data.folding.output_file import KeptBytes, WriteBlock
from samebits.data.folding.piece_files import PieceFolder
from samebits.data.token_store import TokenStore
from samebits.errors import OutputFailed
from samebits.tokens.config import TokensConfig
from samebits.tokens.estimate import SizeEstimate


@pytest.mark.slow
def test_a_line_of_100_mb_is_a_row_wherever_it_is_cut(build: Build, tmp_path: Path) -> None:
    """It lies over many cells, is cut inside characters, and has neighbours with CRLF and without a final newline."""
    path = tmp_path / "long.jsonl"
    path.write_bytes(
        b'{"text": "a"}\r\n{"text": "' + "é".encode() * 50_000_000 + b'"}\n{"text": "b"}\n{"text": "c"}'
    )
    folders = [
        build(path, workers=workers, executor="threads", cell_mb=cell_mb)
        for workers, cell_mb in (("1", 8.0), ("2", 1.0), ("3", 5.000001))
    ]
    assert len({open_artifact(folder).digest for folder in folders}) == 1
    store = TokenStore.open(folders[0])
    assert [len(store[row]) for row in range(4)] == [2, 100_000_001, 2, 2]
    assert store[1][:-1].astype(np.uint8).tobytes() == "é".encode() * 50_000_000
    assert (folders[0] / "bad_rows.jsonl").read_bytes() == b""
    record = json.loads((folders[0] / "record.json").read_bytes())
    # from the first shard: it holds 2 of 4
    assert "estimate: 2 rows, 100,000,0" in record["metrics"]["estimate"]


def test_a_line_longer_than_allowed_is_a_bad_row_wherever_it_is_cut(build: Build, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    path.write_bytes(b'{"text": "a"}\r\n{"text": "' + "é".encode() * 1_500_000 + b'"}\n{"text": "b"}')
    folders = [
        build(path, workers=workers, executor="threads", cell_mb=cell_mb, max_line_mb=2)
        for workers, cell_mb in (("1", 8.0), ("2", 0.25), ("3", 1.000001))
    ]
    assert len({open_artifact(folder).digest for folder in folders}) == 1
    bad = json.loads((folders[0] / "bad_rows.jsonl").read_bytes())
    assert (bad["source"], bad["line"], bad["offset"]) == ("long.jsonl", 2, 15)
    assert bad["reason"] == "longer than 2097152 bytes"


@pytest.mark.slow
def test_a_thousand_tiny_files_are_one_stream(build: Build, tmp_path: Path) -> None:
    """Ten thousand of them: benchmarks/tokens_sizes.py."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    for i in range(1000):
        (folder / f"{i:04}.txt").write_bytes(b"" if i % 100 == 7 else f"file {i}\n".encode())
    stores = [build(folder, workers=workers, executor="threads") for workers in "12"]
    assert len({open_artifact(store).digest for store in stores}) == 1
    wanted = [f"file {i}".encode() for i in range(1000) if i % 100 != 7]
    store = TokenStore.open(stores[0])
    assert [store[row][:-1].astype(np.uint8).tobytes() for row in range(len(store))] == wanted


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    if not can_mount():
        pytest.skip("a small disk can only be mounted by root")
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("layout", ["packed", "rows"])
def test_a_full_disk_is_named_and_the_same_command_goes_on_when_there_is_room(
    disk: Path, tmp_path: Path, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"some words that are bytes here\n" * 60_000)
    # several workers may fill the disk before the first part is in the journal
    alone = RunOptions(executor="serial")
    config = TokensConfig(inputs=(str(text),), layout=layout, max_length=64, cell_mb=0.1)  # type: ignore[arg-type]
    with pytest.raises(OutputFailed, match="needs about"):
        run("tokens", config, output=disk / "out", options=alone)  # refused before anything is written
    monkeypatch.setattr(SizeEstimate, "check", lambda self, folder: None)
    with pytest.raises(OutputFailed, match="out"):
        run("tokens", config, output=disk / "out", options=alone)
    assert [path.name for path in disk.iterdir()] == ["out.journal"]
    subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
    digest = run("tokens", config, output=disk / "out").artifact_digest
    assert digest == run("tokens", config, output=tmp_path / "wanted").artifact_digest
    assert [path.name for path in disk.iterdir()] == ["out"]


def test_a_full_disk_leaves_no_file_open(tmp_path: Path) -> None:
    folder = PieceFolder.make(tmp_path, "token")
    content = KeptBytes(b"some bytes", (), *(np.zeros(number, np.int64) for number in (0, 0, 1)))
    with pytest.raises(OutputFailed, match="No space left"):
        WriteBlock(folder, ("/dev/full",))(Shard(0, 0, 0, 10), [content])
    left = [Path(f"/proc/self/fd/{number}").resolve() for number in os.listdir("/proc/self/fd")]  # noqa: PTH208
    assert [path for path in left if path == Path("/dev/full") or tmp_path in path.parents] == []


def test_an_output_that_cannot_be_written_is_named(disk: Path, tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_bytes(b"words\n")
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    with pytest.raises(OutputFailed, match="disk"):
        run("tokens", TokensConfig(inputs=(str(text),)), output=disk / "out", options=RunOptions(workers="1"))
    subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
    assert list(disk.iterdir()) == []
