"""Settings of ``lm``: a preset, one dial, and an override for everything they decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from samebits.core.config import option
from samebits.errors import ConfigError
from samebits.lm.model.arch import MOST_NGRAMS

__all__ = ["PRESETS", "LmConfig"]

# shakespeare-char is the size people compare on; tiny is for trying things out; small is an evening on a laptop.
PRESETS: dict[str, dict[str, int]] = {
    "shakespeare-char": {"layers": 4, "heads": 4, "width": 128, "block": 128, "batch": 16, "steps": 1200},
    "tiny": {"layers": 2, "heads": 2, "width": 64, "block": 32, "batch": 16, "steps": 200},
    "small": {"layers": 6, "heads": 6, "width": 192, "block": 128, "batch": 32, "steps": 3000},
}
_SHARES = (
    ("dropout", 0.0, 0.9),
    ("ngram_dropout", 0.0, 0.9),
    ("val_ratio", 0.0, 0.9),
    ("cooldown", 0.0, 1.0),
)
_POSITIVE = (
    "depth",
    "layers",
    "heads",
    "width",
    "block",
    "batch",
    "shards",
    "muon_iterations",
    "ngrams",
    "ngram_rows",
)
_FROM_ZERO = (
    "steps",
    "warmup",
    "validate_every",
    "plateau",
    "early_stop",
    "sample_every",
    "sample_tokens",
    "vocab_size",
    "save_every",
    "keep_every",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LmConfig:
    """What to train, on what, and how long."""

    inputs: tuple[str, ...] = option(
        (),
        help="text, JSON lines, CSV or Parquet files, a store of tokens build, or .bin files of nanoGPT",
        location=True,
    )
    text_column: str = option(
        "text",
        help="column that holds the text, for JSON lines, CSV and Parquet",
        location=True,  # what is read with it is in the digest of the input
    )
    preset: Literal["shakespeare-char", "tiny", "small"] = option(
        "shakespeare-char", help="sizes to start from"
    )
    depth: int | None = option(
        None, help="one dial for the size: N layers, N heads, a width of 32 N", metavar="N"
    )
    layers: int | None = option(None, help="number of blocks", metavar="N")
    heads: int | None = option(None, help="attention heads", metavar="N")
    width: int | None = option(None, help="width of the model", metavar="N", saved_as="dim")
    block: int | None = option(None, help="length of the context in tokens", metavar="N")
    kind: Literal["modern", "classic"] = option(
        "modern", help="kind of block: what learns fastest, or that of GPT-2", saved_as="model"
    )
    norm: Literal["auto", "rms", "layer"] = option("auto", help="norm of the block")
    positions: Literal["auto", "rope", "learned"] = option("auto", help="how positions are encoded")
    activation: Literal["auto", "relu2", "gelu", "swiglu"] = option("auto", help="activation of the MLP")
    qk_norm: Literal["auto", "on", "off"] = option("auto", help="normalise queries and keys")
    tied: Literal["auto", "on", "off"] = option(
        "auto", help="one matrix for input and output; auto: in the classic block"
    )
    ngrams: int | None = option(
        None, help="add embeddings of the last 2 to N tokens, up to 4; 1: none", metavar="N"
    )
    ngram_rows: int = option(8192, help="most rows of each n-gram embedding")
    ngram_dropout: float = option(0.3, help="share of the n-gram embeddings dropped in training")
    dropout: float = option(0.0, help="share of activations dropped in training")
    level: Literal["char", "byte"] = option("char", help="tokens of plain text: characters or bytes")
    vocab_size: int = option(0, help="number of ids of a .bin file; 0: the largest id plus one", metavar="N")
    val_ratio: float = option(0.1, help="share at the end of the text kept for validation")
    batch: int | None = option(None, help="windows per step", metavar="N")
    steps: int | None = option(None, help="updates to make", short="-s", metavar="N")
    shards: int = option(4, help="gradient shards per step: no run can use more workers than this")
    optimizer: Literal["auto", "muon", "adamw", "sgd"] = option(
        "auto", help="auto: muon for the modern block, adamw for the classic one"
    )
    lr: float | None = option(None, help="peak learning rate of adamw or sgd", metavar="X")
    muon_lr: float = option(0.02, help="peak learning rate of muon")
    muon_iterations: int = option(4, help="Newton-Schulz steps of muon")
    weight_decay: float = option(0.1, help="weight decay of matrices and embeddings; vectors have none")
    beta2: float = option(0.99, help="adamw's decay of the second moment")
    clip: float = option(1.0, help="largest gradient norm; 0 does not clip")
    schedule: Literal["auto", "constant", "cosine", "trapezoid"] = option(
        "auto", help="auto: trapezoid for the modern block, cosine for the classic one"
    )
    warmup: int | None = option(None, help="steps of warm-up", metavar="N")
    cooldown: float = option(0.8, help="share of the steps in which trapezoid falls to 0")
    validate_every: int | None = option(None, help="steps between validations; 0: at the end", metavar="N")
    plateau: int = option(
        0, help="halve the learning rate after this many validations without improvement; 0: never"
    )
    early_stop: int = option(0, help="stop after this many validations without improvement; 0: never")
    sample_every: int = option(0, help="steps between samples, a multiple of --validate-every; 0: at the end")
    sample_tokens: int = option(400, help="length of a sample")
    prompt: str = option("", help="text that the samples continue")
    arithmetic: Literal["portable", "torch"] = option(
        "portable", help="portable: the same bits on every CPU; torch: those of one CPU type and version"
    )
    compile: bool = option(False, help="let torch compile the step; needs --arithmetic torch")
    dtype: Literal["float32", "bfloat16"] = option(
        "float32", help="precision of the products; bfloat16 needs --arithmetic torch"
    )
    seed: int = option(1337, help="root of all randomness")
    save_every: int = option(
        0, help="save a checkpoint every N steps too; one per minute is saved anyway", metavar="N", how=True
    )
    keep_every: int = option(
        0,
        help="keep the checkpoint of every N-th step in RUN.checkpoints, for verify --replay; 0: none",
        metavar="N",
        how=True,
    )
    max_seconds: float = option(
        0.0, help="stop at a checkpoint after this many seconds; the same command continues", how=True
    )
    tensorboard: bool = option(True, help="write TensorBoard files to RUN.tb", how=True)
    allow_environment_change: bool = option(
        False, help="continue on a different CPU or version, and mark the result as not exact", override=True
    )

    def __post_init__(self) -> None:
        for names, least in ((_POSITIVE, 1), (_FROM_ZERO, 0)):
            for name in names:
                value = getattr(self, name)
                if value is not None and value < least:
                    raise _bad(name, value, f"use {least} or more")
        if self.arithmetic == "portable" and (self.compile or self.dtype != "float32"):
            asked = "--compile" if self.compile else f"--dtype {self.dtype}"
            raise ConfigError(
                f"{asked} is torch's", hint="add --arithmetic torch (needs the extra samebits[torch])"
            )
        if self.ngrams is not None and self.ngrams > MOST_NGRAMS:
            raise _bad("ngrams", self.ngrams, f"use a number from 1 to {MOST_NGRAMS}")
        for name, low, high in _SHARES:
            value = getattr(self, name)
            if not low <= value <= high:
                raise _bad(name, value, f"use a value from {low:g} to {high:g}")


def _bad(name: str, value: Any, hint: str) -> ConfigError:
    return ConfigError(f"--{name.replace('_', '-')} is {value}", hint=hint)
