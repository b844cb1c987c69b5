"""From settings to numbers: the architecture, the sizes of a step and the settings of the optimizer, checked."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

from samebits.errors import ConfigError
from samebits.lm.config import PRESETS, LmConfig
from samebits.lm.model.arch import BLOCKS, Architecture
from samebits.lockstep.problem.config import FitConfig

__all__ = ["RunSettings", "resolve"]

WIDTH_PER_LAYER = 32  # of the dial; depth 4 is the preset's 128
WIDTH_STEP = 2  # the rotation turns pairs
# Peak rates at width 128 (measured on the preset); wider models take smaller ones, by the square root.
ADAMW_LR = {"muon": 5e-3, "adamw": 4e-3, "sgd": 0.1}
BASE_DIM = 128
NGRAMS = 4  # of the modern block
WARMUP = {"modern": 10, "classic": 50}


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Everything a run needs to know, with no default left open."""

    arch: Architecture
    fit: FitConfig
    batch: int
    dropout: float
    ngram_dropout: float
    arithmetic: str
    compute: str
    dtype: str

    @property
    def rows(self) -> int:
        """Windows of a shard."""
        return self.batch // self.fit.shards

    @property
    def tokens_per_step(self) -> int:
        """Tokens of a step."""
        return self.batch * self.arch.block

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for config.json."""
        return asdict(self)


def resolve(config: LmConfig, vocab: int) -> RunSettings:
    """Fill in what the settings leave open.

    Raises:
        ConfigError: for sizes that do not fit together.
    """
    sizes = _sizes(config)
    arch = _architecture(config, sizes, vocab)
    batch = config.batch or sizes["batch"]
    if batch % config.shards:
        raise ConfigError(
            f"--batch {batch} cannot be split into --shards {config.shards} equal parts",
            hint=f"use a multiple of {config.shards}, or a different number of shards",
        )
    steps = sizes["steps"] if config.steps is None else config.steps
    fit = _fit(config, arch, steps)
    fit.check()
    every = fit.validate_every
    if config.sample_every and (not every or config.sample_every % every):
        raise ConfigError(
            f"--sample-every {config.sample_every} is not a multiple of --validate-every {every}",
            hint="samples are made at validations; choose a multiple",
        )
    compute = "portable" if config.arithmetic == "portable" else "compiled" if config.compile else "eager"
    ngram_dropout = config.ngram_dropout if arch.ngram_lengths else 0.0
    return RunSettings(
        arch, fit, batch, config.dropout, ngram_dropout, config.arithmetic, compute, config.dtype
    )


def _sizes(config: LmConfig) -> dict[str, int]:
    sizes = dict(PRESETS[config.preset])
    if config.depth is not None:
        width = WIDTH_PER_LAYER * config.depth
        sizes |= {"layers": config.depth, "width": width, "heads": config.depth}
    return sizes | {
        name: value
        for name in ("layers", "heads", "width", "block")
        if (value := getattr(config, name)) is not None
    }


def _architecture(config: LmConfig, sizes: dict[str, int], vocab: int) -> Architecture:
    width, heads = sizes["width"], sizes["heads"]
    if width % heads or width // heads % WIDTH_STEP:
        raise ConfigError(
            f"a width of {width} cannot be split into {heads} heads of an even width",
            hint=f"use --width {-(-width // (heads * WIDTH_STEP)) * heads * WIDTH_STEP}, or a different number of --heads",
        )
    choices: dict[str, Any] = dict(BLOCKS[config.kind])
    for name in ("norm", "positions", "activation"):
        if getattr(config, name) != "auto":
            choices[name] = getattr(config, name)
    for name in ("qk_norm", "tied"):
        if getattr(config, name) != "auto":
            choices[name] = getattr(config, name) == "on"
    if choices["qk_norm"] and choices["positions"] != "rope":
        if config.qk_norm == "on":
            raise ConfigError("--qk-norm needs --positions rope", hint="leave one of them out")
        choices["qk_norm"] = False
    ngrams = (NGRAMS if config.kind == "modern" else 1) if config.ngrams is None else config.ngrams
    choices |= {"ngrams": ngrams, "ngram_rows": config.ngram_rows if ngrams > 1 else 0}
    return Architecture(
        vocab=vocab,
        layers=sizes["layers"],
        heads=heads,
        dim=width,
        block=sizes["block"],
        **choices,
    )


def _fit(config: LmConfig, arch: Architecture, steps: int) -> FitConfig:
    modern = config.kind == "modern"
    optimizer = ("muon" if modern else "adamw") if config.optimizer == "auto" else config.optimizer
    schedule = ("trapezoid" if modern else "cosine") if config.schedule == "auto" else config.schedule
    lr = ADAMW_LR[optimizer] * sqrt(BASE_DIM / arch.dim) if config.lr is None else config.lr
    return FitConfig(
        steps=steps,
        shards=config.shards,
        optimizer=optimizer,
        lr=lr,
        weight_decay=config.weight_decay,
        clip=config.clip,
        beta2=config.beta2,
        muon_lr=config.muon_lr,
        muon_iterations=config.muon_iterations,
        schedule=schedule,
        warmup=min(WARMUP[config.kind], steps) if config.warmup is None else config.warmup,
        cooldown=config.cooldown,
        floor=0.1 if schedule == "cosine" else 0.0,
        validate_every=max(1, steps // 10) if config.validate_every is None else config.validate_every,
        plateau=config.plateau,
        early_stop=config.early_stop,
        seed=config.seed,
    )
