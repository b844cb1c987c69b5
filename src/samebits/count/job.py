"""The job ``count``: a Task that turns a shard into a part, and the two functions ``plan`` and ``run``.

It is the worked example of a job: see docs/guides/add-a-job.md for a walk through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.config import config_digest
from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.count.config import CountConfig
from samebits.data.artifact import ArtifactWriter
from samebits.data.inputs.corpus import Corpus, open_corpus
from samebits.data.readers.lower import lower_column
from samebits.data.readers.rows import BadRow, iter_rows
from samebits.data.table import Ranked, write_counts
from samebits.kernels.text.ngrams import NgramTable

__all__ = ["JOB"]


class CountPart(NamedTuple):
    """What one shard holds: its n-grams in order of first sight, and what was read."""

    keys: bytes
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]
    bad: list[BadRow]
    num_lines: int
    num_blank: int


@dataclass(frozen=True, slots=True)
class CountShard:
    """The task: the n-grams of one shard's rows, in order of first sight."""

    part_type: ClassVar = CountPart
    config: CountConfig

    def __call__(self, shard: Shard, state: Corpus, /) -> CountPart:
        """Return keys and counts, and what was read."""
        table, num_lines, num_blank = NgramTable(), 0, 0
        bad: list[BadRow] = []
        for block in iter_rows(state, shard, (self.config.column,)):
            text = block.columns[self.config.column]
            if self.config.lower:
                text = lower_column(text)
            count = table.count_words if self.config.unit == "word" else table.count_chars
            count(text.buffer, text.starts, text.stops, self.config.n)
            bad += block.bad
            num_lines, num_blank = num_lines + block.num_lines, num_blank + block.num_blank
        keys, offsets, counts = table.arrays()
        return CountPart(keys, offsets, counts, bad, num_lines, num_blank)


@dataclass(frozen=True, slots=True)
class CountJob:
    """Ties the pieces together."""

    name: str = "count"
    version: int = 1
    summary: str = "count words or character n-grams of a corpus"
    Config: type[CountConfig] = CountConfig
    default_executor: str = "threads"
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
        """Count every shard, fold in shard order, rank once."""
        total = NgramTable()
        num_blank = 0
        for shard, part in engine.map_ordered(
            "count", CountShard(config), plan.shards, state=plan.inputs, unit="bytes"
        ):
            total.add(part.keys, part.offsets, part.counts)
            out.bad_rows.take(plan, shard, part.bad, num_lines=part.num_lines)
            num_blank += part.num_blank
        out.bad_rows.check()
        return self.write(config, total, out, num_blank=num_blank)

    def write(
        self, config: CountConfig, total: NgramTable, out: ArtifactWriter, *, num_blank: int
    ) -> dict[str, Any]:
        """Write the full table, the list of the commonest and the summary."""
        keys, offsets, counts = total.arrays()
        order = total.ranking()
        order = order[: int(np.searchsorted(-counts[order], -config.min_count, side="right"))]
        ranked = Ranked(keys, offsets, counts, order)
        write_counts(out, f"counts.{config.table}", ranked, key="ngram")
        num_read, num_bad = out.bad_rows.num_read, out.bad_rows.num_bad
        summary = {
            "lines": {
                "read": num_read,
                "used": num_read - num_blank - num_bad,
                "blank": num_blank,
                "bad": num_bad,
            },
            "ngrams": {"counted": total.total, "distinct": len(total), "in_table": len(order)},
            "top": [{"ngram": ngram, "count": count} for ngram, count in ranked.top(config.top)],
        }
        out.write_json("summary.json", summary)
        return summary


JOB = CountJob()
