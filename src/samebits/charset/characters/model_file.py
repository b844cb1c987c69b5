"""The file the detector's models lie in: a JSON header, then tables that are used where they lie.

Opening maps the file into memory and checks everything that is used as an index or a size; the costs themselves may hold any
byte. A page of the file is read when some data needs it, so a Thai letter never loads the tables of Latin.
"""

from __future__ import annotations

import functools
import hashlib
import json
import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits.charset.detection.encodings import FAMILIES, prior_bits
from samebits.errors import ArtifactCorrupt, InputError
from samebits.kernels.charset.characters import CharacterTables

__all__ = ["FORMAT", "MAGIC", "UNITS_PER_BIT", "CharacterModel", "open_model", "pack", "shipped_model"]

MAGIC = b"samebits charset models\n"
FORMAT = 1
UNITS_PER_BIT = 8
ALIGNMENT = 64
#: Rows of a double-byte table: single bytes, then pairs by lead byte.
STORED_ROWS = 129
_SHIPPED = Path(__file__).with_name("models.bin")
_MAX_HEADER = 1 << 20


@dataclass(frozen=True, eq=False)
class CharacterModel:
    """Models of the characters of many languages, for all encodings alike.

    Attributes:
        encodings: Single-byte encodings, in the order the tables number them.
        languages: Languages of all scripts one after the other, in that order.
        east_asian: Languages of the double-byte encodings.
        mainframe: Those of the single-byte encodings that do not contain ASCII.
        double_byte: Table of each double-byte encoding, by name.
        tables: The kernel's view of the file.
        trained_on: In words, what the models were trained on.
        digest: SHA-256 of the tables.
        source: The bytes of the file; a model that is sent to another process is sent as these.
    """

    encodings: tuple[str, ...]
    languages: tuple[str, ...]
    east_asian: tuple[str, ...]
    mainframe: frozenset[str]
    double_byte: Mapping[str, memoryview]
    tables: CharacterTables
    trained_on: str
    digest: str
    source: memoryview

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the package's own models by name, others whole."""
        if self.digest == shipped_model().digest:
            return shipped_model, ()
        return _from_bytes, (bytes(self.source),)


@functools.cache
def shipped_model() -> CharacterModel:
    """The models inside the package."""
    return open_model(_SHIPPED, check_digest=False)


def open_model(path: str | Path, *, check_digest: bool = True) -> CharacterModel:
    """Open a file of models that ``samebits charset learn`` wrote.

    Args:
        path: The file.
        check_digest: Read all of it and compare with the digest in the header. Without, only what is used as an index is checked, which
            cannot go wrong in memory but may answer nonsense for a file that was damaged.

    Raises:
        InputError: There is no such file, or it cannot be read.
        ArtifactCorrupt: The file is not what its header says.
    """
    if Path(path).exists() and not Path(path).is_file():  # a pipe would be waited for
        raise InputError("is not a file", path=str(path))
    try:
        with Path(path).open("rb") as file:
            data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except ValueError:
        raise ArtifactCorrupt(f"{path}: is empty, not a file of models") from None
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from error
    try:
        return _opened(data, check_digest=check_digest)
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, RecursionError) as error:
        what = (
            str(error)
            if isinstance(error, ValueError)
            else f"the header is not one of this program ({error!r})"
        )
        raise ArtifactCorrupt(f"{path}: {what}") from error


def _from_bytes(data: bytes) -> CharacterModel:
    return _opened(memoryview(data), check_digest=False)


def _opened(data: memoryview, *, check_digest: bool) -> CharacterModel:
    header, start = _header(data)
    payload = data[start:]
    _require(len(payload) == header["bytes"], f"holds {len(payload)} bytes of tables, not {header['bytes']}")
    if check_digest:
        _require(
            hashlib.sha256(payload).hexdigest() == header["sha256"],
            "the tables are not those the header describes",
        )
    encodings = [row["name"] for row in header["encodings"]]
    scripts = header["scripts"]
    _require(
        all(
            isinstance(name, str)
            for name in (
                *encodings,
                *header["east_asian"],
                *header["double_byte"],
                header["trained_on"],
                header["sha256"],
            )
        ),
        "names are not text",
    )
    languages = [name for row in scripts for name in row["languages"]]
    _require(all(isinstance(name, str) for name in languages), "names of languages are not text")
    places = _places(header, len(payload), num_languages=len(languages))
    tables = CharacterTables(
        payload,
        places,
        [row["size"] for row in scripts],
        [len(row["languages"]) for row in scripts],
        [bool(row["ascii"]) for row in header["encodings"]],
        [row["name"] for row in scripts],
    )
    at, _ = places["stored"]
    size = STORED_ROWS * 256
    stored = {
        name: payload[at + i * size : at + (i + 1) * size].cast("B", (STORED_ROWS, 256))
        for i, name in enumerate(header["double_byte"])
    }
    return CharacterModel(
        tuple(encodings),
        tuple(languages),
        tuple(header["east_asian"]),
        frozenset(row["name"] for row in header["encodings"] if not row["ascii"]),
        stored,
        tables,
        header["trained_on"],
        header["sha256"],
        data,
    )


def _header(data: memoryview) -> tuple[dict[str, Any], int]:
    _require(bytes(data[: len(MAGIC)]) == MAGIC, "is not a file of charset models")
    _require(len(data) >= len(MAGIC) + 4, "ends in its header")
    (length,) = struct.unpack_from("<I", data, len(MAGIC))
    stop = len(MAGIC) + 4 + length
    _require(length <= _MAX_HEADER and stop <= len(data), "ends in its header")
    header = json.loads(bytes(data[len(MAGIC) + 4 : stop]))
    _require(isinstance(header, dict) and header.get("format") == FORMAT, f"is not of format {FORMAT}")
    return header, -(-stop // ALIGNMENT) * ALIGNMENT


def _places(header: Mapping[str, Any], num_bytes: int, *, num_languages: int) -> dict[str, tuple[int, int]]:
    """Where each table lies; every table has the size the header's names give it, and lies inside the file."""
    num_units, num_encodings = int(header["units"]), len(header["encodings"])
    sizes = {
        "unit": 2 * 65536,
        "unit_script": num_units,
        "unit_letter": num_units,
        "points": num_encodings * 512,
        "units": num_encodings * 512,
        "penalty": (num_encodings + 1) * num_languages,
        "codes": len(header["east_asian"]) * 65536,
        "stored": len(header["double_byte"]) * STORED_ROWS * 256,
    }
    for row in header["scripts"]:
        size, count = int(row["size"]), len(row["languages"])
        _require(0 <= size <= 256 and count > 0, f"the script {row['name']} has an impossible size")
        if size:
            sizes[f"local/{row['name']}"] = num_units
            sizes[f"costs/{row['name']}"] = size * size * count
            sizes[f"floor/{row['name']}"] = size * size
    _require(len(header["east_asian"]) == 3, "has other than three East Asian languages")
    places = {}
    for name, size in sizes.items():
        at, length = header["sections"][name]
        fits = type(at) is int and length == size and 0 <= at <= num_bytes - size and at % ALIGNMENT == 0
        _require(fits, f"the table {name} lies outside the file or has another size")
        places[name] = (at, size)
    known = {family.superset for family in FAMILIES}
    _require(set(header["double_byte"]) <= known, "holds a double-byte encoding this program does not know")
    return places


def _require(condition: bool, what: str) -> None:
    if not condition:
        raise ValueError(what)


def pack(header: Mapping[str, Any], sections: Mapping[str, bytes]) -> bytes:
    """Write the file that `open_model` reads: header and tables, every table where a cache line starts."""
    places, body, at = {}, [], 0
    for name, data in sections.items():
        padding = -at % ALIGNMENT
        body.append(b"\0" * padding + data)
        places[name] = (at + padding, len(data))
        at += padding + len(data)
    payload = b"".join(body)
    about = {
        **header,
        "format": FORMAT,
        "sections": places,
        "bytes": len(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    text = json.dumps(about, sort_keys=True, ensure_ascii=False).encode()
    start = -(-(len(MAGIC) + 4 + len(text)) // ALIGNMENT) * ALIGNMENT
    return (MAGIC + struct.pack("<I", len(text)) + text).ljust(start, b" ") + payload


def prior_units(encoding: str) -> int:
    """Prior of an encoding in the unit of the costs."""
    return round(prior_bits(encoding) * UNITS_PER_BIT)
