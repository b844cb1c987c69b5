"""Room for reading begins with a page, wherever malloc put it."""

from __future__ import annotations

import pytest

from samebits.data.inputs.blocks import PAGE_BYTES, room_for


@pytest.mark.parametrize("num_bytes", [1, 4095, 1 << 18, (2 << 20) + 1])
def test_room_begins_with_a_page(num_bytes: int) -> None:
    room = room_for(num_bytes)
    assert room.ctypes.data % PAGE_BYTES == 0
    assert len(room) == num_bytes
    assert room.flags.c_contiguous
    assert room.flags.writeable
