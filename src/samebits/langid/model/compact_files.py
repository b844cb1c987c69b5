"""The compact model on disk: ``model.json`` and four arrays, mapped and not read. Every number is checked before use.

``buckets.npy`` and ``stream.npy`` hold the features (``kernels/langid/compact.pyx`` says how), ``floors.npy`` what a letter
costs in each language, ``biases.npy`` how much more likely a language is than another before a letter is read. Values are
one of 128 levels, fine for small ones and coarse for large.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.data.artifact import Artifact, ArtifactWriter
from samebits.errors import ArtifactCorrupt
from samebits.kernels.langid.compact import CompactScorer, check_stream
from samebits.langid.tables import load_tables, unicode_version

__all__ = ["COMPACT", "LEVELS", "CompactFiles", "levels_of", "pack", "read_compact", "write_compact"]

COMPACT = "langid.compact.v1"
MOST_LANGUAGES = 256
LIMIT = 1 << 20  # no floor or bias is as large: 32-bit sums cannot overflow
MOST_FEATURES = 1 << 24


def _levels() -> list[int]:
    """Values in 1/64 bit: steps of 1/8 bit up to 3 bits, then of a sixteenth of the value."""
    rising = [8 * k for k in range(25)]
    while len(rising) < 65:
        rising.append(rising[-1] + max(8, rising[-1] * 65 // 1024))
    return rising[:64] + [-value for value in rising[1:]]


LEVELS = np.array(_levels(), np.int16)


class CompactFiles(NamedTuple):
    """A compact model's arrays."""

    languages: list[str]
    buckets: NDArray[np.uint32]
    stream: NDArray[np.uint16]
    floors: NDArray[np.int32]
    biases: NDArray[np.int32]

    def scorer(self) -> CompactScorer:
        """Make the kernel's view of them."""
        return CompactScorer(load_tables(), self.buckets, self.stream, LEVELS, self.floors)


def levels_of(values: NDArray[np.int64]) -> NDArray[np.uint16]:
    """Return the number of the nearest level of each value in 1/64 bit."""
    order = np.argsort(LEVELS, kind="stable")
    rising = LEVELS[order].astype(np.int64)
    middle = (rising[1:] + rising[:-1]) // 2
    return order[np.searchsorted(middle, values, side="left")].astype(np.uint16)


def pack(
    keys: NDArray[np.uint64],
    sizes: NDArray[np.int64],
    languages: NDArray[np.uint8],
    levels: NDArray[np.uint16],
    num_buckets: int,
) -> tuple[NDArray[np.uint32], NDArray[np.uint16]]:
    """Return buckets and stream of features sorted by key."""
    starts = np.cumsum(sizes + 1) - (sizes + 1)
    stream = np.empty(int(sizes.sum()) + len(sizes), np.uint16)
    is_check = np.zeros(len(stream), bool)
    is_check[starts] = True
    stream[starts] = (keys & np.uint64(0xFFFF)).astype(np.uint16)
    entries = (levels << np.uint16(8)) | languages
    entries[np.cumsum(sizes) - 1] |= np.uint16(1 << 15)
    stream[~is_check] = entries
    bucket = (keys >> np.uint64(64 - (num_buckets.bit_length() - 1))).astype(np.int64)
    first = np.searchsorted(bucket, np.arange(num_buckets + 1))
    return np.append(starts, len(stream))[first].astype(np.uint32), stream


def write_compact(out: ArtifactWriter, files: CompactFiles) -> None:
    """Write the model's files."""
    described = {
        "format": COMPACT,
        "mode": "compact",
        "languages": files.languages,
        "unicode": unicode_version(),
        "levels": LEVELS.tolist(),
    }
    out.write_json("model.json", described)
    out.write_array("buckets.npy", files.buckets)
    out.write_array("stream.npy", files.stream)
    out.write_array("floors.npy", files.floors)
    out.write_array("biases.npy", files.biases)


def read_compact(artifact: Artifact) -> CompactFiles:
    """Map and check the arrays.

    Raises:
        ArtifactCorrupt: if anything is not as ``write_compact`` would have written it.
    """
    described = artifact.json("model.json")
    if not isinstance(described, dict) or described.get("format") != COMPACT:
        raise ArtifactCorrupt(f"{artifact.folder}: model.json is not of the format {COMPACT!r}")
    names = described.get("languages")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ArtifactCorrupt(f"{artifact.folder}: languages are not a list of names")
    if not 0 < len(names) <= MOST_LANGUAGES or described.get("levels") != LEVELS.tolist():
        raise ArtifactCorrupt(f"{artifact.folder}: {len(names)} languages, or levels of a different version")
    buckets = _array(artifact, "buckets.npy", np.uint32)
    stream = _array(artifact, "stream.npy", np.uint16)
    floors, biases = _array(artifact, "floors.npy", np.int32), _array(artifact, "biases.npy", np.int32)
    for name, values in (("floors.npy", floors), ("biases.npy", biases)):
        if len(values) != len(names) or int(np.abs(values.astype(np.int64)).max()) >= LIMIT:
            raise ArtifactCorrupt(f"{artifact.folder / name}: values do not fit {len(names)} languages")
    num = len(buckets) - 1
    power = num > 1 and num & (num - 1) == 0 and num <= MOST_FEATURES
    if not power or not check_stream(buckets, stream, len(names)):
        raise ArtifactCorrupt(f"{artifact.folder}: buckets and stream do not fit {len(names)} languages")
    return CompactFiles(names, buckets, stream, floors, biases)


def _array(artifact: Artifact, name: str, dtype: Any) -> NDArray[Any]:
    array = artifact.array(name, mmap=True)
    if array.dtype != np.dtype(dtype) or array.ndim != 1:
        raise ArtifactCorrupt(f"{artifact.folder / name}: {array.dtype} with {array.ndim} dimensions")
    return np.ascontiguousarray(array)
