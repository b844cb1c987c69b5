"""The job: Config, plan, stages, artifact.

The artifact holds integers and words only: ``counts_ptr.npy`` (int64[n + 1]), ``counts_idx.npy`` (uint16, byte pairs
``first * 256 + second``, ascending in each model) and ``counts_val.npy`` (int64) are the models; ``pairs.jsonl`` says per
pair what became of its text, in the order of the models with the pairs without a model among them; ``summary.json``
adds it up. Weights, document frequencies and scores are derived when a model is used or exported.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from samebits.charset.codec import canonical_name
from samebits.charset.config import CharsetConfig
from samebits.charset.pairs import Pair, builtin_pairs, choose_pairs, read_pairs
from samebits.charset.recipes.recipe import load_book
from samebits.charset.training.fold import CharsetFold
from samebits.charset.training.project import PairCounts
from samebits.charset.training.slices import ROWS, Slices, cut_slices, language_of
from samebits.charset.training.tasks import (
    Inputs,
    ProjectedPart,
    ScanSlice,
    SlicePart,
    Sums,
    pair_from_plain,
)
from samebits.core.config import config_digest
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.observing.events import Warned
from samebits.core.plan import Plan
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.stages import fold_stages
from samebits.data.folding.tree import folding
from samebits.data.inputs.corpus import open_corpus
from samebits.errors import InputError

__all__ = ["JOB", "CharsetJob"]


def chosen_pairs(config: CharsetConfig) -> tuple[Pair, ...]:
    """The pairs a Config asks for, every codec checked.

    Raises:
        ConfigError: An unknown language, encoding or codec; the hint says which was probably meant.
    """
    pairs = builtin_pairs() if config.pairs == "builtin" else read_pairs(config.pairs)
    for pair in pairs:
        canonical_name(pair.codec)
    return choose_pairs(pairs, languages=config.languages, encodings=config.encodings)


@dataclass(frozen=True, slots=True)
class CharsetJob:
    """Ties the pieces together."""

    name: str = "charset"
    version: int = 1
    summary: str = "train encoding models of language and encoding pairs"
    Config: type[CharsetConfig] = CharsetConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = ("scan", *fold_stages("count"))
    bytes_per_worker: int = 150_000_000

    def plan(self, config: CharsetConfig) -> Plan:
        """Cut each language's files into slices; check every codec and the recipe book before any work."""
        pairs = chosen_pairs(config)
        book = load_book(config.recipe)
        corpus = open_corpus(config.inputs, format=config.input_format)
        slices = cut_slices(
            corpus,
            unit=config.unit,
            columns=(config.text_column, config.lang_column),
            languages=sorted({pair.language for pair in pairs}),
            max_texts=config.max_samples or 0,
        )
        if not len(slices.shards):
            raise InputError(
                "no text of any of the chosen languages",
                path=", ".join(config.inputs),
                hint="name the folders by language code, e.g. corpus/de/*.txt; samebits charset pairs lists the codes",
            )
        content = [corpus.digest, [list(pair) for pair in pairs], book.identity]
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=digest_of(content),
            source_names=slices.languages,
            shards=slices.shards,
            inputs=(slices, pairs),
        )

    def run(self, plan: Plan, config: CharsetConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Count, fold, project, write."""
        slices, pairs = plan.inputs
        if left_out := _left_out(slices, pairs):
            names = ", ".join(left_out)
            plural = "this language" if len(left_out) == 1 else "these languages"
            engine.observer(Warned(f"skipped {names}: no encoding pair for {plural}"))
        inputs = Inputs(slices, self._quotas(plan, config, engine))
        sums = Sums()
        fold = CharsetFold(config.recipe, pairs, config.html_samples)
        with folding(engine, plan.digest) as workers:
            told = workers.run(
                "count",
                fold,
                plan.shards,
                lambda _, part: sums.add(SlicePart(**part), slices, out),
                partitions=len(fold.languages),
                state=inputs,
                unit="bytes",
                then=lambda found: [told for told, _ in found],
            )
        out.bad_rows.check()
        projected = {
            language: ProjectedPart(**part)
            for language, part in zip(fold.languages, told, strict=True)
            if part is not None
        }
        asked = config.pairs != "builtin" or bool(config.languages)
        rows = [_row(pair, projected.get(pair.language), config, asked=asked) for pair in pairs]
        return _write(rows, sums, out)

    def _quotas(self, plan: Plan, config: CharsetConfig, engine: Engine) -> tuple[Mapping[str, int], ...]:
        """How many texts of each language a shard may use; files are limited in the plan already."""
        slices, _ = plan.inputs
        if config.max_samples is None or (config.unit == "file" and ROWS not in slices.languages):
            return ()
        left = Counter[str]()
        quotas = []
        for _, part in engine.map_ordered(
            "scan", ScanSlice(), plan.shards, state=Inputs(slices), unit="bytes"
        ):
            quota = {}
            for language, num_texts in part.items():
                left.setdefault(language, config.max_samples)
                quota[language] = min(left[language], num_texts)
                left[language] -= quota[language]
            quotas.append(quota)
        return tuple(quotas)


def _left_out(slices: Slices, pairs: Sequence[Pair]) -> list[str]:
    """Languages of plain text files that no chosen pair has; rows of other files are counted as they are read."""
    chosen = {ROWS, *(pair.language for pair in pairs)}
    return sorted({language_of(source) for source in slices.corpus.sources} - chosen)


def _row(
    pair: Pair, part: ProjectedPart | None, config: CharsetConfig, *, asked: bool
) -> tuple[dict[str, Any], PairCounts | None]:
    """What became of one pair: its line of ``pairs.jsonl``, and its counts if it has a model."""
    row: dict[str, Any] = {
        "pair": pair.key,
        "lang": pair.language,
        "encoding": pair.encoding,
        "codec": pair.codec,
    }
    if part is None:
        reason = f"no text of the language {pair.language!r}"
        return {**row, "status": "failed" if asked else "absent", "reason": reason}, None
    if pair.encoding in part.failed:
        return {**row, "status": "failed", "reason": part.failed[pair.encoding]}, None
    counts = pair_from_plain(part.pairs[pair.encoding])
    retention = counts.retention
    row |= {
        "path": counts.path,
        "texts": counts.texts,
        "samples": counts.samples,
        "bytes": counts.num_bytes,
        "byte_pairs": len(counts.index),
        "dropped": counts.num_dropped,
        "dropped_most": [list(item) for item in counts.dropped],
        "letters": counts.letters,
        "letters_kept": counts.letters_kept,
        "retention": retention,
    }
    if not len(counts.index):
        return {**row, "status": "failed", "reason": "no text is long enough"}, None
    if retention is not None and retention < config.min_retention:
        reason = f"keeps {retention:.1%} of its letters, less than {config.min_retention:.0%}"
        return {**row, "status": "failed", "reason": reason}, None
    return {**row, "status": "trained", "reason": ""}, counts


def _json_line(row: Mapping[str, Any]) -> bytes:
    return json.dumps(row, sort_keys=True, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n"


def _write(
    rows: Sequence[tuple[dict[str, Any], PairCounts | None]], sums: Sums, out: ArtifactWriter
) -> dict[str, Any]:
    models = [counts for _, counts in rows if counts is not None]
    lengths = np.array([len(counts.index) for counts in models], np.int64)
    out.write_array("counts_ptr.npy", np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
    empty = np.zeros(0, np.int64)
    out.write_array("counts_idx.npy", np.concatenate([empty, *(m.index for m in models)]).astype(np.uint16))
    out.write_array("counts_val.npy", np.concatenate([empty, *(m.counts for m in models)]))
    out.write_bytes("pairs.jsonl", b"".join(_json_line(row) for row, _ in rows))
    totals = sums.totals
    summary: dict[str, Any] = {
        "texts": {
            "read": totals["read"],
            "used": sum(sums.used.values()),
            "blank": totals["blank"],
            "bad": out.bad_rows.num_bad,
            "over_max_samples": totals["left_out"],
            "other_languages": sum(sums.other.values()),
        },
        "languages": dict(sorted(sums.used.items())),
        "other_languages": dict(sorted(sums.other.items())),
        "placeholders_removed": totals["placeholders"],
        "trained": sum(row["status"] == "trained" for row, _ in rows),
        "absent": sum(row["status"] == "absent" for row, _ in rows),
        "failed": {row["pair"]: row["reason"] for row, _ in rows if row["status"] == "failed"},
    }
    out.write_json("summary.json", summary)
    shown = ("pair", "status", "reason", "samples", "bytes", "byte_pairs", "dropped", "retention")
    return {**summary, "pairs": [{name: row.get(name) for name in shown} for row, _ in rows]}


JOB = CharsetJob()
