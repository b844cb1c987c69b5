"""The job ``count``: the two functions ``plan`` and ``run``; how workers count and fold is in ``fold.py``.

It is the worked example of a job: see docs/guides/add-a-job.md for a walk through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samebits.core.config import config_digest
from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.count.config import CountConfig
from samebits.count.fold import WRITE, CountFold, WriteRange, choose_cuts
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.output_file import write_output
from samebits.data.folding.piece_files import Index
from samebits.data.folding.shape import consecutive, num_partitions
from samebits.data.folding.stages import fold_stages
from samebits.data.folding.tree import Folding, folding
from samebits.data.inputs.corpus import open_corpus
from samebits.data.table import write_counts

__all__ = ["JOB"]

LINES = "counts.jsonl"


@dataclass(frozen=True, slots=True)
class CountJob:
    """Ties the pieces together."""

    name: str = "count"
    version: int = 1
    summary: str = "count words or character n-grams of a corpus"
    Config: type[CountConfig] = CountConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = (*fold_stages("count"), WRITE, f"write {LINES}")
    bytes_per_worker: int = 200_000_000

    def plan(self, config: CountConfig) -> Plan:
        """Cut the corpus on its byte grid."""
        corpus = open_corpus(config.inputs, format=config.input_format)
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=corpus.digest,
            source_names=corpus.names,
            shards=corpus.shards(),
            inputs=corpus,
        )

    def run(self, plan: Plan, config: CountConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Count, rank and write on the workers."""
        blank = [0]

        def take(shard: Shard, told: Any) -> None:
            bad, num_lines, num_blank = told
            out.bad_rows.take(plan, shard, bad, num_lines=num_lines)
            blank[0] += num_blank

        fold = CountFold(config, num_partitions(plan.inputs.num_bytes))
        with folding(engine, plan.digest) as workers:
            told = workers.run(
                "count",
                fold,
                plan.shards,
                take,
                partitions=fold.partitions,
                state=plan.inputs,
                unit="bytes",
                then=lambda found: _write_table(workers, found, config, out),
            )
        return _write_summary(told, config, out, num_blank=blank[0])


def _write_table(
    workers: Folding, found: list[tuple[Any, Index]], config: CountConfig, out: ArtifactWriter
) -> list[Any]:
    """Let workers make ranges of the ranking and write them to their places; return what was told of the partitions."""
    out.bad_rows.check()
    state = [([(count, key) for count, key in told["starts"]], index) for told, index in found]
    cuts = tuple(choose_cuts([starts for starts, _ in state], len(found)))
    lines = config.table == "jsonl"
    task = WriteRange(workers.folder, cuts, lines)
    shards = consecutive(len(cuts) + 1, 1)
    written = [part.pieces for _, part in workers.map(WRITE, task, shards, state, unit="ranges")]
    if lines:
        write_output(workers, out, LINES, written)
    else:
        write_counts(out, "counts.parquet", "ngram", (workers.folder.read(index, 0) for index in written))
    return [told for told, _ in found]


def _write_summary(
    told: list[Any], config: CountConfig, out: ArtifactWriter, *, num_blank: int
) -> dict[str, Any]:
    num_read, num_bad = out.bad_rows.num_read, out.bad_rows.num_bad
    commonest = sorted((count, key) for part in told for count, key in part["top"])[: config.top]
    summary = {
        "lines": {
            "read": num_read,
            "used": num_read - num_blank - num_bad,
            "blank": num_blank,
            "bad": num_bad,
        },
        "ngrams": {name: sum(part[name] for part in told) for name in ("counted", "distinct", "in_table")},
        "top": [{"ngram": key.decode(), "count": -count} for count, key in commonest],
    }
    out.write_json("summary.json", summary)
    return summary


JOB = CountJob()
