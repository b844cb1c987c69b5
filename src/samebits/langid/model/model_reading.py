"""A model read from disk. Loading runs no code, and every size is checked before it is used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.data import checked
from samebits.data.artifact import Artifact, open_artifact
from samebits.errors import ArtifactCorrupt, InputError
from samebits.langid.constants import CONSTANTS, NUM_GROUPS
from samebits.langid.model.features import Features
from samebits.langid.model.model_files import FORMAT, JOBS, ModelFiles
from samebits.langid.training.tasks import WordCounts

__all__ = ["read_model"]

MOST_LANGUAGES = 1 << 15
MOST_FLOOR = 1 << 16  # eight times 64 bits in 1/64 is half of it; sums of larger ones could overflow


class Described(msgspec.Struct):
    """What ``model.json`` must say."""

    format: str
    mode: Literal["backoff", "exact"]
    languages: Annotated[list[str], msgspec.Meta(min_length=1, max_length=MOST_LANGUAGES)]
    constants: list[list[int]]


def read_model(folder: str | Path) -> ModelFiles:
    """Read and check a model.

    Raises:
        InputError: if the folder is no langid model.
        ArtifactCorrupt: if its files do not fit together.
    """
    artifact = open_artifact(folder)
    if artifact.manifest["job"] not in JOBS:
        hint = "train one with: samebits langid train DATA -o DIR"
        raise InputError(
            f"an artifact of {artifact.manifest['job']!r}, not a langid model", path=str(folder), hint=hint
        )
    if "stream.npy" in artifact.files:
        return _compact(artifact)
    described = checked.fields(artifact, "model.json", Described)
    if described.format != FORMAT or described.constants != CONSTANTS.tolist():
        raise ArtifactCorrupt(f"{folder}: model format {described.format!r} is not {FORMAT!r}")
    languages = described.languages
    checked.ensure(languages == sorted(set(languages)), artifact.folder, "languages are not in order")
    counted = _counted(artifact, len(languages))
    words = checked.array(artifact, "words.npy", np.uint8)
    word_stops = _words(artifact, words)
    if len(word_stops) != len(counted.stops):
        raise ArtifactCorrupt(f"{folder}: {len(word_stops)} words and {len(counted.stops)} entries of words")
    features = _features(artifact, len(languages)) if described.mode == "backoff" else None
    return ModelFiles(
        described.mode,
        languages,
        words,
        word_stops,
        counted,
        features,
        artifact.digest,
        _script(artifact),
    )


def _compact(artifact: Artifact) -> ModelFiles:
    from samebits.langid.model.compact_files import read_compact

    files = read_compact(artifact)
    nothing = np.empty(0, np.int64)
    counted = WordCounts(nothing, np.empty(0, np.int32), np.empty(0, np.uint32))
    words = np.empty(0, np.uint8)
    return ModelFiles(
        "compact", files.languages, words, nothing, counted, None, artifact.digest, "auto", files
    )


def _script(artifact: Artifact) -> str:
    script = artifact.config.get("script", "auto")
    checked.ensure(isinstance(script, str), artifact.folder, f"its script is {script!r}")
    return str(script)


def _words(artifact: Artifact, words: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Read where words end; kernels walk over whole characters, so every word must be UTF-8 of its own."""
    sizes = checked.array(artifact, "word_sizes.npy", np.uint32, low=1)
    ends = checked.stops(artifact, "word_sizes.npy", sizes, total=len(words))
    path = artifact.path("words.npy")
    try:
        words.tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ArtifactCorrupt(f"{path}: not UTF-8 at byte {error.start}") from None
    starts = ends[:-1]
    checked.ensure(bool(((words[starts] & 0xC0) != 0x80).all()), path, "a word starts inside a character")
    return ends


def _counted(artifact: Artifact, num_languages: int) -> WordCounts:
    counts = checked.array(artifact, "entry_counts.npy", np.uint32, low=1)
    languages = checked.array(
        artifact, "entry_languages.npy", np.uint16, shape=counts.shape, high=num_languages - 1
    )
    sizes = checked.array(artifact, "entry_sizes.npy", np.uint32, low=1, high=num_languages)
    ends = checked.stops(artifact, "entry_sizes.npy", sizes, total=len(counts))
    return WordCounts(ends, languages.astype(np.int32), counts)


def _features(artifact: Artifact, num_languages: int) -> Features:
    from samebits.langid.model.features import Features

    keys = checked.array(artifact, "keys.npy", np.uint64, increasing=True)
    values = checked.array(artifact, "values.npy", np.int16)
    languages = checked.array(
        artifact, "value_languages.npy", np.uint16, shape=values.shape, high=num_languages - 1
    )
    sizes = checked.array(artifact, "key_sizes.npy", np.uint32, shape=keys.shape, low=1, high=num_languages)
    ends = checked.stops(artifact, "key_sizes.npy", sizes, total=len(values))
    checked.increasing_within(artifact.path("value_languages.npy"), languages, ends)
    floors = checked.array(
        artifact, "floors.npy", np.int32, shape=(NUM_GROUPS, num_languages), low=0, high=MOST_FLOOR
    )
    return Features(keys, ends, languages, np.empty(0, np.uint32), values.astype(np.int64) << 4, floors)
