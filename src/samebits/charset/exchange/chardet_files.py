"""The model files of chardet 7.7, both ways, from a description of the format.

A set is four files: ``models.bin`` (``CMD2``: names, norms, one zlib stream of 65,536 weights a model), ``idf.bin`` (how
rare each byte pair is among the models), ``rowmax.bin`` and ``langnorm.bin`` (derived, locked to models.bin by its
SHA-256). Reading a shipped set and writing it again gives the same bytes, with the zlib that made them; other deflate
libraries compress differently, so the digest of the uncompressed tables is reported too.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from samebits.charset.codec import canonical_name
from samebits.charset.detection.model import CharsetModel
from samebits.data.files import writing
from samebits.errors import ArtifactCorrupt, InputError

__all__ = [
    "FILES",
    "KNOWN_TO_CHARDET",
    "install_models",
    "read_models",
    "weights_of",
    "weights_of_model",
    "write_models",
]

#: In the order they are written: the last one tells a complete set.
FILES = ("models.bin", "idf.bin", "langnorm.bin", "rowmax.bin")
#: A byte pair with a byte from 0x80 up that was seen this often keeps weight 1 even if it would round to 0.
KEPT_COUNT = 300
MAX_MODELS = 10_000
MAX_NAME_BYTES = 256
#: Encodings chardet 7.7 can answer with, by the name of Python's codec, which is also its own.
KNOWN_TO_CHARDET = frozenset(
    [
        "big5hkscs",
        "cp1006",
        "cp1026",
        "cp1125",
        "cp1140",
        "cp1250",
        "cp1251",
        "cp1252",
        "cp1253",
        "cp1254",
        "cp1255",
        "cp1256",
        "cp1257",
        "cp1258",
        "cp273",
        "cp424",
        "cp437",
        "cp500",
        "cp720",
        "cp737",
        "cp775",
        "cp850",
        "cp852",
        "cp855",
        "cp856",
        "cp857",
        "cp858",
        "cp860",
        "cp861",
        "cp862",
        "cp863",
        "cp864",
        "cp865",
        "cp866",
        "cp869",
        "cp874",
        "cp875",
        "cp932",
        "cp949",
        "euc_jis_2004",
        "euc_kr",
        "gb18030",
        "hp-roman8",
        "hz",
        "iso2022_jp_2",
        "iso2022_jp_2004",
        "iso2022_jp_ext",
        "iso2022_kr",
        "iso8859-1",
        "iso8859-10",
        "iso8859-13",
        "iso8859-14",
        "iso8859-15",
        "iso8859-16",
        "iso8859-2",
        "iso8859-3",
        "iso8859-4",
        "iso8859-5",
        "iso8859-6",
        "iso8859-7",
        "iso8859-8",
        "iso8859-9",
        "johab",
        "koi8-r",
        "koi8-t",
        "koi8-u",
        "kz1048",
        "mac-cyrillic",
        "mac-greek",
        "mac-iceland",
        "mac-latin2",
        "mac-roman",
        "mac-turkish",
        "ptcp154",
        "shift_jis_2004",
        "tis-620",
        "utf-8",
    ]
)

Weights = NDArray[np.uint8]


def weights_of(counts: NDArray[np.int64], min_weight: int = 1) -> Weights:
    """Counts int64[65536] as weights 0-255 relative to the largest; ties round to even.

    >>> weights_of(np.array([510, 1, 0] + [0] * 65533))[:3].tolist()
    [255, 0, 0]
    """
    largest = int(counts.max(initial=0))
    if not largest:
        return np.zeros(65536, np.uint8)
    weights = np.rint(counts / largest * 255).astype(np.int64)
    pairs = np.arange(65536)
    high = (pairs >= 0x8000) | ((pairs & 255) >= 0x80)
    return np.where(weights >= min_weight, weights, high & (counts >= KEPT_COUNT)).astype(np.uint8)


def weights_of_model(model: CharsetModel) -> tuple[dict[str, Weights], list[str]]:
    """Weights of every pair chardet can use under its name, and the keys of the pairs left out."""
    out, left_out = {}, []
    for number, pair in enumerate(model.pairs):
        name = canonical_name(pair.codec)
        weights = weights_of(model.dense(number), model.min_weight)
        if name in KNOWN_TO_CHARDET and weights.any():
            out[f"{pair.language}/{name}"] = weights
        else:
            left_out.append(pair.key)
    return out, left_out


def write_models(models: Mapping[str, Weights], folder: Path, *, level: int = 9) -> dict[str, str]:
    """Write a set; returns the SHA-256 of each file, and of the uncompressed tables under ``tables``."""
    names = sorted(models)
    tables = b"".join(models[name].tobytes() for name in names)
    rarity = rarity_table([models[name] for name in names])
    blob = _header(models, names) + zlib.compress(tables, level)
    lock = hashlib.sha256(blob).digest()
    content = {
        "models.bin": blob,
        "idf.bin": rarity.tobytes(),
        "langnorm.bin": b"CLN1" + lock + b"".join(_norm(models[name], rarity) for name in names),
        "rowmax.bin": b"CRM1"
        + lock
        + b"".join(models[n].reshape(256, 256).max(axis=1).tobytes() for n in names),
    }
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            partial = folder / (name + ".partial")
            partial.write_bytes(content[name])
            partial.replace(folder / name)
    digests = {name: hashlib.sha256(content[name]).hexdigest() for name in FILES}
    return {**digests, "tables": hashlib.sha256(tables).hexdigest()}


def rarity_table(tables: list[Weights]) -> Weights:
    """Per byte pair 1 (in every model, or in none) to 255 (in one): the logarithm of models over models with it."""
    number = len(tables)
    holders = np.zeros(65536, np.int64)
    for table in tables:
        holders += table > 0
    scale = 254.0 / math.log(number) if number > 1 else 254.0
    # math.log, not numpy's: its last bit is the C library's, as in the files this has to equal.
    by_holders = [1, *(max(1, round(math.log(number / n) * scale) + 1) for n in range(1, number + 1))]
    return np.array(by_holders, np.uint8)[holders]


def _header(models: Mapping[str, Weights], names: list[str]) -> bytes:
    parts = [b"CMD2", struct.pack(">I", len(names))]
    for name in names:
        encoded = name.encode()
        norm = math.sqrt(int((models[name].astype(np.int64) ** 2).sum()))
        parts.append(struct.pack(">I", len(encoded)) + encoded + struct.pack(">d", norm))
    return b"".join(parts)


def _norm(table: Weights, rarity: Weights) -> bytes:
    total = int((table.astype(np.int64) ** 2 * rarity.astype(np.int64)).sum())
    return struct.pack(">d", math.sqrt(total))


def read_models(path: Path) -> dict[str, Weights]:
    """Read ``models.bin``.

    Raises:
        ArtifactCorrupt: It is not such a file, or damaged; sizes are checked before anything is allocated.
    """
    data = path.read_bytes()
    if data[:4] != b"CMD2":
        raise ArtifactCorrupt(f"{path}: does not start with CMD2, found {data[:4]!r}")
    try:
        names, offset = _read_names(data, path)
        inflater = zlib.decompressobj()
        tables = inflater.decompress(data[offset:], len(names) * 65536 + 1)
    except (struct.error, UnicodeDecodeError, zlib.error) as error:
        raise ArtifactCorrupt(f"{path}: damaged: {error}") from error
    if len(tables) != len(names) * 65536:
        raise ArtifactCorrupt(
            f"{path}: expected {len(names)} tables of 65,536 bytes, found {len(tables):,} bytes"
        )
    rows = np.frombuffer(tables, np.uint8).reshape(len(names), 65536)
    return dict(zip(names, rows, strict=True))


def _read_names(data: bytes, path: Path) -> tuple[list[str], int]:
    (number,) = struct.unpack_from(">I", data, 4)
    if number > MAX_MODELS:
        raise ArtifactCorrupt(f"{path}: {number} models, more than {MAX_MODELS}")
    offset, names = 8, []
    for _ in range(number):
        (length,) = struct.unpack_from(">I", data, offset)
        if length > MAX_NAME_BYTES:
            raise ArtifactCorrupt(f"{path}: a name of {length} bytes, more than {MAX_NAME_BYTES}")
        names.append(data[offset + 4 : offset + 4 + length].decode())
        offset += 4 + length + 8
    return names, offset


#: Run by another Python process against the installed package: which models does it really use?
_CHECK = """
import hashlib, json, sys, warnings
warnings.simplefilter("error")
import chardet, chardet.models
models = chardet.models.load_models()
table = models.get(sys.argv[1], b"")
answers = [chardet.detect(bytes.fromhex(data))["encoding"] for data in sys.argv[2:]]
print(json.dumps([chardet.__file__, sorted(models), hashlib.sha256(bytes(table)).hexdigest(), answers]))
"""
_SENTENCES = (
    ("Die Größe der Häuser überraschte die Gäste aus München.", "cp1252"),
    ("Сегодня утром мы пошли гулять в старый парк у реки.", "cp1251"),
    ("Žluťoučký kůň běžel přes zelené louky až k večeru.", "iso8859-2"),
    ("今日は天気がいいので、公園まで歩いて行きました。", "cp932"),
    ("Το πρωί πήγαμε στη θάλασσα με τα παιδιά και τους φίλους.", "cp1253"),
)


def install_models(folder: Path, prefix: Path, models: Mapping[str, Weights]) -> list[str]:
    """Replace the models of a chardet installed with ``pip install --target`` and check that it loads these.

    Copying only the package's folder elsewhere would silently use the old models, because its compiled module lies
    beside it; so the key set and one table are compared, then five sentences detected.

    Raises:
        InputError: There is no chardet, or it does not use the new models.
    """
    target = prefix / "chardet" / "models"
    if not (target / "models.bin").is_file():
        hint = f"pip install --target {prefix} chardet==7.7.0"
        raise InputError("no chardet with model files is installed here", path=str(prefix), hint=hint)
    for name in FILES:
        (target / name).write_bytes((folder / name).read_bytes())
    key = min(models)
    data = [text.encode(codec).hex() for text, codec in _SENTENCES]
    child = subprocess.run(
        [sys.executable, "-c", _CHECK, key, *data],
        env={**os.environ, "PYTHONPATH": str(prefix.resolve())},
        capture_output=True,
        check=False,
    )
    if child.returncode:
        raise InputError(f"chardet fails: {child.stderr.decode().strip().splitlines()[-1]}", path=str(prefix))
    place, keys, digest, answers = json.loads(child.stdout)
    ours = hashlib.sha256(models[key].tobytes()).hexdigest()
    if Path(place).resolve().parents[1] != prefix.resolve() or keys != sorted(models) or digest != ours:
        raise InputError(f"the chardet that was loaded ({place}) does not use these models", path=str(prefix))
    return [str(answer) for answer in answers]
