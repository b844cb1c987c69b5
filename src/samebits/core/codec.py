"""Plain data as canonical bytes: what parts, journals and digests are made of.

A *part* may hold None, bool, int, float, str, bytes, list, tuple, dict with str keys and NumPy arrays of numbers,
nested as you like. A part that is a NamedTuple is written as the dict of its fields; ``named`` gives it its names
back. One value has one encoding: floats are written in hexadecimal, arrays are C-contiguous and
little-endian. So ``sha256(encode(x))`` identifies ``x``, and decoding never runs code (no pickle). Dicts keep their
order, so that a fold sees the same part whether or not it crossed a process border or lay in a journal.

Layout: ``SBP1``, length of the head (8 bytes, little-endian), head (JSON), then the buffers it refers to, in order.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["decode", "encode", "encode_pieces", "named"]

MAGIC = b"SBP1"
HEAD_AT = 12  # magic and the head's length
ARRAY_KINDS = "biufS"  # bool, integers, floats, fixed-size bytes: nothing that holds objects
Buffer = bytes | memoryview
_AS_IS = frozenset((type(None), bool, int, str))  # what JSON writes and reads as it is
_to_json = json.JSONEncoder(separators=(",", ":")).encode  # made once: json.dumps makes one each time, 4 µs


def encode_pieces(value: Any, *, sort_keys: bool = False) -> Iterator[Buffer]:
    """Yield the encoding in pieces, without copying large buffers.

    Args:
        value: Plain data.
        sort_keys: Sort dicts, for digests of settings, where the order is an accident.

    Raises:
        TypeError: if the value is not plain data; names the type and where it is.
    """
    if hasattr(value, "_asdict"):
        value = (
            value._asdict()
        )  # only the part itself: inside it, names would be lost across a process border
    buffers: list[Buffer] = []
    head = _to_json(_pack(value, buffers, "part", sort_keys)).encode("ascii")
    yield MAGIC + len(head).to_bytes(8, "little")
    yield head
    yield from buffers


def encode(value: Any) -> bytes:
    """Return the encoding of plain data.

    >>> decode(encode({"b": (1, 2.5), "a": b"x"}))
    {'b': (1, 2.5), 'a': b'x'}
    """
    return b"".join(encode_pieces(value))


def decode(data: bytes | memoryview) -> Any:
    """Return the value that ``encode`` was given; arrays are read-only, and views of ``data`` where they lie at a place that suits their type.

    Raises:
        ValueError: if the bytes are not one whole encoding.
    """
    view = memoryview(data)
    if len(view) < HEAD_AT or view[:4] != MAGIC:
        raise ValueError("not an encoded part")
    stop = HEAD_AT + int.from_bytes(view[4:HEAD_AT], "little")
    if stop > len(view):
        raise ValueError("encoded part is cut short")
    reader = _Reader(view, stop)
    try:
        value = reader.unpack(json.loads(bytes(view[HEAD_AT:stop])))
    except (TypeError, OverflowError, RecursionError, SyntaxError) as error:
        raise ValueError(f"encoded part makes no sense: {type(error).__name__}: {error}") from None
    if reader.offset != len(view):
        raise ValueError("encoded part has bytes left over")
    return value


def named(part: Any, part_type: type[Any] | None) -> Any:
    """Return a decoded part as the NamedTuple that its task returned; without a type, as it is.

    >>> from typing import NamedTuple
    >>> class Words(NamedTuple):
    ...     num_words: int
    >>> named(decode(encode(Words(7))), Words)
    Words(num_words=7)

    Raises:
        ValueError: The part has other fields.
    """
    if part_type is None or isinstance(part, part_type):
        return part
    fields: tuple[str, ...] = part_type._fields
    if not isinstance(part, dict) or tuple(part) != fields:
        found = ", ".join(part) if isinstance(part, dict) else type(part).__name__
        raise ValueError(f"a part has {found}, but {part_type.__name__} has {', '.join(fields)}")
    return part_type(**part)


def _pack(value: Any, buffers: list[Buffer], where: str, sort_keys: bool) -> Any:
    kind = type(value)
    if kind in _AS_IS:
        return value
    if kind is float:
        return {"f": value.hex()}
    if kind is bytes:
        buffers.append(value)
        return {"b": len(value)}
    if kind is list:
        return _pack_items(value, buffers, where, sort_keys)
    if kind is tuple:
        return {"t": _pack_items(value, buffers, where, sort_keys)}
    if kind is dict:
        keys = [_str_key(key, where) for key in value]
        keys = sorted(keys) if sort_keys else keys
        return {"d": [[key, _pack(value[key], buffers, f"{where}[{key!r}]", sort_keys)] for key in keys]}
    if isinstance(value, np.ndarray):
        return _pack_array(value, buffers, where)
    raise _refusal(kind, where)


def _pack_items(value: Any, buffers: list[Buffer], where: str, sort_keys: bool) -> list[Any]:
    """Pack what a list or tuple holds; numbers and texts, which are most of it, without a call for each."""
    return [
        item if type(item) in _AS_IS else _pack(item, buffers, f"{where}[{i}]", sort_keys)
        for i, item in enumerate(value)
    ]


def _pack_array(array: np.ndarray[Any, Any], buffers: list[Buffer], where: str) -> Any:
    if array.dtype.kind not in ARRAY_KINDS:
        raise _refusal(array.dtype.type, where)
    flat = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(-1)
    buffers.append(flat.view(np.uint8).data if flat.size else b"")
    return {"a": [flat.dtype.str, list(array.shape)]}


def _str_key(key: Any, where: str) -> str:
    if type(key) is not str:
        raise TypeError(f"{where} has the key {key!r}, but keys of a part must be str")
    return key


def _refusal(kind: type, where: str) -> TypeError:
    return TypeError(
        f"{where} is a {kind.__module__}.{kind.__qualname__}, but a part must be plain data: None, bool, int, "
        "float, str, bytes, list, tuple, dict with str keys or a NumPy array of numbers"
    )


class _Reader:
    """Walks the head and takes each buffer in order."""

    def __init__(self, view: memoryview, offset: int) -> None:
        self.view = view
        self.offset = offset

    def take(self, num_bytes: int) -> memoryview:
        stop = self.offset + num_bytes
        if num_bytes < 0 or stop > len(self.view):
            raise ValueError("encoded part is cut short")
        piece = self.view[self.offset : stop]
        self.offset = stop
        return piece

    def unpack(self, node: Any) -> Any:
        match node:
            case list():
                return [item if type(item) in _AS_IS else self.unpack(item) for item in node]
            case {"f": str(text)}:
                return float.fromhex(text)
            case {"b": int(size)}:
                return bytes(self.take(size))
            case {"t": list(items)}:
                return tuple(item if type(item) in _AS_IS else self.unpack(item) for item in items)
            case {"d": list(items)}:
                return {str(key): self.unpack(item) for key, item in items}
            case {"a": [str(dtype), list(shape)]}:
                return self.array(np.dtype(dtype), tuple(int(n) for n in shape))
            case dict():
                raise ValueError("unknown tag in an encoded part")
        return node

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
        if dtype.kind not in ARRAY_KINDS or any(n < 0 for n in shape):
            raise ValueError("array of an unsafe type or shape in an encoded part")
        num_items = 1
        for n in shape:
            num_items *= n
        found = np.frombuffer(self.take(num_items * dtype.itemsize), dtype=dtype)
        if (
            not found.flags.aligned
        ):  # kernels take what they are given, and C promises nothing for numbers at odd places
            found = found.copy()
            found.flags.writeable = False
        return found.reshape(shape)
