"""langid_clean: keep the rows a model agrees with, list the others with the reason. The same ledger as training.

A row is kept when the model's language is its label and the model is sure enough. Kept rows come out in order, as JSON
lines with text and label or as fastText's ``__label__de text`` lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from samebits.core.config import config_digest, option
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.data.artifact import ArtifactWriter
from samebits.data.files import writing
from samebits.errors import ConfigError
from samebits.jobs.langid.files import read_model
from samebits.jobs.langid.model import LangidModel
from samebits.jobs.langid.sources import Sources, iter_labelled, open_sources

__all__ = ["JOB", "CleanConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanConfig:
    """What to keep."""

    inputs: tuple[str, ...] = option((), help="labelled rows: files, folders, globs, or -", location=True)
    model: str = option("", help="folder of the model", short="-m", location=True, metavar="DIR")
    input_format: str = option("auto", help="format of the input; auto goes by the suffix", metavar="NAME")
    text_column: str = option("text", help="column that holds the text")
    lang_column: str = option("lang", help="column that holds the label")
    min_confidence: float = option(0.5, help="least probability (exact: share of known words) to keep a row")

    table: Literal["jsonl", "labels"] = option("jsonl", help="kept rows as JSON lines, or as __label__ lines")

    def __post_init__(self) -> None:
        if not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"--min-confidence is {self.min_confidence}", hint="use a number from 0 to 1")


@dataclass(frozen=True, slots=True)
class CleanShard:
    """Judge the rows of one shard."""

    config: CleanConfig

    def __call__(self, shard: Shard, state: tuple[Sources, LangidModel], /) -> dict[str, Any]:
        """Return the kept rows as JSON lines, and the others with line and reason."""
        sources, model = state
        config, rows, dropped = self.config, [], []
        bad, num_lines, num_blank = [], 0, 0
        blocks = iter_labelled(sources, shard, text_column=config.text_column, lang_column=config.lang_column)
        for block in blocks:
            found = model.predict_column(block.text)
            for i, prediction in enumerate(found):
                label = block.label[i].decode()
                reason = _reason(label, prediction.label, prediction.confidence, config.min_confidence)
                if reason:
                    dropped.append(
                        [int(block.lines[i]), reason, label, prediction.label, prediction.confidence]
                    )
                else:
                    rows.append((block.text[i].decode(), label))
            bad += block.bad
            num_lines, num_blank = num_lines + block.num_lines, num_blank + block.num_blank
        return {
            "kept": _label_lines(rows) if config.table == "labels" else _json_lines(rows, config),
            "num_kept": len(rows),
            "dropped": dropped,
            "bad": bad,
            "num_lines": num_lines,
            "num_blank": num_blank,
        }


def _json_lines(rows: list[tuple[str, str]], config: CleanConfig) -> bytes:
    named = [{config.text_column: text, config.lang_column: label} for text, label in rows]
    return msgspec.json.Encoder().encode_lines(named)


def _label_lines(rows: list[tuple[str, str]]) -> bytes:
    """One line a row: white space of any kind becomes one space, because a newline would start another row."""
    return "".join(f"__label__{label} {' '.join(text.split())}\n" for text, label in rows).encode()


def _reason(label: str, predicted: str, confidence: float, least: float) -> str:
    if predicted != label:
        return "label_mismatch"
    return "low_confidence" if confidence < least else ""


@dataclass(frozen=True, slots=True)
class CleanJob:
    """Keep what the model agrees with."""

    name: str = "langid_clean"
    version: int = 1
    summary: str = "keep the rows whose label a model agrees with"
    Config: type[CleanConfig] = CleanConfig
    default_executor: str = "threads"
    bytes_per_worker: int = 200_000_000

    def plan(self, config: CleanConfig) -> Plan:
        """Cut the files; the model is part of the input."""
        if not config.model:
            raise ConfigError("no model given", hint="add -m DIR, the folder of a trained model")
        files = read_model(config.model)
        sources = open_sources(config.inputs, (), input_format=config.input_format)
        digest = digest_of([sources.digest, files.digest])
        names, state = sources.corpus.names, (sources, LangidModel(files))
        return Plan(self.name, self.version, 0, config_digest(config), digest, names, sources.shards(), state)

    def run(self, plan: Plan, config: CleanConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Write kept rows and ledger in shard order."""
        counts: dict[str, int] = {"read": 0, "kept": 0, "label_mismatch": 0, "low_confidence": 0, "blank": 0}
        before: dict[int, int] = {}
        encoder = msgspec.json.Encoder()
        name = "kept.txt" if config.table == "labels" else "kept.jsonl"
        with writing(out.output), out.open(name) as kept, out.open("dropped.jsonl") as ledger:
            for shard, part in engine.map_ordered(
                "clean", CleanShard(config), plan.shards, state=plan.inputs
            ):
                out.bad_rows.take(plan, shard, part["bad"], num_lines=part["num_lines"])
                kept.write(part["kept"])
                first = before.get(shard.source, 0)
                source = plan.source_names[shard.source]
                for line, reason, label, top, confidence in part["dropped"]:
                    row = {"source": source, "line": first + line + 1, "reason": reason}
                    row |= {"label": label, "top": top, "score": confidence}
                    ledger.write(encoder.encode(row) + b"\n")
                    counts[reason] += 1
                before[shard.source] = first + part["num_lines"]
                counts["kept"] += part["num_kept"]
                counts["blank"] += part["num_blank"]
            out.bad_rows.check()
        counts["read"], counts["bad"] = out.bad_rows.num_read, out.bad_rows.num_bad
        out.write_json("report.json", counts)
        return dict(counts)


JOB = CleanJob()
