"""Find the odds of languages (``langid train --odds``) for the model of the package.

    python -m release.langid_rows ../shared/data/world/world.jsonl.zst rows.jsonl
    python -m release.langid_odds rows.jsonl release

A model is trained without one source of the corpus and asked for texts of that source: sentences, pairs of words, single words. Odds are
moved until each language is expected as often as it is there, for all such models and sources together. So no model has
seen the texts that its odds are found on. Writes ``langid_odds.txt``, from three sources. For the benchmark, whose texts are of two of
them, it writes ``langid_odds_without_SOURCE.txt``: found on the other two, by a model that has seen none of the three. Takes three minutes.
"""

from __future__ import annotations

import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from benchmarks.langid_world import HELD_OUT, LINGUA, cut_texts
from numpy.typing import NDArray

from samebits import RunOptions, langid
from samebits.core.seeds import rng_for
from samebits.data.artifact import open_artifact
from samebits.langid.config import MOST_POINTS
from samebits.langid.model.compact_files import CompactFiles, read_compact
from samebits.langid.model.ranking import MOST_LETTERS, Ranker, column_of, settle_scores
from samebits.langid.training.compact.priors import built_in_odds

SOURCES = ("ntrex", "tesseract-text", "udhr")
NUM_TEXTS = {"sentences": 100, "pairs": 200, "words": 200}
WEIGHT = {"sentences": 0.3, "pairs": 1.0, "words": 1.0}
OTHER_LANGUAGES = 0.1  # weight of a language that lingua does not know: most texts are in those it knows
TURNS, RATE, MOST = (
    40,
    0.5,
    8 * 64,
)  # more turns fit pairs better and single words of other sources worse (dev/LOG.md)
Texts = dict[str, list[tuple[str, str]]]  # kind: (language, text)


class Sample(NamedTuple):
    """Texts that a model has not seen: what its columns say, known letters, the language of each text, and its weight."""

    files: CompactFiles
    columns: NDArray[np.int32]
    letters: NDArray[np.int32]
    labels: NDArray[np.int64]
    weights: NDArray[np.float64]


def main() -> None:
    """Train, find, write."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rows, target = Path(sys.argv[1]), Path(sys.argv[2])
    texts = {source: texts_of(rows, source) for source in SOURCES}
    samples = [sample(model_without(rows, {source}), texts[source]) for source in SOURCES]
    write(target / "langid_odds.txt", samples)
    without = model_without(rows, set(SOURCES))
    for held_out in HELD_OUT:
        others = [sample(without, texts[source]) for source in SOURCES if source != held_out]
        write(target / f"langid_odds_without_{held_out}.txt", others)


def texts_of(rows: Path, source: str) -> Texts:
    """Cut texts from the rows of a source, as the benchmark does."""
    found: dict[str, list[str]] = defaultdict(list)
    decode = msgspec.json.Decoder().decode
    with rows.open("rb") as file:
        for row in map(decode, file):
            if row["source"] == source:
                found[row["lang"]].append(row["text"])
    texts: Texts = {kind: [] for kind in NUM_TEXTS}
    for name in sorted(found):
        for kind, pieces in cut_texts(found[name]).items():
            order = rng_for(0, "langid-odds", source, name, kind).permutation(len(pieces))
            texts[kind] += [(name, pieces[i]) for i in order[: NUM_TEXTS[kind]].tolist()]
    return texts


def model_without(rows: Path, sources: set[str]) -> CompactFiles:
    """Train without some sources, with the odds that are built in."""
    decode = msgspec.json.Decoder().decode
    with tempfile.TemporaryDirectory() as place:
        kept, model = Path(place) / "rows.jsonl", Path(place) / "model"
        with rows.open("rb") as file, kept.open("wb") as out:
            out.writelines(line for line in file if decode(line)["source"] not in sources)
        options = RunOptions(workers=2)
        langid.train(
            [kept], output=model, options=options, mode="compact", ledger="none", source_column="source"
        )
        files = read_compact(open_artifact(model))
        return files._replace(buckets=np.array(files.buckets), stream=np.array(files.stream))


def sample(files: CompactFiles, texts: Texts) -> Sample:
    """Ask a model for texts; each kind weighs as much as it says, and within it each language."""
    number = {name: k for k, name in enumerate(files.languages)}
    rows = [(kind, *row) for kind, found in texts.items() for row in found if row[0] in number]
    column = column_of([text for _, _, text in rows])
    columns, letters, _ = files.scorer().score(column.buffer, column.starts, column.stops, MOST_POINTS)
    labels = np.array([number[name] for _, name, _ in rows])
    size: dict[tuple[str, str], int] = defaultdict(int)
    for kind, name, _ in rows:
        size[kind, name] += 1
    weights = np.array(
        [
            WEIGHT[kind] * (1 if name in LINGUA else OTHER_LANGUAGES) / size[kind, name]
            for kind, name, _ in rows
        ]
    )
    return Sample(files, columns, letters, labels, weights / weights.sum())


def fit(samples: Iterable[Sample]) -> dict[str, int]:
    """Return odds in 1/64 bit, those built in included, at which each language is expected as often as it is there."""
    samples = list(samples)
    languages = samples[0].files.languages
    there = sum(np.bincount(one.labels, one.weights, len(languages)) for one in samples)
    moved = np.zeros(len(languages))
    for _ in range(TURNS):
        expected = sum(expect(one, np.rint(moved).astype(np.int32)) for one in samples)
        step = np.log2(np.where(there > 0, there, 1) / np.where(there > 0, expected, 1))
        moved = np.clip(moved + 64 * RATE * np.clip(step, -1, 1), -MOST, MOST)
    built_in = built_in_odds()
    return {
        name: built_in.get(name, 0) + round(by) for name, by in zip(languages, moved.tolist(), strict=True)
    }


def expect(one: Sample, moved: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return how much weight each language is given if odds are moved."""
    ranker = Ranker(one.files._replace(biases=one.files.biases + moved))
    scores = settle_scores(ranker.files, one.columns, one.letters, ranker.groups)
    per = ranker.halving[np.minimum(one.letters, MOST_LETTERS)]
    shares = np.exp2((scores - scores.max(axis=1, keepdims=True)) / per[:, None])
    weights = one.weights / shares.sum(axis=1)
    return np.asarray(weights @ shares)


def write(path: Path, samples: Iterable[Sample]) -> None:
    """Write the odds as the flag takes them."""
    odds = [f"{name}={value / 64:.2f}" for name, value in fit(samples).items() if value]
    path.write_text(",".join(odds) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
