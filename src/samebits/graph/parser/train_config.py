"""Settings of ``graph train``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from samebits.core.config import option
from samebits.errors import ConfigError
from samebits.lockstep.problem.config import FitConfig

__all__ = ["TrainConfig"]

LEAST = {
    "steps": 0,
    "batch": 1,
    "grad_shards": 1,
    "layers": 1,
    "min_count": 1,
    "validate_every": 0,
    "save_every": 0,
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
    steps: int = option(1500, help="updates to make", short="-s")
    batch: int = option(64, help="examples of a step")
    grad_shards: int = option(4, help="gradient shards of a step: the most workers a run can use")
    lr: float = option(0.004, help="peak learning rate of AdamW")
    warmup: int = option(100, help="steps in which the learning rate rises")
    weight_decay: float = option(0.01, help="weight decay of matrices and embeddings")
    clip: float = option(5.0, help="largest gradient norm; 0 does not clip")
    width: int | None = option(
        None, help="width of the encoder; 128 for texts, 192 for sentences", metavar="N"
    )
    layers: int = option(2, help="layers of the encoder")
    dropout: float = option(0.0, help="share of states dropped between layers")
    word_dropout: float = option(0.15, help="share of words read as unknown, for sentences")
    min_count: int = option(2, help="rarer words count as unknown, for sentences")
    subtypes: bool = option(True, help="keep subtypes of CoNLL-U relations like nsubj:pass")
    validate_every: int = option(250, help="steps between validations; 0: at the end")
    seed: int = option(1, help="root of all randomness")
    save_every: int = option(0, help="steps between checkpoints; 0: one a minute", how=True)
    allow_environment_change: bool = option(
        False, help="continue on another CPU or version, and mark the result as not exact", how=True
    )

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            if getattr(self, name) < least:
                raise ConfigError(f"{_flag(name)} is {getattr(self, name)}", hint=f"use {least} or more")
        if self.width is not None and (self.width < 2 or self.width % 2):
            raise ConfigError(f"--width is {self.width}", hint="use an even number: half reads each way")
        for name in ("dropout", "word_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise ConfigError(f"{_flag(name)} is {getattr(self, name)}", hint="use a share below 1")
        if self.batch % self.grad_shards:
            raise ConfigError(
                f"--batch {self.batch} cannot be cut into {self.grad_shards} equal shards",
                hint=f"use --batch {-(-self.batch // self.grad_shards) * self.grad_shards}",
            )
        self.fit().check()

    def fit(self) -> FitConfig:
        """Return the settings of the trainer: AdamW, warm-up, then straight down to 1 % of the peak."""
        return FitConfig(
            steps=self.steps,
            shards=self.grad_shards,
            lr=self.lr,
            weight_decay=self.weight_decay,
            clip=self.clip,
            beta2=0.98,
            schedule="trapezoid",
            warmup=self.warmup,
            cooldown=1.0,
            floor=0.01,
            validate_every=self.validate_every,
            seed=self.seed,
        )


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
