"""The model on disk, as it is written: ``model.json`` and arrays; ``model_reading`` reads it.

``words.npy`` with ``word_stops.npy`` is the vocabulary in first-seen order, ``entry_*.npy`` its languages and counts (what
merge, export and overlap need). Backoff models also have ``keys.npy``, ``key_sizes.npy``, ``value_languages.npy``,
``values.npy`` and ``floors.npy``.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Plan, ShardTable
from samebits.data.artifact import ArtifactWriter, check_output
from samebits.data.bad_rows import BadRows
from samebits.langid.constants import CONSTANTS, TEMPERATURE_SHIFT
from samebits.langid.tables import unicode_version
from samebits.langid.training.tasks import WordCounts

if TYPE_CHECKING:
    from samebits.langid.model.compact_files import CompactFiles
    from samebits.langid.model.features import Features

__all__ = ["FORMAT", "JOBS", "ModelFiles", "save_model", "write_floors", "write_head", "write_model"]

FORMAT = "langid.v1"
JOBS = ("langid", "langid_import", "langid_merge")  # whose artifacts are models


class ModelFiles(NamedTuple):
    """A model as arrays; ``features`` has no counts of its own (they follow from the words)."""

    mode: str
    languages: list[str]
    words: NDArray[np.uint8]
    word_stops: NDArray[np.int64]
    counted: WordCounts
    features: Features | None
    digest: str
    script: str
    compact: CompactFiles | None = None


def write_model(
    out: ArtifactWriter,
    mode: str,
    languages: list[str],
    words: NDArray[np.uint8],
    word_stops: NDArray[np.int64],
    counted: WordCounts,
    features: Features | None,
) -> None:
    """Write a model's files; words no language has (left by dropped rows) are not in it."""
    words, word_stops, counted = _used(words, word_stops, counted)
    write_head(out, mode, languages)
    out.write_array("words.npy", words)
    out.write_array("word_sizes.npy", np.diff(word_stops, prepend=0).astype(np.uint32))
    out.write_array("entry_sizes.npy", np.diff(counted.stops, prepend=0).astype(np.uint32))
    out.write_array("entry_languages.npy", counted.languages.astype(np.uint16))
    out.write_array("entry_counts.npy", counted.counts)
    if features is not None:
        out.write_array("keys.npy", features.keys)
        out.write_array("key_sizes.npy", np.diff(features.stops, prepend=0).astype(np.uint32))
        out.write_array("value_languages.npy", features.languages)
        out.write_array("values.npy", features.values)
        write_floors(out, features.floors)


def write_floors(out: ArtifactWriter, floors: NDArray[np.int32]) -> None:
    """Write what a language without a feature pays."""
    out.write_array("floors.npy", floors)


def write_head(out: ArtifactWriter, mode: str, languages: list[str]) -> None:
    """Write what a model is, without its tables."""
    out.write_json(
        "model.json",
        {
            "format": FORMAT,
            "mode": mode,
            "languages": languages,
            "unicode": unicode_version(),
            "constants": CONSTANTS.tolist(),
            "temperature_shift": TEMPERATURE_SHIFT,
        },
    )


def save_model(files: ModelFiles, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a loaded model as an artifact: what predicts, without the reports of its training.

    Raises:
        OutputExists: the folder is there already.
    """
    output = Path(folder)
    check_output(output, overwrite=overwrite)
    out = ArtifactWriter(output, BadRows())
    with closing(out):
        if files.compact is not None:
            from samebits.langid.model.compact_files import write_compact

            write_compact(out, files.compact)
        else:
            write_model(
                out, files.mode, files.languages, files.words, files.word_stops, files.counted, files.features
            )
        nothing = ShardTable.from_ranges(source=[], start=[], stop=[])
        plan = Plan(
            job="langid_import",
            version=1,
            seed=0,
            config_digest="",
            input_digest=files.digest,
            source_names=(),
            shards=nothing,
        )
        out.commit(plan, {"script": files.script}, finish=lambda folder, digest: None)


def _used(
    words: NDArray[np.uint8], word_stops: NDArray[np.int64], counted: WordCounts
) -> tuple[NDArray[np.uint8], NDArray[np.int64], WordCounts]:
    used = np.diff(counted.stops, prepend=0) > 0
    if used.all():
        return words, word_stops, counted
    sizes = np.diff(word_stops, prepend=0)
    kept = words[np.repeat(used, sizes)]
    return kept, np.cumsum(sizes[used]), WordCounts(counted.stops[used], counted.languages, counted.counts)
