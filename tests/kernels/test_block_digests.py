"""Digests of blocks are those of the package xxhash, however they are read."""

import os
from pathlib import Path

import numpy as np
import pytest
import xxhash

from samebits.kernels.text.block_digests import block_digests, file_digests, read_blocks

BLOCKS = (256, 1024, 5000)
SIZES = sorted(
    {size + more for size in (0, 64, 240, 256, 512, 1024, 1088, 2048, 5000, 15_000) for more in range(-3, 4)}
    - {-3, -2, -1}
)
DATA = np.random.default_rng(1).bytes(max(SIZES))


def wanted(data: bytes, block: int) -> bytes:
    return b"".join(xxhash.xxh3_128_digest(data[at : at + block]) for at in range(0, len(data), block))


@pytest.mark.parametrize("block", BLOCKS)
@pytest.mark.parametrize("wide", [True, False])
def test_digests_are_those_of_xxhash(block: int, wide: bool) -> None:
    for size in SIZES:
        assert block_digests(DATA[:size], block, wide) == wanted(DATA[:size], block), size


@pytest.mark.parametrize("block", BLOCKS)
def test_a_file_is_read_to_its_end_or_from_a_place_on(block: int, tmp_path: Path) -> None:
    path = tmp_path / "data"
    for size in SIZES:
        path.write_bytes(DATA[:size])
        with path.open("rb", buffering=0) as file:
            for num_blocks in (3, 1):
                found = file_digests(file.fileno(), block, bytearray(num_blocks * block))
                assert found == (size, wanted(DATA[:size], block))
            for start in (0, block):
                room, left = bytearray(2 * block), DATA[start : min(size, start + 2 * block)]
                assert read_blocks(file.fileno(), start, block, room) == (len(left), wanted(left, block))
                assert room[: len(left)] == left


def test_blocks_are_longer_than_what_has_another_algorithm() -> None:
    with pytest.raises(ValueError, match="blocks of 240"):
        block_digests(DATA, 240)
    with pytest.raises(ValueError, match="blocks of 100"):
        read_blocks(0, 0, 100, bytearray(1000))
    with pytest.raises(ValueError, match="1000 bytes for blocks of 512"):
        file_digests(0, 512, bytearray(1000))


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        with pytest.raises(IsADirectoryError):
            file_digests(folder, 256, bytearray(256))
        with pytest.raises(IsADirectoryError):
            read_blocks(folder, 0, 256, bytearray(256))
    finally:
        os.close(folder)
