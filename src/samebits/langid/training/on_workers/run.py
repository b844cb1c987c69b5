"""The way through a training on the workers."""

from __future__ import annotations

from typing import Any

from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.piece_files import Index
from samebits.data.folding.shape import num_partitions
from samebits.data.folding.tree import Folding, folding
from samebits.langid.config import LangidConfig
from samebits.langid.training.large import input_bytes
from samebits.langid.training.on_workers.encoded import EncodedNodes
from samebits.langid.training.on_workers.row_files import EncodeNode
from samebits.langid.training.on_workers.training import WorkerTraining
from samebits.langid.training.report import write_summary

__all__ = ["train_on_workers"]


SMALL_BYTES = 2  # as many times more for a partition than of a count: its table is a smaller part of the work


def partitions_of(num_bytes: int) -> int:
    """Return how many partitions words and identities have.

    >>> [partitions_of(number) for number in (1 << 28, 1 << 30, 20 << 30, 1 << 40)]
    [2, 8, 64, 512]
    """
    return max(num_partitions(num_bytes // SMALL_BYTES), num_partitions(num_bytes) if num_bytes >> 36 else 1)


def train_on_workers(plan: Plan, config: LangidConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
    """Train; the driver is told sizes, digests and sums."""
    encoded = EncodedNodes(partitions_of(input_bytes(plan)))

    def take(shard: Shard, told: Any) -> None:
        encoded.take(plan, shard, told, out)

    with folding(engine, plan.digest) as workers:
        return workers.run_rows(
            "encode",
            EncodeNode(config, encoded.partitions),
            plan.shards,
            take,
            state=plan.inputs,
            unit="bytes",
            then=lambda files: _train(workers, engine, plan, config, encoded, files, out),
        )


def _train(
    workers: Folding,
    engine: Engine,
    plan: Plan,
    config: LangidConfig,
    encoded: EncodedNodes,
    files: list[Index],
    out: ArtifactWriter,
) -> dict[str, Any]:
    out.bad_rows.check()
    training = WorkerTraining(workers, engine, plan, config, encoded, files)
    reports = _cycles(training, out)
    return write_summary(
        out,
        rows=training.write_ledger(out),
        num_blank=encoded.num_blank,
        eval_rows=encoded.num_rows - encoded.num_train,
        num_cut=encoded.num_cut,
        languages=len(training.layout.languages),
        words=training.num_words,
        reports=reports,
        share_kept=encoded.share_kept,
    )


def _cycles(training: WorkerTraining, out: ArtifactWriter) -> list[dict[str, Any]]:
    mode = training.config.mode
    if mode == "exact":
        from samebits.langid.training.on_workers.exact import train_exact_on_workers

        return train_exact_on_workers(training, out)
    if mode == "compact":
        from samebits.langid.training.on_workers.compact import train_compact_on_workers

        return train_compact_on_workers(training, out)
    from samebits.langid.training.on_workers.backoff import train_backoff_on_workers

    return train_backoff_on_workers(training, out)
