"""The langid job: labelled rows in; a model, reports and the ledger of what was left out come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from samebits.core.config import config_digest
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.plan import Plan
from samebits.data.artifact import ArtifactWriter
from samebits.langid.config import LangidConfig
from samebits.langid.model.model_files import write_model
from samebits.langid.sources import iter_labelled, open_sources
from samebits.langid.tables import script_number
from samebits.langid.training.exact import train_exact
from samebits.langid.training.gather import Rows, gather
from samebits.langid.training.large import STAGES, is_large
from samebits.langid.training.ledger import Ledger
from samebits.langid.training.report import write_summary

__all__ = ["JOB", "LangidJob"]


@dataclass(frozen=True, slots=True)
class LangidJob:
    """Train a language identifier."""

    name: str = "langid"
    version: int = 1
    summary: str = "train a language identifier from noisy labels"
    Config: type[LangidConfig] = LangidConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = (
        "encode",
        "near",
        "count",
        "n-grams",
        "suspects",
        "refine",
        "score",
        "report",
        *STAGES,
    )
    bytes_per_worker: int = 200_000_000

    def plan(self, config: LangidConfig) -> Plan:
        """Cut the files; evaluation files follow the training files."""
        script_number(config.script)
        sources = open_sources(config.inputs, config.eval, input_format=config.input_format)
        digest = sources.digest
        if config.sentences == "punkt":
            from samebits.langid.training.punkt import punkt_digest

            digest = digest_of([digest, punkt_digest()])
        names = sources.corpus.names
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=digest,
            source_names=names,
            shards=sources.shards(),
            inputs=sources,
        )

    def run(self, plan: Plan, config: LangidConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Encode, train in cycles, write model, reports and ledger."""
        if is_large(plan, config):
            from samebits.langid.training.on_workers.run import train_on_workers

            return train_on_workers(plan, config, engine, out)
        rows = gather(plan, config, engine, out)
        ledger = Ledger(rows.num_train)
        if config.mode == "exact":
            exact = train_exact(rows, config, engine, ledger)
            write_model(out, config.mode, rows.languages, rows.words, rows.word_stops, exact.words, None)
            reports = exact.reports
        elif config.mode == "compact":
            from samebits.langid.model.compact_files import write_compact
            from samebits.langid.training.compact.train import train_compact

            near = None
            if config.source_column:
                from samebits.langid.training.compact.near_counts import check_sources, count_near

                check_sources(plan, config)
                near = count_near(plan, config, engine)
            compact = train_compact(rows, config, engine, ledger, near)
            write_compact(out, compact.files)
            reports = compact.reports
        else:
            # Not needed in exact mode, whose start-up it would be a part of.
            from samebits.langid.training.backoff import train_backoff

            backoff = train_backoff(rows, config, engine, ledger)
            write_model(
                out, config.mode, rows.languages, rows.words, rows.word_stops, backoff.words, backoff.features
            )
            reports = backoff.reports
        return _finish(plan, config, rows, ledger, reports, out)


def _finish(
    plan: Plan,
    config: LangidConfig,
    rows: Rows,
    ledger: Ledger,
    reports: list[dict[str, Any]],
    out: ArtifactWriter,
) -> dict[str, Any]:
    labels = rows.labels[: rows.num_train]
    if config.ledger != "none":
        texts = _dropped_texts(plan, config, rows, ledger) if config.ledger_text else None
        ledger.write(out, f"dropped.{config.ledger}", rows, plan, labels, texts)
    rows.drop_tokens()
    return write_summary(
        out,
        rows=ledger.counts(),
        num_blank=rows.num_blank,
        eval_rows=len(rows.labels) - rows.num_train,
        num_cut=rows.num_cut,
        languages=len(rows.languages),
        words=rows.num_words,
        reports=reports,
        share_kept=rows.share_kept,
    )


def _dropped_texts(plan: Plan, config: LangidConfig, rows: Rows, ledger: Ledger) -> list[str]:
    """Read the listed rows' texts once more: they are not kept in memory for a list that is short."""
    listed = np.flatnonzero(ledger.reason)
    wanted = set(zip(rows.sources[listed].tolist(), rows.lines[listed].tolist(), strict=True))
    found: dict[tuple[int, int], str] = {}
    base: dict[int, int] = {}
    for shard in plan.shards:
        first = base.get(shard.source, 0)
        for block in iter_labelled(
            plan.inputs, shard, text_column=config.text_column, lang_column=config.lang_column
        ):
            for i, line in enumerate((block.lines + first).tolist()):
                if (shard.source, line) in wanted:
                    found[shard.source, line] = block.text[i].decode()
            base[shard.source] = base.get(shard.source, 0) + block.num_lines
    keys = zip(rows.sources[listed].tolist(), rows.lines[listed].tolist(), strict=True)
    return [found[key] for key in keys]


JOB = LangidJob()
