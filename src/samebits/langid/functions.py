"""What ``from samebits import langid`` offers as plain functions: train, predict and judge whole files."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from samebits import api
from samebits.core.config import make_config
from samebits.core.observing.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.core.plan import Shard
from samebits.data.inputs.columns import is_table, shape_name
from samebits.data.inputs.corpus import Corpus, open_corpus
from samebits.data.inputs.memory import as_inputs, as_paths
from samebits.data.readers.rows import iter_rows
from samebits.errors import ConfigError
from samebits.in_memory import map_in_memory
from samebits.langid.config import LangidConfig
from samebits.langid.model.model import LangidModel, Prediction
from samebits.langid.model.spans import Span
from samebits.langid.sources import CELL_BYTES, Sources, iter_labelled, open_sources
from samebits.langid.training.report import make_report
from samebits.progress.notebook import Show

__all__ = [
    "LanguageReport",
    "evaluate_files",
    "iter_texts",
    "load_default",
    "predict",
    "predict_files",
    "spans",
    "train",
]

Part = TypeVar("Part")
LENGTHS = (("up to 20", 0, 21), ("21 to 39", 21, 40), ("40 and more", 40, 1 << 62))


def train(
    data: Any,
    *,
    output: str | Path | None = None,
    options: RunOptions | None = None,
    observer: Observer = ignore,
    progress: Show = "auto",
    **settings: Any,
) -> LangidModel:
    """Train a model.

    Args:
        data: One path or several; a pandas or polars data frame, an Arrow table or a data set with a text and a label
            column; ``{language: [texts]}``; rows as dicts, or as tuples (text, label).
        output: Folder to write the artifact to; none keeps nothing but the model.
        options: How to compute it; never changes the result.
        observer: Told of every event.
        progress: Show progress: True, False, or "auto" for notebooks only.
        settings: Fields of ``LangidConfig``, e.g. ``mode="exact"`` or ``text_column="comment"``.

    Raises:
        ConfigError: for a setting or a column that does not exist.
    """
    config = make_config(LangidConfig, settings)
    columns = {config.text_column: "text_column", config.lang_column: "lang_column"}
    if isinstance(data, Mapping) and not is_table(data) and not set(columns) <= set(data):
        data = _by_language(data)
    elif config.source_column:
        columns[config.source_column] = "source_column"
    with (
        as_inputs(data, columns) as inputs,
        tempfile.TemporaryDirectory(prefix="samebits-langid-") as folder,
    ):
        target = Path(output) if output is not None else Path(folder) / "model"
        config = dataclasses.replace(config, inputs=inputs)
        api.run("langid", config, output=target, options=options, observer=observer, progress=progress)
        return LangidModel.load(target)


def _by_language(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (text, language) of ``{language: [texts]}``."""
    for lang, texts in data.items():
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
            raise ConfigError(
                f"the texts of {lang!r} are {shape_name(texts)}, not a list of texts",
                hint='write {"en": ["a text", ...], ...}',
            )
        yield from ((text, lang) for text in texts)


def load_default() -> LangidModel:
    """Return the model that is part of the package: about 200 languages in 15 MB (docs/models.md)."""
    from samebits.langid.model.default import default_folder

    return LangidModel.load(default_folder())


@cache
def _kept() -> LangidModel:
    """Return the model of the package, loaded once for calls that name none."""
    return load_default()


@overload
def predict(  # type: ignore[overload-overlap]  # a string is one text, although it is iterable
    texts: str,
    *,
    n_jobs: int = 1,
    min_confidence: float = 0.0,
    languages: Iterable[str] | None = None,
    scripts: bool = False,
) -> str: ...


@overload
def predict(
    texts: Iterable[str],
    *,
    n_jobs: int = 1,
    min_confidence: float = 0.0,
    languages: Iterable[str] | None = None,
    scripts: bool = False,
) -> list[str]: ...


def predict(
    texts: str | Iterable[str],
    *,
    n_jobs: int = 1,
    min_confidence: float = 0.0,
    languages: Iterable[str] | None = None,
    scripts: bool = False,
) -> str | list[str]:
    """Return the language of each text, or of the one text given as a string, by the default model.

    The arguments are those of ``LangidModel.predict``. For confidences and rankings use
    ``langid.load_default().predict_full``.
    """
    return _kept().predict(
        texts, n_jobs=n_jobs, min_confidence=min_confidence, languages=languages, scripts=scripts
    )


def spans(text: str, *, languages: Iterable[str] | None = None) -> list[Span]:
    """Return the stretches of a mixed text with their languages, by the default model; they cover it whole."""
    return _kept().spans(text, languages=languages)


@dataclass(frozen=True, slots=True)
class PredictShard:
    """Predict the rows of one shard."""

    column: str
    top: int
    min_confidence: float
    languages: tuple[str, ...] = ()
    scripts: bool = False

    def __call__(self, shard: Shard, state: tuple[Corpus, LangidModel], /) -> list[Any]:
        """Return [text, label, confidence, ranking] for each row."""
        corpus, model = state
        found: list[Any] = []
        allowed = model.choose(self.languages or None)
        for block in iter_rows(corpus, shard, (self.column,)):
            text = block.columns[self.column]
            predictions = model.predict_column(
                text,
                top=self.top,
                min_confidence=self.min_confidence,
                allowed=allowed,
                scripts=self.scripts,
            )
            for row, p in zip(text.texts(), predictions, strict=True):
                found.append([row, p.label, p.confidence, [list(pair) for pair in p.ranking]])
        return found


def predict_files(
    model: LangidModel,
    inputs: str | Path | Sequence[str | Path],
    *,
    input_format: str = "auto",
    column: str = "text",
    top: int = 1,
    min_confidence: float = 0.0,
    languages: Sequence[str] = (),
    scripts: bool = False,
    workers: int | str = "auto",
) -> Iterator[tuple[str, Prediction]]:
    """Yield (text, Prediction) for every row of the files, in order, shards in parallel.

    ``languages`` and ``scripts`` are those of ``LangidModel.predict``.
    """
    model.choose(languages or None)
    corpus = open_corpus(inputs, format=input_format, cell_bytes=CELL_BYTES)
    task = PredictShard(column, top, min_confidence, tuple(languages), scripts)
    for part in _map(task, corpus, (corpus, model), workers):
        for text, label, confidence, ranking in part:
            yield text, Prediction(label, confidence, tuple((name, share) for name, share in ranking))


def iter_texts(inputs: Sequence[str], *, input_format: str = "auto", column: str = "text") -> Iterator[str]:
    """Yield the texts of files, in order."""
    corpus = open_corpus(inputs, format=input_format, cell_bytes=CELL_BYTES)
    for shard in corpus.shards():
        for block in iter_rows(corpus, shard, (column,)):
            yield from block.columns[column].texts()


def _map(
    task: Callable[[Shard, Any], Part], corpus: Corpus, state: Any, workers: int | str
) -> Iterator[Part]:
    parts = map_in_memory(
        "langid",
        "predict",
        task,
        corpus.shards(),
        state=state,
        unit="bytes",
        names=corpus.names,
        workers=workers,
    )
    return (part for _, part in parts)


class AnswersPart(NamedTuple):
    """Of each row its label, the answer's number and the length in code points."""

    labels: list[str]
    top: NDArray[np.int64]
    lengths: list[int]


@dataclass(frozen=True, slots=True)
class EvaluateShard:
    """Predict the labelled rows of one shard."""

    part_type: ClassVar = AnswersPart
    text_column: str
    lang_column: str

    def __call__(self, shard: Shard, state: tuple[Sources, LangidModel], /) -> AnswersPart:
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
        return AnswersPart(labels, found, lengths)


class LanguageReport(dict[str, Any]):
    """What ``evaluate_files`` measured: a dict that a notebook shows as two small tables."""

    def __repr__(self) -> str:
        """Say what matters in one line; every key is there to be asked for."""
        return f"<LanguageReport: {self['accuracy']:.4f} of {self['rows']:,} rows right, macro F1 {self['f1']:.4f}>"

    def _repr_html_(self) -> str:
        """Show the measures, and the ten pairs of languages that are confused most."""
        measures = [(name, f"{self[name]:.4f}") for name in ("accuracy", "precision", "recall", "f1")]
        worst = sorted(self["confusion_pairs"], key=lambda pair: (-pair["score"], pair["langs"]))[:10]
        pairs = [(" and ".join(pair["langs"]), f"{pair['score']:.4f}") for pair in worst]
        first = _table("measure", "value", [("rows", f"{self['rows']:,}"), *measures])
        return first + (_table("confused", "share", pairs) if pairs else "")


def _table(left: str, right: str, rows: Sequence[tuple[str, str]]) -> str:
    cells = "".join(
        f"<tr><td style='text-align:left'>{escape(a)}</td><td>{escape(b)}</td></tr>" for a, b in rows
    )
    return f"<table><tr><th style='text-align:left'>{left}</th><th>{right}</th></tr>{cells}</table>"


def evaluate_files(
    model: LangidModel,
    inputs: str | Path | Sequence[str | Path],
    *,
    input_format: str = "auto",
    text_column: str = "text",
    lang_column: str = "lang",
    workers: int | str = "auto",
) -> LanguageReport:
    """Measure a model on labelled rows; languages it does not know are counted, outside the measures.

    Macro measures are over the languages that occur, as a label or as an answer: of a model's others nothing is known.
    """
    sources = open_sources(as_paths(inputs) or (), (), input_format=input_format)
    task = EvaluateShard(text_column, lang_column)
    parts = list(_map(task, sources.corpus, (sources, model), workers))
    number = {name: i for i, name in enumerate(model.languages)}
    labels = np.array([number.get(name, -1) for part in parts for name in part.labels], np.int32)
    lengths = np.array([length for part in parts for length in part.lengths], np.int64)
    top = np.concatenate([part.top for part in parts]).astype(np.int32) if parts else np.empty(0, np.int32)
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
    return LanguageReport(report)
