"""A file of the output that the driver writes while workers compute: the seal of one process, nothing twice, errors with a name."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from samebits.data import sealing
from samebits.data.artifact import ArtifactWriter
from samebits.data.bad_rows import BadRows
from samebits.data.folding import growing_file
from samebits.data.folding.growing_file import GrowingFile
from samebits.data.sealing import seal_file
from samebits.errors import OutputFailed


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ArtifactWriter:
    monkeypatch.setattr(sealing, "BLOCK_BYTES", 50)
    monkeypatch.setattr(growing_file, "SYNC_BYTES", 30)
    return ArtifactWriter(tmp_path / "out", BadRows())


def test_the_file_and_its_seal_are_those_of_what_was_added_once(out: ArtifactWriter) -> None:
    file = GrowingFile(out, "a")
    pieces = {(node, piece): bytes([97 + node]) * (7 * piece) for node in range(9) for piece in (3, 4)}
    for _ in range(2):  # the second time nothing is taken
        for place, data in pieces.items():
            if not file.holds(place):
                file.add(place, memoryview(data))
    file.finish()
    file.finish()
    assert out.path("a").read_bytes() == b"".join(pieces.values())
    assert out._known["a"] == seal_file(out.path("a"))


def test_a_disk_that_fails_is_named_when_the_file_is_finished_and_not_when_it_is_given_up(
    out: ArtifactWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fdatasync", full)
    for finished in (True, False):
        file = GrowingFile(out, "a")
        file.add((0,), bytes(100))
        if finished:
            with pytest.raises(OutputFailed, match="No space left"):
                file.finish()
        file.close()
