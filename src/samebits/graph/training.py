"""Text to graphs for library users: train, and predict whole files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from samebits import api
from samebits.core.config import make_config
from samebits.core.observing.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.data.inputs.columns import shape_name
from samebits.data.inputs.memory import as_paths
from samebits.errors import ConfigError, InputError
from samebits.graph.config import TrainConfig
from samebits.graph.data import Graph
from samebits.graph.parser.predict import PredictSentences
from samebits.graph.parser.samples import is_conllu, open_samples
from samebits.graph.parser.trained_model import GraphModel
from samebits.graph.pictures.draw import draw_graph
from samebits.in_memory import map_in_memory
from samebits.progress.notebook import Show

__all__ = ["drawn", "predict_files", "train"]


def train(
    data: str | Path | Sequence[str | Path],
    *,
    output: str | Path,
    options: RunOptions | None = None,
    observer: Observer = ignore,
    progress: Show = "auto",
    **settings: Any,
) -> GraphModel:
    """Train a model.

    Args:
        data: Files of JSON lines or CoNLL-U, or a folder of ``graph generate``.
        output: Folder to write.
        options: How to compute it; never changes the result.
        observer: Told of every event.
        progress: Show progress: True, False, or "auto" for notebooks only.
        settings: Fields of ``TrainConfig``, e.g. ``steps=500``.

    Raises:
        ConfigError: for a setting that does not exist.
    """
    inputs = as_paths(data)
    if inputs is None:
        raise ConfigError(
            f"{shape_name(data)} holds no graphs that can be read",
            hint="write them to a file: JSON lines of graphs, or CoNLL-U (docs/guides/graph.md)",
        )
    config = make_config(TrainConfig, {"inputs": inputs}, settings)
    api.refuse_ranks("graph.train", "graph_train", options)
    api.run("graph_train", config, output=Path(output), options=options, observer=observer, progress=progress)
    return GraphModel.load(output)


def predict_files(
    model: GraphModel | str | Path,
    inputs: str | Path | Sequence[str | Path],
    *,
    input_format: str = "auto",
    decode: str = "auto",
    workers: int | str = "auto",
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield, for each text of the files in order, the line to print and its graph as JSON.

    A model of sentences cuts plain texts into sentences and words itself, and prints CoNLL-U.

    Args:
        model: A model or its folder.
        inputs: Files, or ``-`` for standard input.
        input_format: ``txt``, ``jsonl``, ``conllu``, or ``auto`` by the suffix (standard input is then text).
        decode: Name of the decoder.
        workers: Number of workers, or auto.

    Raises:
        InputError: a line that cannot be used, or sentences for a model of texts.
    """
    loaded = model if isinstance(model, GraphModel) else GraphModel.load(model)
    loaded.decoder(decode)
    inputs = as_paths(inputs) or ()
    kind = _format(inputs) if input_format == "auto" else input_format
    if kind == "conllu" and loaded.lexicon.kind != "word":
        raise InputError(
            "the model reads texts, not sentences",
            path=inputs[0],
            hint="give --input-format, or a different model",
        )
    corpus = open_samples(inputs)
    shards, state = corpus.shards(), (corpus, loaded)
    lines_before: dict[int, int] = {}
    for shard, part in map_in_memory(
        "graph_eval",
        "predict",
        PredictSentences(kind, decode),
        shards,
        state=state,
        unit="bytes",
        names=corpus.names,
        workers=workers,
    ):
        if part.bad:
            line, reason = part.bad[0]
            source = corpus.sources[shard.source]
            raise InputError(reason, path=source.origin, line=lines_before.get(shard.source, 0) + line + 1)
        lines_before[shard.source] = lines_before.get(shard.source, 0) + part.num_lines
        yield from zip(part.lines, part.graphs, strict=True)


def _format(inputs: Sequence[str]) -> str:
    if is_conllu(inputs):
        return "conllu"
    return "jsonl" if inputs[0].lower().endswith((".jsonl", ".ndjson", ".jsonl.gz", ".jsonl.zst")) else "txt"


def drawn(graph: dict[str, Any]) -> str:
    """Return a picture (SVG) of a predicted graph."""
    return draw_graph(Graph.from_json(graph))
