"""The compact model on disk: ``model.json`` and five arrays, mapped and not read. Every number is checked before use.

``stream.npy`` holds the features (``kernels/langid/compact.pyx`` says how), ``buckets.npy`` how long each bucket of it is,
in a byte (255: as ``long_buckets.npy`` says next), ``floors.npy`` what a letter costs in each language, ``biases.npy`` how much more likely a language is than another before a letter is read. Values are
one of 128 levels, fine for small ones and coarse for large.

Groups of near languages (``near`` in ``model.json``) have further columns behind those of the languages: what tells a
group's languages apart when like is compared with like (``training/compact/near_values``).
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

COMPACT = "langid.compact.v2"
MOST_LANGUAGES = 256
LIMIT = 1 << 20  # no floor or bias is as large: 32-bit sums cannot overflow
MOST_FEATURES = 1 << 24
LONG = 255  # a bucket's length that does not fit a byte


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
    near: tuple[tuple[str, ...], ...] = ()

    @property
    def num_columns(self) -> int:
        """Languages, and further columns of near ones."""
        return len(self.languages) + sum(map(len, self.near))

    def all_floors(self) -> NDArray[np.int32]:
        """Return the floors of all columns: further ones have none."""
        floors = np.zeros(self.num_columns, np.int32)
        floors[: len(self.floors)] = self.floors
        return floors

    def scorer(self) -> CompactScorer:
        """Make the kernel's view of them.

        Raises:
            ArtifactCorrupt: if features crowd in a few buckets, which no key of training does.
        """
        try:
            return CompactScorer(load_tables(), self.buckets, self.stream, LEVELS, self.all_floors())
        except ValueError as error:
            raise ArtifactCorrupt(f"a compact model of {len(self.languages)} languages: {error}") from error

    def groups(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the numbers of near languages, group after group, and where each group ends."""
        members = [self.languages.index(name) for group in self.near for name in group]
        sizes = [len(group) for group in self.near]
        return np.array(members, np.int32), np.cumsum(sizes, dtype=np.int32)


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
        "near": [list(group) for group in files.near],
    }
    out.write_json("model.json", described)
    sizes = np.diff(files.buckets)
    out.write_array("buckets.npy", np.minimum(sizes, LONG).astype(np.uint8))
    out.write_array("long_buckets.npy", sizes[sizes >= LONG])
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
    near = _groups(artifact, described.get("near"), names)
    buckets = _buckets(artifact)
    stream = _array(artifact, "stream.npy", np.uint16)
    floors, biases = _array(artifact, "floors.npy", np.int32), _array(artifact, "biases.npy", np.int32)
    for name, values in (("floors.npy", floors), ("biases.npy", biases)):
        if len(values) != len(names) or int(np.abs(values.astype(np.int64)).max()) >= LIMIT:
            raise ArtifactCorrupt(f"{artifact.folder / name}: values do not fit {len(names)} languages")
    num = len(buckets) - 1
    power = num > 1 and num & (num - 1) == 0 and num <= MOST_FEATURES
    files = CompactFiles(names, buckets, stream, floors, biases, near)
    if not power or not check_stream(buckets, stream, files.num_columns):
        raise ArtifactCorrupt(f"{artifact.folder}: buckets and stream do not fit {len(names)} languages")
    return files


def _buckets(artifact: Artifact) -> NDArray[np.uint32]:
    """Where each bucket begins, and where the last ends."""
    short = _array(artifact, "buckets.npy", np.uint8)
    sizes = short.astype(np.int64)
    long = _array(artifact, "long_buckets.npy", np.uint32)
    if int((short == LONG).sum()) != len(long):
        raise ArtifactCorrupt(
            f"{artifact.folder / 'long_buckets.npy'}: {len(long)} lengths are not as many as there are long buckets"
        )
    sizes[short == LONG] = long
    stops = np.cumsum(sizes)
    if len(stops) and int(stops[-1]) >= 1 << 32:
        raise ArtifactCorrupt(f"{artifact.folder}: buckets are longer than any stream")
    return np.append(0, stops).astype(np.uint32)


def _groups(artifact: Artifact, near: object, names: list[str]) -> tuple[tuple[str, ...], ...]:
    """The groups of near languages: known names, each once, and room for their columns."""
    if not isinstance(near, list) or not all(isinstance(group, list) and len(group) > 1 for group in near):
        raise ArtifactCorrupt(f"{artifact.folder}: near is not a list of groups of languages")
    members = [name for group in near for name in group]
    if len(names) + len(members) > MOST_LANGUAGES or any(
        not isinstance(name, str) or name not in names or members.count(name) > 1 for name in members
    ):
        raise ArtifactCorrupt(f"{artifact.folder}: near names languages twice or ones it does not have")
    return tuple(tuple(group) for group in near)


def _array(artifact: Artifact, name: str, dtype: Any) -> NDArray[Any]:
    array = artifact.array(name, mmap=True)
    if array.dtype != np.dtype(dtype) or array.ndim != 1:
        raise ArtifactCorrupt(f"{artifact.folder / name}: {array.dtype} with {array.ndim} dimensions")
    return np.ascontiguousarray(array)
