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
from samebits.data.folding.output_file import write_outputs
from samebits.data.folding.piece_files import Index
from samebits.data.folding.stages import fold_stages
from samebits.data.folding.tree import folding
from samebits.data.table import write_table
from samebits.graph.config import GraphConfig
from samebits.graph.distance.matrix import MatrixShard, PairGrid, cut_pairs, make_grid
from samebits.graph.distance.matrix_fold import MatrixFold, PairsTold, matrix_files, num_bands
from samebits.graph.distance.until_exact import (
    OpenPairs,
    ProvenPart,
    ProveShard,
    RunStage,
    is_open,
    prove_pairs,
)
from samebits.graph.formats.inputs import Loaded, load

__all__ = ["JOB"]

PAIRS, WRITE = "pairs", "write"  # stages


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
    stages: tuple[str, ...] = (*fold_stages(PAIRS), "open pairs", WRITE)
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
        """Compare every pair and write the matrices, both on the workers."""
        inputs: GraphInputs = plan.inputs
        grid, scaled = inputs.grid, config.scaled()
        limit = config.limit(scaled)
        task = MatrixShard(scaled, config.budget, limit)
        fold = MatrixFold(task, (grid.rows, grid.columns), num_bands(grid), config.until_exact)
        pairs = _Pairs(engine, grid, task)

        def write(found: list[tuple[None, Index]]) -> None:
            places, values = pairs.proven(config.until_exact)
            files = matrix_files(fold, [index for _, index in found], places, values)
            write_outputs(workers, out, WRITE, files)

        with folding(engine, plan.digest) as workers:
            workers.run(
                PAIRS,
                fold,
                plan.shards,
                pairs.take,
                partitions=fold.bands,
                state=grid,
                unit="pairs",
                then=write,
            )
        for name, loaded in (("rows", inputs.loaded), ("columns", inputs.against or inputs.loaded)):
            nodes, edges = ([f(g) for g in loaded.graphs] for f in (len, lambda g: len(g.edges)))
            write_table(out, f"{name}.jsonl", {"name": loaded.names, "nodes": nodes, "edges": edges})
        summary = {
            "rows": grid.rows,
            "columns": grid.columns,
            "pairs": plan.shards.num_units,
            "exact": pairs.exact,
            "expansions": pairs.expansions,
            "scale": 10**scaled.digits,  # what the matrices' integers are to be divided by
            **pairs.about,
        }
        out.write_json("summary.json", summary)
        return summary


class _Pairs:
    """Takes in what workers tell of their pairs, and lets those be proven that they left open.

    Attributes:
        exact: How many pairs are proven.
        expansions: States looked at.
        about: What the proving took, if it was asked for.
    """

    def __init__(self, engine: Engine, grid: PairGrid, task: MatrixShard) -> None:
        self.engine, self.grid, self.task = engine, grid, task
        self.exact = 0
        self.expansions = 0
        self.about: dict[str, int] = {}
        self._open: list[NDArray[np.int64]] = [np.empty((4, 0), np.int64)]
        self._proven: NDArray[np.int64] | None = None

    def take(self, shard: Shard, told: Any) -> None:
        """Take in one shard."""
        found = PairsTold(*told)
        self.exact, self.expansions = self.exact + found.exact, self.expansions + found.expansions
        if found.open.size:
            self._open.append(found.open)

    def proven(self, until_exact: bool) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return places in the matrices whose values were found later than the others, and the values of each matrix there."""
        numbers, *found = np.concatenate(self._open, axis=1)
        rows, columns = self.grid.places(numbers)
        if until_exact and self._proven is None:  # else a band was lost, and this is asked again
            self._proven = self._prove(np.stack([rows, columns]), np.stack(found))
        values = np.stack(found) if self._proven is None else self._proven
        places = rows * self.grid.columns + columns
        if not self.grid.mirrored:
            return places, values
        return np.concatenate([places, columns * self.grid.columns + rows]), np.tile(values, 2)

    def _prove(self, pairs: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
        values = before.copy()
        task = self.task
        rounds = prove_pairs(
            self.grid, pairs, values, scaled=task.scaled, limit=task.limit, run=_stage(self.engine)
        )
        lower, upper, expansions = values
        self.exact += int((lower == upper).sum())
        self.expansions += int(expansions.sum() - before[2].sum())
        self.about = {"rounds": rounds, "open": int(is_open(lower, upper, task.limit).sum())}
        return values


def _stage(engine: Engine) -> RunStage:
    """Run the rounds that prove pairs as one stage."""

    def run(
        task: ProveShard, shards: Sequence[Shard], state: OpenPairs
    ) -> Iterator[tuple[Shard, ProvenPart]]:
        engine.observer(Metric("pairs to prove", len(state.first)))
        return engine.map_ordered("open pairs", task, shards, state=state, unit="pairs")

    return run


JOB = GraphJob()
