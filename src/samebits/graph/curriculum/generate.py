"""``graph generate``: examples of the curriculum as JSON lines, checked, without duplicates, in splits that share nothing.

A shard is a range of example numbers. A task draws and checks them; the fold drops expressions that came before, in shard
order, and asks for more numbers until enough are kept. So the result depends on the seed alone, never on who drew what.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import msgspec

from samebits.core.config import config_digest
from samebits.core.engine import Engine
from samebits.core.observing.events import Metric
from samebits.core.plan import Plan, Shard, cut
from samebits.data.artifact import ArtifactWriter
from samebits.data.files import writing
from samebits.errors import ConfigError
from samebits.graph.anchored import as_json
from samebits.graph.config import GenerateConfig
from samebits.graph.curriculum.checker import bind_edges
from samebits.graph.curriculum.levels import Example, draw_example, split_of
from samebits.graph.curriculum.sympy_check import confirm, sympy_version

__all__ = ["JOB", "example_line"]

SHARD_EXAMPLES = 1000
CHECKED_SHARD_EXAMPLES = 50  # sympy checks about 50 a second, so these shards take about a second too
SPLITS = ("train", "valid", "test")
MOST_DRAWS = 100  # for each example; all 39,900 expressions of level 1 come up in about 45


class DrawnPart(NamedTuple):
    """Examples of a range of numbers: keys, lines without their id, and the texts that sympy did not confirm."""

    keys: list[str]
    lines: list[bytes]
    refused: list[str]


@dataclass(frozen=True, slots=True)
class DrawShard:
    """The task: draw and check the examples of a range of numbers."""

    part_type: ClassVar = DrawnPart
    config: GenerateConfig

    def __call__(self, shard: Shard, state: None, /) -> DrawnPart:
        """Return keys, lines without their id, and those that sympy did not confirm."""
        keys, lines, refused = [], [], []
        depths = self.config.depth_weights()
        for index in range(shard.start, shard.stop):
            example = draw_example(self.config.seed, self.config.level, index, depths)
            form = example.result.form
            if form is not None and not confirm(example.rendered.text, example.rendered.graph, form):
                refused.append(example.rendered.text)
                continue
            keys.append(example.key)
            lines.append(example_line(example, self.config.level))
        return DrawnPart(keys, lines, refused)


def example_line(example: Example, level: int) -> bytes:
    """Return an example as JSON without its id, which the fold puts in front."""
    text, graph = example.rendered.text, example.rendered.graph
    record: dict[str, Any] = {
        "level": level,
        "depth": example.depth,
        "style": example.style,
        "text": text,
        "graph": as_json(graph),
    }
    if example.bindings:
        record["bind"] = [{"from": use, "to": definition} for use, definition in bind_edges(text, graph)]
    record["result"] = {"kind": example.result.kind, "value": example.result.value}
    return msgspec.json.encode(record)


@dataclass(frozen=True, slots=True)
class GenerateJob:
    """Draws until enough examples are kept."""

    name: str = "graph_generate"
    version: int = 1
    summary: str = "draw checked examples of the mathematics curriculum"
    Config: type[GenerateConfig] = GenerateConfig
    default_executor: str = "processes"
    stages: tuple[str, ...] = ("draw",)
    bytes_per_worker: int = 150_000_000

    def plan(self, config: GenerateConfig) -> Plan:
        """Cut the first n example numbers; more are asked for when some are dropped."""
        return Plan(
            job=self.name,
            version=self.version,
            seed=config.seed,
            config_digest=config_digest(config),
            input_digest="",
            source_names=("curriculum",),
            shards=cut([config.n], _shard_examples(config)),
        )

    def run(self, plan: Plan, config: GenerateConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Draw in rounds; write each split as its examples come."""
        about: dict[str, Any] = {"level": config.level}
        if config.level in (5, 6):
            about["sympy"] = sympy_version()
        fold = _Fold(config)
        files = {split: out.open(f"{split}.jsonl") for split in SPLITS}
        with writing(out.output), files["train"], files["valid"], files["test"]:
            shards: Sequence[Shard] = plan.shards
            while not fold.is_full():
                before = fold.num_kept
                for _, part in engine.map_ordered("draw", DrawShard(config), shards, unit="examples"):
                    for split, line in fold.add(part):
                        files[split].write(line)
                    engine.observer(Metric("examples", fold.num_kept))
                    if fold.is_full():
                        break
                shards = fold.next_shards(shards, before)
        about |= {"examples": dict(fold.counts), "drawn": fold.num_drawn, "duplicates": fold.num_duplicates}
        out.write_json("summary.json", about)
        return about


def _shard_examples(config: GenerateConfig) -> int:
    return CHECKED_SHARD_EXAMPLES if config.level in (5, 6) else SHARD_EXAMPLES


class _Fold:
    """Keeps the first example of each expression, in the order of their numbers."""

    def __init__(self, config: GenerateConfig) -> None:
        self.config = config
        self.seen: set[str] = set()
        self.counts = dict.fromkeys(SPLITS, 0)
        self.num_drawn = 0

    @property
    def num_kept(self) -> int:
        return len(self.seen)

    @property
    def num_duplicates(self) -> int:
        return self.num_drawn - self.num_kept

    def is_full(self) -> bool:
        return self.num_kept == self.config.n

    def add(self, part: DrawnPart) -> list[tuple[str, bytes]]:
        """Return (split, line) of the examples of a part that are new."""
        if part.refused:
            raise AssertionError(f"sympy does not confirm the result of: {part.refused[0]}")
        kept: list[tuple[str, bytes]] = []
        for key, line in zip(part.keys, part.lines, strict=True):
            if self.is_full():
                break
            self.num_drawn += 1
            if key in self.seen:
                continue
            self.seen.add(key)
            split = split_of(key)
            self.counts[split] += 1
            name = f'{{"id":"L{self.config.level}-{self.num_kept:06d}",'
            kept.append((split, name.encode() + line[1:] + b"\n"))
        return kept

    def next_shards(self, shards: Sequence[Shard], before: int) -> list[Shard]:
        """Return the example numbers after those of ``shards``, about as many as are missing.

        Raises:
            ConfigError: if so many draws gave so few expressions that there are hardly any more.
        """
        if self.is_full():
            return []
        if self.num_drawn > MOST_DRAWS * self.config.n + SHARD_EXAMPLES:
            raise ConfigError(
                f"only {self.num_kept:,} distinct expressions were found in {self.num_drawn:,} draws",
                hint=f"use -n {self.num_kept} or less, or more --depths",
            )
        last, drawn = shards[-1], shards[-1].stop - shards[0].start
        share = max(self.num_kept - before, 1) / drawn
        cell = _shard_examples(self.config)
        missing = self.config.n - self.num_kept
        num_shards = -(-min(round(missing / share), 4 * self.config.n) // cell)
        return [
            Shard(last.index + 1 + i, 0, last.stop + i * cell, last.stop + (i + 1) * cell)
            for i in range(max(1, num_shards))
        ]


JOB = GenerateJob()
