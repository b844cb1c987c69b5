"""What the jobs of this room compute: every field may change the result, and all but the paths are in its digest.

``GraphConfig`` is ``graph matrix``, ``KnnConfig`` ``graph knn``, ``GenerateConfig`` ``graph generate``, ``EvalConfig``
``graph eval`` and ``TrainConfig`` ``graph train``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from samebits.core.config import option
from samebits.errors import ConfigError
from samebits.graph.curriculum.levels import DEPTHS, LEVEL_ONE_SIZE
from samebits.graph.distance.compare import NO_LIMIT
from samebits.graph.distance.costs import Scaled, parse_costs
from samebits.graph.formats.read import Reading
from samebits.lockstep.problem.config import FitConfig

__all__ = ["EvalConfig", "GenerateConfig", "GraphConfig", "KnnConfig", "TrainConfig"]

LEAST = {
    "steps": 0,
    "batch": 1,
    "shards": 1,
    "layers": 1,
    "min_count": 1,
    "validate_every": 0,
    "save_every": 0,
    "keep_every": 0,
}
FULL_BATCH = 128  # four shards of 32 examples, one for each lane
DEFAULTS: dict[str, dict[str, Any]] = {
    "char": {
        "steps": 1500,
        "lr": 0.004,
        "width": 128,
        "layers": 2,
        "dropout": 0.0,
        "smoothing": 0.0,
        "average": 0.0,
    },
    "word": {
        "steps": 4500,
        "lr": 0.003,
        "width": 320,
        "layers": 3,
        "dropout": 0.33,
        "smoothing": 0.03,
        "average": 0.1,
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """What to train, on what, and how long."""

    inputs: tuple[str, ...] = option(
        (), help="JSON lines with text and graph, CoNLL-U, or a folder of graph generate", location=True
    )
    valid: str = option(
        "", help="examples to validate on; without it, 5 % of the examples", location=True, metavar="FILE"
    )
    loss: Literal["wce", "ce", "mix", "ged"] = option("wce", help="loss; wce bounds the edit distance")
    steps: int | None = option(
        None, help="updates to make; 1,500 for texts, 4,500 for sentences", short="-s", metavar="N"
    )
    batch: int = option(128, help="examples per step; 32 per shard fill the vectors of every CPU")
    shards: int | None = option(
        None,
        help="gradient shards per step: no run can use more workers than this; 4, or 2 if the batch is below 128",
        metavar="N",
    )
    lr: float | None = option(
        None, help="peak learning rate of AdamW; 0.004 for texts, 0.003 for sentences", metavar="X"
    )
    warmup: int = option(100, help="warm-up steps, in which the learning rate rises")
    weight_decay: float = option(0.01, help="weight decay of matrices and embeddings")
    clip: float = option(5.0, help="largest gradient norm; 0 does not clip")
    width: int | None = option(
        None, help="width of the encoder; 128 for texts, 320 for sentences", metavar="N"
    )
    layers: int | None = option(None, help="layers of the encoder; 2 for texts, 3 for sentences", metavar="N")
    dropout: float | None = option(
        None, help="share of states dropped; none for texts, 0.33 for sentences", metavar="X"
    )
    smoothing: float | None = option(
        None,
        help="label smoothing: share of each target that is spread over all choices; none for texts, 0.03 for sentences",
        metavar="X",
    )
    average: float | None = option(
        None,
        help="average the weights over about this share of the steps, the last ones; none for texts, 0.1 for sentences",
        metavar="X",
    )
    tag_weight: float = option(
        0.5, help="weight of parts of speech, tags and features in the loss, for sentences"
    )
    word_dropout: float = option(0.2, help="share of words read as unknown, for sentences")
    min_count: int = option(2, help="words rarer than this count as unknown, for sentences")
    subtypes: bool = option(True, help="keep subtypes of CoNLL-U relations like nsubj:pass")
    validate_every: int = option(250, help="steps between validations; 0: at the end")
    seed: int = option(1, help="root of all randomness")
    save_every: int = option(
        0, help="save a checkpoint every N steps too; one per minute is saved anyway", metavar="N", how=True
    )
    keep_every: int = option(
        0,
        help="keep the checkpoint of every N-th step in RUN.checkpoints, for verify --replay; 0: none",
        metavar="N",
        how=True,
    )
    allow_environment_change: bool = option(
        False, help="continue on a different CPU or version, and mark the result as not exact", override=True
    )

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if getattr(self, name) is not None and getattr(self, name) < least:
                raise ConfigError(f"{_flag(name)} is {getattr(self, name)}", hint=f"use {least} or more")
        if self.width is not None and (self.width < 2 or self.width % 2):
            raise ConfigError(f"--width is {self.width}", hint="use an even number: half reads each way")
        for name in ("dropout", "word_dropout", "smoothing", "average"):
            if not 0 <= (getattr(self, name) or 0) < 1:
                raise ConfigError(f"{_flag(name)} is {getattr(self, name)}", hint="use a share below 1")
        shards = self.num_shards
        if self.batch % shards:
            raise ConfigError(
                f"--batch {self.batch} cannot be split into {shards} equal shards",
                hint=f"use --batch {-(-self.batch // shards) * shards}",
            )
        self.fit("char").check()

    @property
    def num_shards(self) -> int:
        """Gradient shards of a step: unless said otherwise so many that each of them fills the vectors, as far as it can."""
        return self.shards or (4 if self.batch >= FULL_BATCH else 2)

    def for_kind(self, kind: str) -> TrainConfig:
        """Return these settings with the defaults of texts (``char``) or sentences (``word``) where nothing was said."""
        found = {name: value for name, value in DEFAULTS[kind].items() if getattr(self, name) is None}
        return replace(self, **found) if found else self

    def fit(self, kind: str) -> FitConfig:
        """Return the settings of the trainer: AdamW, warm-up, then straight down to 1 % of the peak."""
        chosen = self.for_kind(kind)
        assert chosen.steps is not None
        assert chosen.lr is not None
        assert chosen.average is not None
        return FitConfig(
            steps=chosen.steps,
            shards=self.num_shards,
            lr=chosen.lr,
            weight_decay=self.weight_decay,
            clip=self.clip,
            beta2=0.98 if kind == "char" else 0.95,
            schedule="trapezoid",
            warmup=self.warmup,
            cooldown=1.0,
            floor=0.01,
            average=chosen.average,
            validate_every=self.validate_every,
            seed=self.seed,
        )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphConfig:
    """Which graphs to compare, and how exactly."""

    inputs: tuple[str, ...] = option(
        (),
        help="files of graphs (.jsonl, .json, .graphml, .gxl, .gexf, t/v/e text), or folders of them",
        location=True,
    )
    against: tuple[str, ...] = option(
        (), help="compare with these graphs instead of with each other", location=True, metavar="FILE"
    )
    budget: int = option(1000, help="search states to visit for each pair; 0 gives bounds only")
    threshold: str = option(
        "", help="stop at a pair once its distance is proven to be above this", metavar="X"
    )
    costs: tuple[str, ...] = option(
        (), help="costs of edits, e.g. node_sub=2,edge_ins=0.5; 1 each by default", metavar="NAME=X"
    )
    node_label: str = option("label", help="key or attribute that holds a node's label; '' ignores labels")
    edge_label: str = option("label", help="key or attribute that holds an edge's label; '' ignores labels")
    directed: bool = option(False, help="treat JSON and t/v/e graphs as directed if they do not say")
    trees: bool = option(False, help="compare ordered trees by tree edit distance")
    until_exact: bool = option(
        False,
        help="keep searching where the budget ends until each pair is proven; may take very long",
        omit_default=True,
    )

    def __post_init__(self) -> None:
        if self.budget < 0:
            raise ConfigError(f"--budget is {self.budget}", hint="use 0 or more states")
        self.limit(self.scaled())

    def scaled(self) -> Scaled:
        """The costs as integers."""
        return parse_costs(self.costs).scaled()

    def limit(self, scaled: Scaled) -> int:
        """Return the least distance that need not be exact, in scaled units."""
        return scaled.whole(self.threshold, "--threshold") + 1 if self.threshold else NO_LIMIT

    def reading(self) -> Reading:
        """How to read the files."""
        return Reading(self.node_label, self.edge_label, self.directed)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnnConfig:
    """Which graphs to look for, where, and how exactly."""

    inputs: tuple[str, ...] = option(
        (),
        help="queries: files of graphs (.jsonl, .json, .graphml, .gxl, .gexf, t/v/e text), or folders",
        location=True,
    )
    corpus: tuple[str, ...] = option(
        (), help="files of the graphs to choose from", location=True, metavar="FILE"
    )
    k: int = option(10, help="how many nearest graphs", short="-k")
    budget: int = option(1000, help="search states to visit for each candidate")
    costs: tuple[str, ...] = option(
        (), help="costs of edits, e.g. node_sub=2,edge_ins=0.5; 1 each by default", metavar="NAME=X"
    )
    node_label: str = option("label", help="key or attribute that holds a node's label; '' ignores labels")
    edge_label: str = option("label", help="key or attribute that holds an edge's label; '' ignores labels")
    directed: bool = option(False, help="treat JSON and t/v/e graphs as directed if they do not say")
    until_exact: bool = option(
        False,
        help="keep searching where the budget ends until each answer is proven; may take very long",
        omit_default=True,
    )

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"-k is {self.k}", hint="use 1 or more")
        if self.budget < 0:
            raise ConfigError(f"--budget is {self.budget}", hint="use 0 or more states")
        self.scaled()

    def scaled(self) -> Scaled:
        """The costs as integers."""
        return parse_costs(self.costs).scaled()

    def reading(self) -> Reading:
        """How to read the files."""
        return Reading(self.node_label, self.edge_label, self.directed)


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateConfig:
    """Which examples to draw."""

    inputs: tuple[str, ...] = option((), help="none: examples are drawn, not read", location=True)
    level: int = option(2, help="level of the curriculum, 1 to 7")
    n: int = option(50_000, help="examples to draw, over all three splits", short="-n")
    depths: str = option(
        "", help="shares of depths for levels 2 to 4, e.g. 2:20,3:40,4:40", metavar="D:W,..."
    )
    seed: int = option(1, help="root of all randomness")

    def __post_init__(self) -> None:
        if not 1 <= self.level <= 7:
            raise ConfigError(f"--level is {self.level}", hint="levels are 1 to 7")
        if self.n < 1:
            raise ConfigError(f"--n is {self.n}", hint="use 1 or more")
        if self.level == 1 and self.n > LEVEL_ONE_SIZE:
            raise ConfigError(
                f"level 1 has {LEVEL_ONE_SIZE:,} expressions, not {self.n:,}",
                hint=f"use -n {LEVEL_ONE_SIZE} or less",
            )
        self.depth_weights()

    def depth_weights(self) -> tuple[tuple[int, int], ...]:
        """Return (depth, weight) pairs; empty for levels whose shapes are fixed."""
        if not self.depths:
            return DEPTHS.get(self.level, ())
        if self.level not in (2, 3, 4):
            raise ConfigError(f"--depths does not apply at level {self.level}", hint="leave it out")
        pairs = []
        for item in self.depths.split(","):
            depth, _, weight = item.partition(":")
            if not (
                depth.isdecimal()
                and (weight or "1").isdecimal()
                and 1 <= int(depth) <= 8
                and int(weight or 1)
            ):
                raise ConfigError(
                    f"--depths has {item!r}", hint="write it like 2:20,3:40,4:40, depths 1 to 8"
                )
            pairs.append((int(depth), int(weight or 1)))
        return tuple(pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvalConfig:
    """What to judge, and on what."""

    inputs: tuple[str, ...] = option((), help="JSON lines with text and graph, or CoNLL-U", location=True)
    model: str = option("", help="folder of the model", short="-m", location=True, metavar="DIR")
    decode: str = option("auto", help="auto, argmax, tree or slots", metavar="NAME")
    budget: int = option(200, help="search states for the edit distance of a wrong graph; 0: bounds only")
    draw: int = option(20, help="how many of the worst cases to draw")
    subtypes: bool = option(True, help="keep subtypes of CoNLL-U relations like nsubj:pass")

    def __post_init__(self) -> None:
        for name in ("budget", "draw"):
            if getattr(self, name) < 0:
                raise ConfigError(f"--{name} is {getattr(self, name)}", hint="use 0 or more")
