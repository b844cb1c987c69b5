"""langid_clean: keep the rows a model agrees with, list the others with the reason. The same ledger as training.

A row is kept when the model's language is its label and the model is sure enough. Kept rows come out in order, as JSON
lines with text and label or as fastText's ``__label__de text`` lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, NotRequired, TypedDict

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.core.config import config_digest, option
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.output_file import KeptBytes, row_pieces, write_outputs
from samebits.data.folding.piece_files import Index, PieceFolder
from samebits.data.folding.shape import row_starts
from samebits.data.folding.tree import KeptPart, folding, kept_part
from samebits.data.readers.rows import BadRow, TextColumn
from samebits.errors import ConfigError
from samebits.kernels.langid.text.lines import json_lines, label_lines
from samebits.kernels.langid.text.words import Vocabulary
from samebits.langid.model.model import UNDETERMINED, LangidModel
from samebits.langid.model.model_reading import read_model
from samebits.langid.sources import LabelledBlock, Sources, iter_labelled, open_sources
from samebits.langid.tables import load_tables

__all__ = ["JOB", "CleanConfig"]

LEDGER, WRITE = "ledger", "write"  # stages
KEPT, MISMATCH, LOW = range(3)
REASONS = {MISMATCH: "label_mismatch", LOW: "low_confidence"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanConfig:
    """What to keep."""

    inputs: tuple[str, ...] = option((), help="labelled rows: files, folders, globs, or -", location=True)
    model: str = option("", help="folder of the model", short="-m", location=True, metavar="DIR")
    input_format: str = option("auto", help="format of the input; auto goes by the suffix", metavar="NAME")
    text_column: str = option("text", help="column that holds the text")
    lang_column: str = option("lang", help="column that holds the label")
    min_confidence: float = option(
        0.5, help="probability (exact: share of known words) a row needs to be kept"
    )

    table: Literal["jsonl", "labels"] = option(
        "jsonl", help="write kept rows as JSON lines or as __label__ lines"
    )

    def __post_init__(self) -> None:
        if not 0 <= self.min_confidence <= 1:
            raise ConfigError(f"--min-confidence is {self.min_confidence}", hint="use a number from 0 to 1")


class JudgedBlock(TypedDict):
    """The kept rows as lines, and of the others line, reason, label, top language and score, as columns."""

    kept: NotRequired[NDArray[np.uint8]]  # taken out of what the ledger is made from
    num_kept: int
    names: list[str]
    line: NDArray[np.int64]
    reason: NDArray[np.uint8]
    label: NDArray[np.uint32]
    top: NDArray[np.int64]
    score: NDArray[np.float64]


class JudgedPart(NamedTuple):
    """The rows of one shard, block by block, and what was bad."""

    blocks: list[JudgedBlock]
    bad: list[BadRow]
    num_lines: int
    num_blank: int


@dataclass(frozen=True, slots=True)
class CleanShard:
    """Judge the rows of one shard."""

    part_type: ClassVar = JudgedPart
    config: CleanConfig

    def __call__(self, shard: Shard, state: tuple[Sources, LangidModel], /) -> JudgedPart:
        """Return every block, judged."""
        sources, model = state
        config = self.config
        blocks = list(
            iter_labelled(sources, shard, text_column=config.text_column, lang_column=config.lang_column)
        )
        return JudgedPart(
            blocks=[self.judge(block, model) for block in blocks],
            bad=[row for block in blocks for row in block.bad],
            num_lines=sum(block.num_lines for block in blocks),
            num_blank=sum(block.num_blank for block in blocks),
        )

    def judge(self, block: LabelledBlock, model: LangidModel) -> JudgedBlock:
        """Compare the labels with what the model says."""
        numbers, shares = model.rank(block.text, 1)
        top, score = numbers[:, 0], np.where(numbers[:, 0] >= 0, shares[:, 0], 0.0)
        names, name_of = _label_names(block.label)
        known = {name: i for i, name in enumerate(model.languages)}
        # A label "und" agrees with a row in which nothing is known.
        same = top == np.array([known.get(name, -2) for name in names], np.int64)[name_of]
        same |= (top < 0) & np.array([name == UNDETERMINED for name in names], bool)[name_of]
        reasons = np.where(same, np.where(score < self.config.min_confidence, LOW, KEPT), MISMATCH)
        out = np.flatnonzero(reasons != KEPT)
        return {
            "kept": self.lines(block, np.flatnonzero(reasons == KEPT)),
            "num_kept": len(reasons) - len(out),
            "names": names,
            "line": block.lines[out],
            "reason": reasons[out].astype(np.uint8),
            "label": name_of[out],
            "top": top[out],
            "score": score[out],
        }

    def lines(self, block: LabelledBlock, rows: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Write rows as JSON or label lines."""
        text, label, config = block.text, block.label, self.config
        columns = (text.buffer, text.starts, text.stops, label.buffer, label.starts, label.stops, rows)
        if config.table == "labels":
            return label_lines(load_tables(), *columns)
        first, second = (msgspec.json.encode(name) for name in (config.text_column, config.lang_column))
        return json_lines(*columns, b"{" + first + b':"', b'",' + second + b':"')


@dataclass(frozen=True, slots=True)
class CleanShards:
    """Some shards, whose rows a worker keeps: those that stay as lines, then what the ledger says of the others."""

    config: CleanConfig

    def count(
        self, shards: Sequence[Shard], state: tuple[Sources, LangidModel], /
    ) -> tuple[list[Any], list[Any]]:
        """Tell how the rows of each shard add up; return lines in pieces, and what is left out as the last piece."""
        task = CleanShard(self.config)
        parts = [task(shard, state) for shard in shards]
        kept = b"".join(block.pop("kept").data for part in parts for block in part.blocks)
        told = [[part.bad, part.num_lines, part.num_blank, _sums(part.blocks)] for part in parts]
        return told, [*row_pieces(kept), [part.blocks for part in parts]]


def _sums(blocks: Sequence[JudgedBlock]) -> dict[str, int]:
    """Count rows by what becomes of them."""
    sums = {"kept": sum(block["num_kept"] for block in blocks)}
    for number, reason in REASONS.items():
        sums[reason] = sum(int((block["reason"] == number).sum()) for block in blocks)
    return sums


class DroppedState(NamedTuple):
    """What was kept of the nodes, and where their shards begin.

    Attributes:
        files: Of the nodes.
        starts: First shard of each node.
        sources: Number of each shard's source.
        first_line: Lines of that source before it.
    """

    files: list[Index]
    starts: NDArray[np.int64]
    sources: NDArray[np.int64]
    first_line: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ListDropped:
    """The task: the lines of the ledger for one node; only now is it known how many lines come before it."""

    part_type: ClassVar = KeptPart
    folder: PieceFolder
    source_names: tuple[str, ...]
    languages: tuple[str, ...]

    def __call__(self, shard: Shard, state: DroppedState, /) -> KeptPart:
        """Keep the lines."""
        node, encoder = shard.start, msgspec.json.Encoder()
        index = state.files[node]
        found = self.folder.read(index, len(index.sizes) - 1)
        lines = [
            encoder.encode_lines(
                _ledger_rows(
                    block,
                    self.source_names[int(state.sources[number])],
                    int(state.first_line[number]),
                    self.languages,
                )
            )
            for number, blocks in enumerate(found, int(state.starts[node]))
            for block in blocks
        ]
        return kept_part(self.folder, LEDGER, node, None, row_pieces(b"".join(lines)))


def _label_names(labels: TextColumn) -> tuple[list[str], NDArray[np.uint32]]:
    """Return the different labels of a block, and for each row the number of its own."""
    vocabulary = Vocabulary()
    numbers = vocabulary.add(labels.buffer, labels.starts, labels.stops)
    data, stops = vocabulary.export()
    ends = stops.tolist()
    return [data[a:b].tobytes().decode() for a, b in zip([0, *ends], ends, strict=False)], numbers


@dataclass(frozen=True, slots=True)
class CleanJob:
    """Keep what the model agrees with."""

    name: str = "langid_clean"
    version: int = 1
    summary: str = "keep the rows whose label a model agrees with"
    Config: type[CleanConfig] = CleanConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = ("clean", LEDGER, WRITE)
    bytes_per_worker: int = 200_000_000

    def plan(self, config: CleanConfig) -> Plan:
        """Cut the files; the model is part of the input."""
        if not config.model:
            raise ConfigError("no model given", hint="add -m DIR, the folder of a trained model")
        files = read_model(config.model)
        sources = open_sources(config.inputs, (), input_format=config.input_format)
        digest = digest_of([sources.digest, files.digest])
        names, state = sources.corpus.names, (sources, LangidModel(files))
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=digest,
            source_names=names,
            shards=sources.shards(),
            inputs=state,
        )

    def run(self, plan: Plan, config: CleanConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Let the workers write kept rows and ledger, in shard order."""
        counts: dict[str, int] = {"read": 0, "kept": 0, "label_mismatch": 0, "low_confidence": 0, "blank": 0}
        lines_of: dict[int, int] = {}
        first_line: list[int] = []
        starts, sources = row_starts(plan.shards), plan.shards.columns[0]
        with folding(engine, plan.digest) as workers:

            def take(shard: Shard, told: Any) -> None:
                bad, num_lines, num_blank, sums = told
                out.bad_rows.take(plan, shard, bad, num_lines=num_lines)
                first_line.append(lines_of.get(shard.source, 0))
                lines_of[shard.source] = first_line[-1] + num_lines
                for name, number in {**sums, "blank": num_blank}.items():
                    counts[name] += number

            def write(found: list[Index]) -> None:
                out.bad_rows.check()
                task = ListDropped(workers.folder, plan.source_names, tuple(plan.inputs[1].languages))
                state = DroppedState(found, starts, sources, np.array(first_line, np.int64))
                dropped = workers.map_light(LEDGER, task, len(found), state, unit="nodes")
                kept = KeptBytes.of(found, pieces=[range(len(index.sizes) - 1) for index in found])
                ledger = KeptBytes.of([part.pieces for part in dropped])
                name = "kept.txt" if config.table == "labels" else "kept.jsonl"
                write_outputs(workers, out, WRITE, {name: kept, "dropped.jsonl": ledger})

            workers.run_rows(
                "clean",
                CleanShards(config),
                plan.shards,
                take,
                state=plan.inputs,
                unit="bytes",
                then=write,
                starts=starts,
            )
        counts["read"], counts["bad"] = out.bad_rows.num_read, out.bad_rows.num_bad
        out.write_json("report.json", counts)
        return dict(counts)


def _ledger_rows(
    block: JudgedBlock, source: str, first: int, languages: Sequence[str]
) -> list[dict[str, Any]]:
    """The rows left out, as the ledger writes them."""
    names = [*languages, UNDETERMINED]  # -1 is the last
    columns = (
        column.tolist()
        for column in (block["line"], block["reason"], block["label"], block["top"], block["score"])
    )
    return [
        {
            "source": source,
            "line": first + line + 1,
            "reason": REASONS[reason],
            "label": block["names"][label],
            "top": names[top],
            "score": score,
        }
        for line, reason, label, top, score in zip(*columns, strict=True)
    ]


JOB = CleanJob()
