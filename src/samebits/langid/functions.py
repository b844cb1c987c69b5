"""What ``from samebits import langid`` offers as plain functions: train, predict and judge whole files."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from samebits import api
from samebits.core.engine import Engine
from samebits.core.options import RunOptions
from samebits.core.plan import Plan, Shard
from samebits.data.inputs.corpus import Corpus, open_corpus
from samebits.data.readers.rows import iter_rows
from samebits.errors import ConfigError, did_you_mean
from samebits.jobs import get_job
from samebits.langid.config import LangidConfig
from samebits.langid.model.model import LangidModel, Prediction
from samebits.langid.sources import CELL_BYTES, Sources, iter_labelled, open_sources
from samebits.langid.training.report import make_report

__all__ = ["evaluate_files", "load_default", "predict_files", "train"]

LENGTHS = (("up to 20", 0, 21), ("21 to 39", 21, 40), ("40 and more", 40, 1 << 62))
Rows = Iterable[Mapping[str, Any]]


def train(
    data: str | Path | Sequence[str] | Mapping[str, Sequence[str]] | Rows,
    *,
    output: str | Path | None = None,
    options: RunOptions | None = None,
    **settings: Any,
) -> LangidModel:
    """Train a model.

    Args:
        data: Paths, or ``{language: [texts]}``, or rows with a text and a label.
        output: Folder to write the artifact to; none keeps nothing but the model.
        options: How to compute it; never changes the result.
        settings: Fields of ``LangidConfig``, e.g. ``mode="exact"``.

    Raises:
        ConfigError: for a setting that does not exist.
    """
    known = {field.name for field in fields(LangidConfig)}
    for name in settings:
        if name not in known:
            raise ConfigError(f"unknown setting {name!r}", hint=did_you_mean(name, known))
    with tempfile.TemporaryDirectory(prefix="samebits-langid-") as folder:
        inputs = _inputs(data, Path(folder), LangidConfig(**settings))
        target = Path(output) if output is not None else Path(folder) / "model"
        api.run("langid", LangidConfig(inputs=inputs, **settings), output=target, options=options)
        return LangidModel.load(target)


def _inputs(data: Any, folder: Path, config: LangidConfig) -> tuple[str, ...]:
    """Return paths; rows in memory are written to a file first, so that they go the same way as all others."""
    if isinstance(data, str | Path):
        return (str(data),)
    if isinstance(data, Mapping):
        rows: Rows = ({"text": text, "lang": lang} for lang, texts in data.items() for text in texts)
        names = ("text", "lang")
    else:
        items = list(data)
        if items and all(isinstance(item, str | Path) for item in items):
            return tuple(map(str, items))
        rows, names = items, (config.text_column, config.lang_column)
    lines = (
        {config.text_column: _clean(row[names[0]]), config.lang_column: _clean(row[names[1]])} for row in rows
    )
    path = folder / "rows.jsonl"
    path.write_bytes(msgspec.json.Encoder().encode_lines(lines))
    return (str(path),)


def _clean(value: Any) -> str:
    return str(value).encode("utf-8", "replace").decode()


def load_default() -> LangidModel:
    """Return the model trained on the package's sample texts; made on first use and kept in the user's cache."""
    from samebits.langid.model.default import default_folder, sample_rows

    folder = default_folder()
    if not (folder / "manifest.json").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        return train(sample_rows(), output=folder, options=RunOptions(overwrite=True))
    return LangidModel.load(folder)


@dataclass(frozen=True, slots=True)
class PredictShard:
    """Predict the rows of one shard."""

    column: str
    top: int
    min_confidence: float

    def __call__(self, shard: Shard, state: tuple[Corpus, LangidModel], /) -> list[Any]:
        """Return [text, label, confidence, ranking] for each row."""
        corpus, model = state
        found: list[Any] = []
        for block in iter_rows(corpus, shard, (self.column,)):
            text = block.columns[self.column]
            predictions = model.predict_column(text, top=self.top, min_confidence=self.min_confidence)
            for row, p in zip(text.texts(), predictions, strict=True):
                found.append([row, p.label, p.confidence, [list(pair) for pair in p.ranking]])
        return found


def predict_files(
    model: LangidModel,
    inputs: Sequence[str],
    *,
    input_format: str = "auto",
    column: str = "text",
    top: int = 1,
    min_confidence: float = 0.0,
    workers: str = "auto",
) -> Iterator[tuple[str, Prediction]]:
    """Yield (text, Prediction) for every row of the files, in order, shards in parallel."""
    corpus = open_corpus(inputs, format=input_format, cell_bytes=CELL_BYTES)
    task = PredictShard(column, top, min_confidence)
    for part in _map(task, corpus, (corpus, model), workers):
        for text, label, confidence, ranking in part:
            yield text, Prediction(label, confidence, tuple((name, share) for name, share in ranking))


def _map(task: Any, corpus: Corpus, state: Any, workers: str) -> Iterator[Any]:
    job = get_job("langid")
    plan = Plan("langid", job.version, 0, "", corpus.digest, corpus.names, corpus.shards())
    with api.open_executor(job, plan, RunOptions(workers=workers)) as (executor, _):
        for _, part in Engine(executor, plan=plan).map_ordered(
            "predict", task, plan.shards, state=state, unit="bytes"
        ):
            yield part


@dataclass(frozen=True, slots=True)
class EvaluateShard:
    """Predict the labelled rows of one shard."""

    text_column: str
    lang_column: str

    def __call__(self, shard: Shard, state: tuple[Sources, LangidModel], /) -> dict[str, Any]:
        """Return labels, predictions and lengths in code points."""
        sources, model = state
        labels: list[str] = []
        top, lengths = [], []
        columns = {"text_column": self.text_column, "lang_column": self.lang_column}
        for block in iter_labelled(sources, shard, **columns):
            labels += block.label.texts()
            top.append(model.rank(block.text, 1)[0][:, 0])
            lengths += [len(text) for text in block.text.texts()]
        found = np.concatenate(top) if top else np.empty(0, np.int64)
        return {"labels": labels, "top": found, "lengths": lengths}


def evaluate_files(
    model: LangidModel,
    inputs: Sequence[str],
    *,
    input_format: str = "auto",
    text_column: str = "text",
    lang_column: str = "lang",
    workers: str = "auto",
) -> dict[str, Any]:
    """Measure a model on labelled rows; languages it does not know are counted, outside the measures.

    Macro measures are over the languages that occur, as a label or as an answer: of a model's others nothing is known.
    """
    sources = open_sources(inputs, (), input_format=input_format)
    task = EvaluateShard(text_column, lang_column)
    parts = list(_map(task, sources.corpus, (sources, model), workers))
    number = {name: i for i, name in enumerate(model.languages)}
    labels = np.array([number.get(name, -1) for part in parts for name in part["labels"]], np.int32)
    lengths = np.array([length for part in parts for length in part["lengths"]], np.int64)
    top = np.concatenate([part["top"] for part in parts]).astype(np.int32) if parts else np.empty(0, np.int32)
    known = labels >= 0
    occurring = np.zeros(len(number), bool)
    occurring[labels[known]] = True
    occurring[top[known & (top >= 0)]] = True
    margins = np.zeros(int(known.sum()))
    report = make_report(labels[known], top[known], margins, trained=occurring, languages=model.languages)
    del report["confidence_margin"]
    right = top == labels
    report["by_length"] = [
        {
            "characters": name,
            "rows": int(some.sum()),
            "accuracy": float(right[some].mean()) if some.any() else 0.0,
        }
        for name, low, high in LENGTHS
        if (some := known & (lengths >= low) & (lengths < high)) is not None
    ]
    report["unknown_labels"] = int((~known).sum())
    return report
