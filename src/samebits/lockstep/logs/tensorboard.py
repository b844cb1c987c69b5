"""TensorBoard event files, written as their format says: no dependency for 60 lines.

A file is a row of records: length (8 bytes), masked crc32c of the length, data, masked crc32c of the data. The data are a
protobuf ``Event``: wall time (field 1, double), step (field 2, varint), and either the file version (field 3) or a summary
(field 5) with one value of a tag (field 1) and a simple value (field 2, float).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from samebits.core.observing import clock
from samebits.errors import InputError

__all__ = ["EventFile", "Scalar", "read_scalars"]


def _make_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)  # Castagnoli, reflected
        table.append(byte)
    return tuple(table)


_TABLE = _make_table()


def crc32c(data: bytes) -> int:
    """Return the Castagnoli checksum.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    value = 0xFFFFFFFF
    for byte in data:
        value = (value >> 8) ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def _masked(data: bytes) -> bytes:
    value = crc32c(data)
    return struct.pack("<I", (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


class EventFile:
    """One event file; its name carries the time of its start, as TensorBoard expects."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        started = clock.utc_seconds()
        self._file = (folder / f"events.out.tfevents.{started:.6f}.samebits").open("wb")
        self._write(struct.pack("<Bd", 1 << 3 | 1, started) + _field(3, b"brain.Event:2"))

    def add(self, step: int, **values: float) -> None:
        """Write scalars of one step; the tag is the name with its first underline as a slash."""
        head = struct.pack("<Bd", 1 << 3 | 1, clock.utc_seconds()) + _varint(2 << 3) + _varint(step)
        for name, value in values.items():
            tag = _field(1, name.replace("_", "/", 1).encode())
            self._write(head + _field(5, _field(1, tag + struct.pack("<Bf", 2 << 3 | 5, value))))

    def flush(self) -> None:
        """Let a running TensorBoard see what was written."""
        self._file.flush()

    def _write(self, data: bytes) -> None:
        length = struct.pack("<Q", len(data))
        self._file.write(length + _masked(length) + data + _masked(data))

    def close(self) -> None:
        """End the file."""
        self._file.close()


class Scalar(NamedTuple):
    """One value read back."""

    tag: str
    step: int
    value: float


def read_scalars(path: Path) -> Iterator[Scalar]:
    """Read an event file back.

    Raises:
        InputError: names the offset of a record whose checksum is wrong.
    """
    data = path.read_bytes()
    at = 0
    while at < len(data):
        length = data[at : at + 8]
        (size,) = struct.unpack("<Q", length)
        body = data[at + 12 : at + 12 + size]
        if (
            _masked(length) != data[at + 8 : at + 12]
            or _masked(body) != data[at + 12 + size : at + 16 + size]
        ):
            raise InputError("a record has a wrong checksum", path=str(path), offset=at)
        yield from _scalars(body)
        at += 16 + size


def _scalars(body: bytes) -> Iterator[Scalar]:
    fields = dict(_fields(body))
    if 5 not in fields:
        return
    value = dict(_fields(dict(_fields(fields[5]))[1]))
    step = int.from_bytes(fields.get(2, b"\0"), "little")
    yield Scalar(value[1].decode(), step, struct.unpack("<f", value[2])[0])


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (number, content) of a protobuf message; a varint is given as eight bytes."""
    at = 0

    def varint() -> int:
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint().to_bytes(8, "little")
            continue
        size = {1: 8, 5: 4}.get(key & 7) or varint()
        yield key >> 3, data[at : at + size]
        at += size
