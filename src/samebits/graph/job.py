"""The job ``graph``: the matrix of distances of all pairs, from files to an artifact.

The other jobs of the room stand with what they do: ``distance.knn``, ``curriculum.generate``, ``parser.train`` and
``parser.evaluate``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.config import config_digest
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.observing.events import Metric
from samebits.core.plan import Plan, Shard
from samebits.data.artifact import ArtifactWriter
from samebits.data.table import write_table
from samebits.graph.config import GraphConfig
from samebits.graph.distance.costs import Scaled
from samebits.graph.distance.matrix import MatrixShard, PairGrid, cut_pairs, fold_matrix, make_grid
from samebits.graph.distance.until_exact import (
    OpenPairs,
    ProvenPart,
    ProveShard,
    RunStage,
    count_open,
    prove_matrix,
)
from samebits.graph.formats.inputs import Loaded, load

__all__ = ["JOB"]


@dataclass(frozen=True, slots=True)
class GraphInputs:
    """What the plan read: the pairs, and what the graphs are called."""

    grid: PairGrid
    loaded: Loaded
    against: Loaded | None


@dataclass(frozen=True, slots=True)
class GraphJob:
    """Ties the pieces together."""

    name: str = "graph"
    version: int = 1
    summary: str = "compare all pairs of graphs by edit distance, with bounds"
    Config: type[GraphConfig] = GraphConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = ("pairs", "open pairs")
    bytes_per_worker: int = 50_000_000

    def plan(self, config: GraphConfig) -> Plan:
        """Read the graphs and cut the pairs."""
        loaded = load(config.inputs, config.reading())
        against = load(config.against, config.reading()) if config.against else None
        grid = make_grid(loaded.graphs, against.graphs if against else None, trees=config.trees)
        inputs = GraphInputs(grid, loaded, against)
        digest = digest_of([loaded.digest, against.digest if against else ""])
        shards = cut_pairs(grid, config.budget)
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=digest,
            source_names=("pairs",),
            shards=shards,
            inputs=inputs,
        )

    def run(self, plan: Plan, config: GraphConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Compare every pair and write the matrices."""
        inputs: GraphInputs = plan.inputs
        scaled = config.scaled()
        limit = config.limit(scaled)
        task = MatrixShard(scaled, config.budget, limit)
        parts = engine.map_ordered("pairs", task, plan.shards, state=inputs.grid, unit="pairs")
        found = fold_matrix(inputs.grid, parts)
        about: dict[str, Any] = {}
        if config.until_exact:
            about["rounds"] = prove_matrix(inputs.grid, found, scaled, limit, _stage(engine))
            about["open"] = count_open(inputs.grid, found, limit)
        for name, matrix in found.items():
            out.write_array(f"{name}.npy", matrix)
        for name, loaded in (("rows", inputs.loaded), ("columns", inputs.against or inputs.loaded)):
            nodes, edges = ([f(g) for g in loaded.graphs] for f in (len, lambda g: len(g.edges)))
            write_table(out, f"{name}.jsonl", {"name": loaded.names, "nodes": nodes, "edges": edges})
        summary = summarize(inputs.grid, found, scaled) | about
        out.write_json("summary.json", summary)
        return summary


def _stage(engine: Engine) -> RunStage:
    """Run the rounds that prove pairs as one stage."""

    def run(
        task: ProveShard, shards: Sequence[Shard], state: OpenPairs
    ) -> Iterator[tuple[Shard, ProvenPart]]:
        engine.observer(Metric("pairs to prove", len(state.first)))
        return engine.map_ordered("open pairs", task, shards, state=state, unit="pairs")

    return run


def summarize(grid: PairGrid, found: dict[str, NDArray[np.int64]], scaled: Scaled) -> dict[str, Any]:
    """Count what was proven; ``scale`` is what the matrices' integers are to be divided by."""
    exact = found["lower"] == found["upper"]
    once = np.triu(np.ones_like(exact), 1) if grid.mirrored else np.ones_like(exact)
    return {
        "rows": grid.rows,
        "columns": grid.columns,
        "pairs": int(once.sum()),
        "exact": int((exact & once).sum()),
        "expansions": int(found["expansions"][once].sum()),
        "scale": 10**scaled.digits,
    }


JOB = GraphJob()
