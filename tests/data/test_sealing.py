"""Large files are sealed by blocks: the same entry whoever hashes, and every flipped bit is found."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.data import sealing
from samebits.data.artifact import check_file
from samebits.errors import ArtifactCorrupt


@given(data=st.binary(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=5), block=st.integers(1, 9))
def test_any_way_of_writing_gives_the_entry_of_the_blocks(data: bytes, cuts: list[int], block: int) -> None:
    sealer = sealing.Sealer(block)
    for start, stop in zip([0, *sorted(cuts)], [*sorted(cuts), len(data)], strict=True):
        sealer.update(data[start:stop])
    blocks = [data[at : at + block] for at in range(0, len(data), block)] or [b""]
    digests = [hashlib.sha256(one).digest() for one in blocks]
    assert sealer.entry() == sealing.entry_of(len(data), digests, block)
    if len(blocks) == 1:
        assert sealer.entry() == {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@pytest.mark.parametrize("size", [9, 10, 11, 25])
def test_a_sealed_file_is_checked_and_a_flipped_byte_found(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "BLOCK_BYTES", 10)
    path = tmp_path / "a"
    path.write_bytes(bytes(range(size)))
    entry = sealing.seal_file(path)
    assert ("block_bytes" in entry) is (size > 10)
    monkeypatch.setattr(sealing, "BLOCK_BYTES", 7)  # a later version may have other blocks
    check_file(tmp_path, "a", entry, check="full")
    path.write_bytes(bytes(range(size - 1)) + b"\xff")
    with pytest.raises(ArtifactCorrupt, match="expected sha256"):
        check_file(tmp_path, "a", entry, check="full")


def test_a_large_file_of_an_earlier_version_is_checked_by_its_plain_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sealing, "BLOCK_BYTES", 10)
    (tmp_path / "a").write_bytes(b"x" * 100)
    plain = {"size": 100, "sha256": hashlib.sha256(b"x" * 100).hexdigest()}
    check_file(tmp_path, "a", plain, check="full")


@pytest.mark.parametrize("blocks", [0, -1, "10", None, True])
def test_a_strange_size_of_blocks_is_refused(blocks: Any, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x")
    entry = {"size": 1, "sha256": hashlib.sha256(b"x").hexdigest(), "block_bytes": blocks}
    with pytest.raises(ArtifactCorrupt, match="the manifest says"):
        check_file(tmp_path, "a", entry, check="full")
