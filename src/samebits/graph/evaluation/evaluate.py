"""``graph eval``: judge a model on examples it has not seen; tables by depth and length, pictures of the worst cases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from samebits.core.config import config_digest
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.data.artifact import ArtifactWriter, open_artifact
from samebits.data.inputs.corpus import Corpus
from samebits.data.readers.rows import BadRow
from samebits.errors import ConfigError, InputError
from samebits.graph.anchored import Anchored, as_json
from samebits.graph.config import EvalConfig
from samebits.graph.data import Graph
from samebits.graph.distance.aligned import aligned_ged, alignment
from samebits.graph.distance.pair import ged
from samebits.graph.evaluation.measure import Judgement, judge, summarize, table_by
from samebits.graph.parser.samples import (
    ReadShard,
    Sample,
    is_conllu,
    open_samples,
    samples_of,
    tags_of,
)
from samebits.graph.parser.trained_model import GraphModel, GraphPrediction
from samebits.graph.pictures.draw import draw_edits

__all__ = ["JOB", "as_graph", "certified"]

LENGTHS = (20, 50, 100, 200, 512)  # upper ends of the classes of the table by length


@dataclass(frozen=True, slots=True)
class EvalInputs:
    """What a plan opened."""

    corpus: Corpus
    model: GraphModel
    conllu: bool


def as_graph(graph: Anchored) -> Graph:
    """Return the graph as distances and drawings take it."""
    return Graph.from_json(as_json(graph))


def certified(predicted: Anchored, expected: Anchored, budget: int) -> tuple[float, float]:
    """Return bounds of the edit distance of two graphs, without their root arcs."""
    a, b = as_graph(predicted), as_graph(expected)
    found = ged(a, b, budget=budget)
    return float(found.lower), float(min(found.upper, aligned_ged(a, b)))


class GradedPart(NamedTuple):
    """A row for each example of one shard, and what was bad."""

    rows: list[list[Any]]
    bad: list[BadRow]
    num_lines: int


@dataclass(frozen=True, slots=True)
class JudgeShard:
    """The task: predict and judge the examples of one shard."""

    part_type: ClassVar = GradedPart
    config: EvalConfig

    def __call__(self, shard: Shard, state: EvalInputs, /) -> GradedPart:
        """Return a row for each example; wrong ones with both graphs."""
        part = ReadShard(state.conllu, self.config.subtypes)(shard, state.corpus)
        samples = samples_of(part)
        predictions = state.model.predict(samples, decode=self.config.decode)
        greedy = state.model.predict(samples, decode="argmax")
        rows = []
        for sample, prediction, plain in zip(samples, predictions, greedy, strict=True):
            row = self.judged(state.model, sample, prediction)
            rows.append(
                [asdict(row), plain.graph == sample.graph, *self.shown(sample, prediction.graph, row)]
            )
        return GradedPart(rows, part.bad, part.num_lines)

    def judged(self, model: GraphModel, sample: Sample, prediction: GraphPrediction) -> Judgement:
        """Judge one prediction, with bounds where it is wrong."""
        result, predicted = sample.about.get("result"), prediction.graph
        words = model.lexicon.kind == "word"
        found = judge(
            sample.tokens, predicted, sample.graph, result, is_math=model.lexicon.is_math, is_sentence=words
        )
        if words and prediction.tags:
            pairs = zip(tags_of(sample), prediction.tags, strict=True)
            found = replace(
                found, tags=tuple(sum(a == b for a, b in zip(*rows, strict=True)) for rows in pairs)
            )
        if found.exact:
            return found
        lower, upper = certified(predicted, sample.graph, self.config.budget)
        return replace(found, lower=lower, upper=upper)

    def shown(self, sample: Sample, predicted: Anchored, row: Judgement) -> list[Any]:
        """Return what tables and drawings need."""
        text = "".join(sample.tokens) if not sample.raw else " ".join(sample.tokens)
        graphs = [] if row.exact else [_plain(predicted), _plain(sample.graph)]
        return [len(sample.tokens), sample.about.get("depth"), sample.about.get("style"), text, graphs]


def _plain(graph: Anchored) -> list[list[Any]]:
    return [list(graph.at), list(graph.labels), list(graph.heads), list(graph.arcs)]


@dataclass(frozen=True, slots=True)
class EvalJob:
    """Judges in shards, folds in order."""

    name: str = "graph_eval"
    version: int = 1
    summary: str = "judge a graph model on examples it has not seen"
    Config: type[EvalConfig] = EvalConfig
    default_executor: str = "processes"
    stages: tuple[str, ...] = ("judge",)
    bytes_per_worker: int = 400_000_000
    floating: bool = True

    def plan(self, config: EvalConfig) -> Plan:
        """Cut the files; the model is part of the input."""
        if not config.model:
            raise ConfigError("no model given", hint="add -m DIR, the folder that graph train wrote")
        artifact = open_artifact(config.model, job="graph_train")
        inputs = _files(config.inputs)
        conllu, corpus = is_conllu(inputs), open_samples(inputs)
        model = GraphModel.of(artifact)
        if conllu != (model.lexicon.kind == "word"):
            raise InputError(f"the model was trained on {model.lexicon.kind}s", path=inputs[0])
        model.decoder(config.decode)
        digest = digest_of([corpus.digest, artifact.digest])
        state = EvalInputs(corpus, model, conllu)
        shards = corpus.shards()
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=digest,
            source_names=corpus.names,
            shards=shards,
            inputs=state,
        )

    def run(self, plan: Plan, config: EvalConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Judge everything; write the report and the worst cases."""
        rows: list[Any] = []
        for shard, part in engine.map_ordered(
            "judge", JudgeShard(config), plan.shards, state=plan.inputs, unit="bytes"
        ):
            out.bad_rows.take(plan, shard, part.bad, num_lines=part.num_lines)
            rows += part.rows
        out.bad_rows.check()
        if not rows:
            raise InputError("no examples to judge", path=", ".join(plan.source_names[:3]))
        report = _report(rows, plan.inputs.model.decoder(config.decode))
        out.write_json("report.json", report)
        wrong = [row for row in rows if not row[0]["exact"]]
        lines = [
            {
                "text": row[5],
                "depth": row[3],
                "style": row[4],
                **row[0],
                "predicted": as_json(_graph(row[6][0])),
            }
            for row in wrong
        ]
        out.write_bytes("wrong.jsonl", msgspec.json.Encoder().encode_lines(lines))
        for name, picture in _pictures(wrong, config.draw):
            out.write_bytes(name, picture.encode())
        return report


def _files(inputs: Sequence[str]) -> list[str]:
    """Return the files; a folder of ``graph generate`` means its test split."""
    found = []
    for name in inputs:
        inside = [Path(name) / f"test{suffix}" for suffix in (".jsonl", ".conllu")]
        found.append(next((str(path) for path in inside if path.is_file()), name))
    return found


def _report(rows: Sequence[Any], decoder: str) -> dict[str, Any]:
    judgements = [Judgement(**row[0]) for row in rows]
    classes = [next((high for high in LENGTHS if row[2] <= high), LENGTHS[-1]) for row in rows]
    return {
        **summarize(judgements),
        "decoder": decoder,
        "exact_match_argmax": sum(bool(row[1]) for row in rows) / len(rows),
        "by_depth": table_by([row[3] for row in rows], judgements),
        "by_style": table_by([row[4] for row in rows], judgements),
        "by_length": table_by(classes, judgements),
    }


def _graph(plain: list[list[Any]]) -> Anchored:
    at, labels, heads, arcs = plain
    return Anchored(tuple(at), tuple(labels), tuple(heads), tuple(arcs))


def _pictures(wrong: Sequence[Any], number: int) -> Iterator[tuple[str, str]]:
    """Yield the names and drawings of the worst cases: largest distance first, earlier ones first among equals."""
    order = sorted(range(len(wrong)), key=lambda i: (-wrong[i][0]["aligned"], i))
    for place, i in enumerate(order[:number], start=1):
        predicted, expected = (as_graph(_graph(plain)) for plain in wrong[i][6])
        yield f"worst/{place:03d}.svg", draw_edits(predicted, expected, alignment(predicted, expected))


JOB = EvalJob()
