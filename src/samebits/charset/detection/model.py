"""A trained set of models, ready to score: loaded from an artifact, or made from the samples in the package."""

from __future__ import annotations

import codecs
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.charset.block import block_of
from samebits.charset.pairs import Pair, builtin_pairs
from samebits.charset.recipes.recipe import load_book
from samebits.charset.training.count import count_block
from samebits.charset.training.project import project_language
from samebits.charset.training.tables import add_counts
from samebits.charset.training.tasks import image_tables, pairs_by_language
from samebits.data import checked
from samebits.data.artifact import open_artifact
from samebits.errors import ArtifactCorrupt

__all__ = ["CharsetModel", "sample_model"]

#: Strength of the fall-back from a byte pair to its second byte; 2 to 128 made no difference on held-out text.
BACKOFF = 8.0
#: Costs are in 1/12 bit, so that 21 bits and less fit into a byte.
UNITS_PER_BIT = 12
MOST_COUNT = 1 << 46  # 65,536 of them stay exact when they are added up
SAMPLES = Path(__file__).resolve().parents[2] / "samples"


class _PairRow(msgspec.Struct):
    """A line of ``pairs.jsonl``; codec is there for those that are trained."""

    lang: str
    encoding: str
    status: str
    codec: str = ""


class _Texts(msgspec.Struct):
    used: int


class _Summary(msgspec.Struct):
    """What ``summary.json`` must hold."""

    texts: _Texts
    languages: dict[str, int]


@dataclass(frozen=True)
class CharsetModel:
    """Byte-pair counts of trained pairs.

    Attributes:
        pairs: The trained pairs, sorted by language and encoding.
        ptr: int64[n + 1]: counts of pair i are at ``ptr[i]:ptr[i + 1]``.
        index: uint16: byte pairs ``first * 256 + second``.
        counts: int64: how often each occurs.
        trained_on: In words, where the counts come from.
        min_weight: Smallest weight an exported model keeps.
    """

    def __repr__(self) -> str:
        """Say what it knows; the counts are arrays."""
        return f"<CharsetModel: {len(self.pairs)} pairs of language and encoding>"

    pairs: tuple[Pair, ...]
    ptr: NDArray[np.int64]
    index: NDArray[np.uint16]
    counts: NDArray[np.int64]
    trained_on: str
    min_weight: int = 1
    languages: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def load(folder: str | Path) -> CharsetModel:
        """Load what ``samebits charset train`` wrote; every file is checked first.

        Raises:
            InputError: There is no such artifact.
            ArtifactCorrupt: A file is not what the manifest says, or the tables do not fit together.
        """
        artifact = open_artifact(folder, job="charset")
        with checked.loading(folder):
            lines = artifact.path("pairs.jsonl").read_bytes().splitlines()
            rows = [msgspec.json.decode(line, type=_PairRow) for line in lines]
            pairs = tuple(Pair(r.lang, r.encoding, r.codec) for r in rows if r.status == "trained")
            summary = checked.fields(artifact, "summary.json", _Summary)
            model = CharsetModel(
                pairs,
                checked.array(artifact, "counts_ptr.npy", np.int64),
                checked.array(artifact, "counts_idx.npy", np.uint16),
                checked.array(artifact, "counts_val.npy", np.int64, low=1, high=MOST_COUNT),
                f"{summary.texts.used:,} texts in {len(summary.languages)} languages",
                msgspec.convert(artifact.config.get("min_weight"), int),
                summary.languages,
            )
        _check(model, Path(folder))
        return model

    def dense(self, number: int) -> NDArray[np.int64]:
        """Counts of one pair as int64[65536]."""
        out = np.zeros(65536, np.int64)
        part = slice(self.ptr[number], self.ptr[number + 1])
        out[self.index[part]] = self.counts[part]
        return out

    @functools.cached_property
    def costs(self) -> NDArray[np.uint8]:
        """(65536, models): cost of each byte pair in each model, in 1/12 bit."""
        # by_model: (models, 65536), then turned so that the models of one byte pair lie together
        by_model = np.empty((len(self.pairs), 65536), np.uint8)
        for number in range(len(self.pairs)):
            by_model[number] = costs_of(self.dense(number))
        return np.ascontiguousarray(by_model.T)


def costs_of(counts: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Cost of each byte pair: ``-12 log2 P(second | first)``, backed off to the second byte alone.

    Unseen pairs need no logarithm of their own: their cost is a sum of one term a row and one a column.
    """
    table = counts.reshape(256, 256).astype(np.float64)
    rows = table.sum(axis=1)
    second = (table.sum(axis=0) + 0.02) / (table.sum() + 5.12)
    cost = (np.log2(rows + BACKOFF)[:, None] - np.log2(BACKOFF * second)[None, :]) * UNITS_PER_BIT
    a, b = np.nonzero(table)
    cost[a, b] = -np.log2((table[a, b] + BACKOFF * second[b]) / (rows[a] + BACKOFF)) * UNITS_PER_BIT
    np.rint(cost, out=cost)
    costs: NDArray[np.uint8] = np.minimum(cost, 255).astype(np.uint8).ravel()
    return costs


def _check(model: CharsetModel, folder: Path) -> None:
    """Refuse tables that would lead outside an array, before anything is allocated from them."""
    ptr, index, counts = model.ptr, model.index, model.counts
    fits = (
        ptr.dtype == np.int64
        and index.dtype == np.uint16
        and counts.dtype == np.int64
        and ptr.shape == (len(model.pairs) + 1,)
        and index.shape == counts.shape == (int(ptr[-1]),)
        and ptr[0] == 0
        and bool((np.diff(ptr) >= 0).all())
        and bool((counts > 0).all())
        and all(_is_codec(pair.codec) for pair in model.pairs)
    )
    if not fits:
        raise ArtifactCorrupt(f"{folder}: the count tables do not fit its {len(model.pairs)} pairs")


@functools.cache
def _is_codec(name: str) -> bool:
    try:
        return codecs.lookup(name)._is_text_encoding
    except (LookupError, ValueError):
        return False


@functools.cache
def sample_model() -> CharsetModel:
    """Byte-pair models trained, now, on the sample texts inside the package: what ``charset export`` writes without a model.

    About 210 pairs in a fifth of a second: cheaper than reading them from a file would be, and never out of step with
    the samples or the recipes. Detection uses `samebits.charset.characters` instead.
    """
    texts = {path.stem: path.read_text("utf-8").splitlines() for path in sorted(SAMPLES.glob("*.txt"))}
    model = train_in_memory(texts, [pair for pair in builtin_pairs() if pair.language in texts])
    num_lines = sum(map(len, texts.values()))
    words = f"the package's own samples: {num_lines:,} lines in {len(texts)} languages, too few for more than a first guess"
    return CharsetModel(model.pairs, model.ptr, model.index, model.counts, words, 1, model.languages)


def train_in_memory(
    texts: Mapping[str, Sequence[str]], pairs: Sequence[Pair], *, recipe: str = "default", markup: bool = True
) -> CharsetModel:
    """Train small sets without files: the same counts as the job, no report, no guard."""
    book = load_book(recipe)
    kept, index, counts = [], [], []
    for language, members in pairs_by_language(pairs).items():
        tables = image_tables(recipe, members)
        parts = [count_block(tables, block_of(texts[language]))]
        if markup:
            parts.append(count_block(tables, block_of(book.markup(language, texts[language]))))
        for pair, found in zip(members, project_language(add_counts(parts), tables).values(), strict=True):
            if len(found.index):
                kept.append(pair)
                index.append(found.index.astype(np.uint16))
                counts.append(found.counts)
    ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(part) for part in index], dtype=np.int64)])
    used: dict[str, Any] = {language: len(found) for language, found in texts.items()}
    return CharsetModel(
        tuple(kept),
        ptr,
        np.concatenate([np.zeros(0, np.uint16), *index]),
        np.concatenate([np.zeros(0, np.int64), *counts]),
        f"{sum(used.values()):,} texts in {len(used)} languages",
        1,
        used,
    )
