"""Forge artifacts: change one field, array or tensor of a genuine one and write a manifest that fits.

A forged artifact passes every digest; only what a loader expects of its files can tell. Mutations know the structure: they
set a leaf of a JSON file to a hostile value, change the type, shape or numbers of an array, the header of a file of
tensors, or the manifest itself.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from samebits.charset.characters.model_file import ALIGNMENT, MAGIC
from samebits.core.digest import canonical_json
from samebits.data.artifact import manifest_digest

__all__ = ["forge", "rehash"]

Random = np.random.Generator
DEEP: Any = []
for _ in range(150):
    DEEP = [DEEP]
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 7, 255, 65536, 10**9, 10**12, 2**63, -(2**63), 10**30, 0.5, -0.0, 1e308, float("nan"),
    float("inf"), "", "x", "\x1b]0;owned\x07", "../../etc/passwd", "é" * 300, "\ud800", [], {}, [[]], {"": None}, [-1], DEEP,
)  # fmt: skip
NUMBERS = (
    -(2**63),
    -1,
    0,
    1,
    2,
    127,
    128,
    255,
    32767,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**62,
    2**63 - 1,
    2**64 - 1,
)
TYPES = (
    "<i1",
    "<i2",
    "<i4",
    "<i8",
    "|u1",
    "<u2",
    "<u4",
    "<u8",
    "<f4",
    "<f8",
    "|b1",
    "|O",
    ">u4",
    "<U4",
    "<m8",
)


def pick(random: Random, values: Any) -> Any:
    """Choose one."""
    return values[int(random.integers(len(values)))]


def forge(genuine: Path, forged: Path, random: Random) -> str:
    """Copy an artifact, change something, write the manifest again; return what was done, in words."""
    shutil.rmtree(forged, ignore_errors=True)
    shutil.copytree(genuine, forged)
    manifest = json.loads((forged / "manifest.json").read_bytes())
    names = [*(["manifest.json"] if "job" in manifest else []), *sorted(manifest["files"])]
    done = []
    for _ in range(1 + int(random.integers(2))):
        name = pick(random, names)
        if name == "manifest.json":
            done.append(f"manifest: {_change_json(manifest, random)}")
        elif (forged / name).is_file():
            done.append(f"{name}: {_change_file(forged / name, random)}")
    rehash(forged, manifest)
    return "; ".join(done)


def rehash(folder: Path, manifest: Any) -> None:
    """Write a manifest whose sizes and digests are those of the files."""
    files = manifest.get("files") if isinstance(manifest, dict) else None
    for name, entry in files.items() if isinstance(files, dict) else ():
        path = folder / name.replace("\0", "").replace("\ud800", "")
        if isinstance(entry, dict) and len(name) < 200 and path.is_file():
            data = path.read_bytes()
            entry |= {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    try:
        manifest["digest"] = manifest_digest(manifest)
        data = canonical_json(manifest)
    except (TypeError, ValueError):
        data = json.dumps(manifest).encode()
    (folder / "manifest.json").write_bytes(data)


def _change_file(path: Path, random: Random) -> str:
    by_suffix: dict[str, Callable[[Path, Random], str]] = {
        ".json": _change_json_file,
        ".npy": _change_array,
        ".bin": _change_tables,
        ".safetensors": _change_tensors,
    }
    if random.random() < 0.15 or path.suffix not in by_suffix:
        return _change_bytes(path, random)
    try:
        return by_suffix[path.suffix](path, random)
    except (
        ValueError,
        KeyError,
        IndexError,
        TypeError,
        EOFError,
        MemoryError,
    ):  # what an earlier change left is no such file any more
        return _change_bytes(path, random)


def _change_bytes(path: Path, random: Random) -> str:
    data = bytearray(path.read_bytes())
    kind = pick(random, ("flip", "cut", "empty", "double"))
    if kind == "flip" and data:
        for _ in range(1 + int(random.integers(4))):
            data[int(random.integers(len(data)))] = int(random.integers(256))
    elif kind == "cut":
        del data[int(random.integers(len(data) + 1)) :]
    elif kind == "empty":
        data.clear()
    else:
        data.extend(bytes(data))
    path.write_bytes(data)
    return str(kind)


def _change_json_file(path: Path, random: Random) -> str:
    value = json.loads(path.read_bytes())
    if random.random() < 0.05:
        value = pick(random, VALUES)
        said = f"all of it is {value!r:.60}"
    else:
        said = _change_json(value, random)
    path.write_text(json.dumps(value), encoding="utf-8")
    return said


def _change_json(value: Any, random: Random) -> str:
    """Change one place of a tree, reached by a random walk."""
    holder: Any = None
    key: Any = None
    walked = ""
    while isinstance(value, (dict, list)) and value and (holder is None or random.random() < 0.8):
        holder, key = value, pick(random, list(value) if isinstance(value, dict) else range(len(value)))
        value, walked = holder[key], f"{walked}/{key}"
    if holder is None:
        return "nothing to change"
    if random.random() < 0.2:
        del holder[key]
        return f"{walked} is gone"
    if isinstance(holder, list) and random.random() < 0.2:
        holder.append(value)
        return f"{walked} is there twice"
    near = [value + 1, value - 1, value * 2, -value] if isinstance(value, int) else []
    holder[key] = pick(random, [*VALUES, *near])
    return f"{walked} is {holder[key]!r:.60}"


def _header(descr: str, shape: str) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    body = text.encode("latin1", "replace").ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(body).to_bytes(2, "little") + body


def _change_array(path: Path, random: Random) -> str:
    values = np.load(path)
    kind = pick(random, ("type", "convert", "shape", "numbers", "numbers", "order", "length", "nan"))
    if kind == "type":
        descr = pick(random, TYPES)
        path.write_bytes(_header(descr, str(values.shape)) + values.tobytes())
        return f"type {descr}"
    if kind == "shape":
        shape = pick(
            random, ("(-1,)", "(10000000000000,)", "()", "(2, 3)", "(0, 99999999999)", "(1, 1, 1, 1, 1)", "x")
        )
        path.write_bytes(_header(values.dtype.str, shape) + values.tobytes())
        return f"shape {shape}"
    if kind == "convert":
        values = values.astype(pick(random, ("<i1", "<i4", "<i8", "<f4", "<f8", "<u2")))
    elif kind == "numbers" and values.size and values.dtype.kind in "iu":
        info = np.iinfo(values.dtype)
        flat = values.reshape(-1)
        for _ in range(1 + int(random.integers(3))):
            at = int(random.integers(flat.size))
            flat[at] = min(
                max(int(pick(random, (*NUMBERS, int(flat[at]) + 1, int(flat[at]) - 1))), info.min), info.max
            )
    elif kind == "order":
        values = values[::-1]
    elif kind == "length":
        values = values[: int(random.integers(len(values) + 1))] if values.ndim else values
    elif values.size and values.dtype.kind == "f":
        values.reshape(-1)[int(random.integers(values.size))] = pick(random, (np.nan, np.inf, 1e30))
    np.save(path, np.ascontiguousarray(values))
    return str(kind)


def _change_tensors(path: Path, random: Random) -> str:
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, body = json.loads(data[8 : 8 + size]), bytearray(data[8 + size :])
    kind = pick(random, ("header", "header", "size", "nan"))
    if kind == "header":
        said = _change_json(header, random)
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + body)
        return said
    if kind == "size":
        told = pick(random, (0, 1, 2**20, 2**43, 2**64 - 1, len(data)))
        path.write_bytes(told.to_bytes(8, "little") + data[8:])
        return f"a header of {told} bytes"
    at = int(random.integers(len(body) // 4 or 1)) * 4
    body[at : at + 4] = np.float32(pick(random, (np.nan, np.inf, 3e38))).tobytes()
    path.write_bytes(data[: 8 + size] + body)
    return str(kind)


def _change_tables(path: Path, random: Random) -> str:
    """Change the header of a file of charset models, or numbers of one of its tables; its digest is made to fit."""
    data, start = path.read_bytes(), len(MAGIC) + 4
    stop = start + int.from_bytes(data[start - 4 : start], "little")
    header, body = json.loads(data[start:stop]), bytearray(data[-(-stop // ALIGNMENT) * ALIGNMENT :])
    if random.random() < 0.6:
        said = _change_json(header, random)
    else:
        name = pick(random, sorted(header["sections"]))
        at, size = header["sections"][name]
        for _ in range(1 + int(random.integers(20))):
            body[at + int(random.integers(size))] = int(random.integers(256))
        said = f"numbers of {name}"
    if random.random() < 0.9:
        header["sha256"] = hashlib.sha256(body).hexdigest()
    text = json.dumps(header).encode()
    head = MAGIC + len(text).to_bytes(4, "little") + text
    path.write_bytes(head.ljust(-(-len(head) // ALIGNMENT) * ALIGNMENT) + body)
    return said
