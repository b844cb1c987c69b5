"""Nearest graphs as a job: a shard is a few queries, the corpus is shared by all workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.config import config_digest
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard, ShardTable, cut
from samebits.data.artifact import ArtifactWriter
from samebits.data.table import write_table
from samebits.errors import ConfigError
from samebits.graph.config import KnnConfig
from samebits.graph.data import Graph
from samebits.graph.distance.costs import Scaled
from samebits.graph.distance.nearest import nearest
from samebits.graph.distance.pack import GraphSet, pack
from samebits.graph.formats.inputs import Loaded, load

__all__ = ["JOB", "KnnShard", "KnnState", "cut_queries", "fold_nearest", "make_state"]

QUERIES = 4  # a shard; a query against thousands of graphs takes up to a second


@dataclass(frozen=True, slots=True)
class KnnState:
    """Queries and then the corpus, packed."""

    graphs: GraphSet
    num_queries: int


def make_state(queries: Sequence[Graph], corpus: Sequence[Graph], k: int) -> KnnState:
    """Pack queries and corpus.

    Raises:
        ConfigError: if the corpus is smaller than k.
    """
    if k < 1 or k > len(corpus):
        raise ConfigError(
            f"k is {k}, but the corpus has {len(corpus)} graphs", hint="use a k between 1 and that"
        )
    return KnnState(pack([*queries, *corpus]), len(queries))


class NearestPart(NamedTuple):
    """One row for each query: its neighbours with bounds, whether they are proven, and what that took."""

    neighbours: NDArray[np.int64]
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    certified: NDArray[np.bool_]
    compared: NDArray[np.int64]
    rest_lower: NDArray[np.int64]
    expansions: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class KnnShard:
    """The task: the queries of one shard."""

    part_type: ClassVar = NearestPart
    k: int
    scaled: Scaled
    budget: int
    until_exact: bool = False

    def __call__(self, shard: Shard, state: KnnState, /) -> NearestPart:
        """Return one row for each query."""
        corpus = np.arange(state.num_queries, len(state.graphs), dtype=np.int64)
        found = [
            nearest(
                state.graphs,
                query,
                corpus,
                self.k,
                self.scaled,
                budget=self.budget,
                until_exact=self.until_exact,
            )
            for query in range(shard.start, shard.stop)
        ]
        return NearestPart(
            neighbours=np.array([one.numbers for one in found], np.int64),
            lower=np.array([one.lower for one in found], np.int64),
            upper=np.array([one.upper for one in found], np.int64),
            certified=np.array([one.certified for one in found], bool),
            compared=np.array([one.compared for one in found], np.int64),
            rest_lower=np.array([one.rest_lower for one in found], np.int64),
            expansions=np.array([one.expansions for one in found], np.int64),
        )


def cut_queries(num_queries: int) -> ShardTable:
    """Cut the queries into shards."""
    return cut([num_queries], cell=QUERIES)


def fold_nearest(k: int, parts: Iterator[tuple[Shard, NearestPart]]) -> dict[str, NDArray[Any]]:
    """Put the rows of all shards together."""
    rows = [part for _, part in parts]
    shapes = {"neighbours": (0, k), "lower": (0, k), "upper": (0, k)}
    kinds = {"certified": bool}
    return {
        name: np.concatenate(
            [
                np.zeros(shapes.get(name, (0,)), kinds.get(name, np.int64)),
                *(getattr(row, name) for row in rows),
            ]
        )
        for name in NearestPart._fields
    }


@dataclass(frozen=True, slots=True)
class KnnInputs:
    """What the plan read."""

    state: KnnState
    queries: Loaded
    corpus: Loaded


@dataclass(frozen=True, slots=True)
class KnnJob:
    """Ties the pieces together."""

    name: str = "graph_knn"
    version: int = 2
    summary: str = "find the nearest graphs of each query, with a certificate"
    Config: type[KnnConfig] = KnnConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = ("queries",)
    bytes_per_worker: int = 50_000_000

    def plan(self, config: KnnConfig) -> Plan:
        """Read queries and corpus."""
        if not config.corpus:
            raise ConfigError("no corpus was given", hint="--corpus graphs.jsonl")
        queries, corpus = load(config.inputs, config.reading()), load(config.corpus, config.reading())
        state = make_state(queries.graphs, corpus.graphs, config.k)
        inputs = KnnInputs(state, queries, corpus)
        digest = digest_of([queries.digest, corpus.digest])
        shards = cut_queries(len(queries.graphs))
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=digest,
            source_names=("queries",),
            shards=shards,
            inputs=inputs,
        )

    def run(self, plan: Plan, config: KnnConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Answer every query and write arrays and a table."""
        inputs: KnnInputs = plan.inputs
        scaled = config.scaled()
        task = KnnShard(config.k, scaled, config.budget, config.until_exact)
        parts = engine.map_ordered("queries", task, plan.shards, state=inputs.state, unit="queries")
        found = fold_nearest(config.k, parts)
        for name, array in found.items():
            out.write_array(f"{name}.npy", array)
        numbers = found["neighbours"].tolist()
        write_table(
            out,
            "neighbours.jsonl",
            {
                "query": inputs.queries.names,
                "neighbours": [[inputs.corpus.names[i] for i in row] for row in numbers],
                "lower": [[str(scaled.value(x)) for x in row] for row in found["lower"].tolist()],
                "upper": [[str(scaled.value(x)) for x in row] for row in found["upper"].tolist()],
                "certified": found["certified"],
                "rest_lower": [None if x < 0 else str(scaled.value(x)) for x in found["rest_lower"].tolist()],
            },
        )
        summary = {
            "queries": len(numbers),
            "corpus": len(inputs.corpus.graphs),
            "certified": int(found["certified"].sum()),
            "compared": int(found["compared"].sum()),
            "expansions": int(found["expansions"].sum()),
            "scale": 10**scaled.digits,
        }
        out.write_json("summary.json", summary)
        return summary


JOB = KnnJob()
