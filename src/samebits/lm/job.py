"""The job: open the tokens, train in lockstep, write weights, logs, a drawing and samples."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samebits.core.config import config_digest
from samebits.core.engine import Engine
from samebits.core.observing import clock
from samebits.core.plan import Plan, ShardTable
from samebits.data.artifact import ArtifactWriter
from samebits.data.inputs.cache import cache_folder
from samebits.data.journal import kept_folder
from samebits.data.readers.missing_columns import column_flags, missing_columns_named
from samebits.errors import ConfigError, Interrupted, MissingExtra
from samebits.lm.config import LmConfig
from samebits.lm.run_settings import RunSettings, resolve
from samebits.lm.text.sources import TokenSource, open_source
from samebits.lm.training.batches import check_lengths
from samebits.lockstep.problem.config import Every

if TYPE_CHECKING:
    from samebits.lm.training.objective import LmObjective
    from samebits.lockstep.parent.train import FitResult

__all__ = ["JOB", "LmJob", "prepare"]

FORMAT = "samebits.lm.v1"


def need_torch(config: LmConfig) -> None:
    """Refuse early, with the line to type, where ``--arithmetic torch`` is asked for and torch is not installed.

    Raises:
        MissingExtra: names the extra.
    """
    from importlib.util import find_spec

    if config.arithmetic == "torch" and find_spec("torch") is None:
        raise MissingExtra("torch", extra="torch", needed_for="samebits lm train --arithmetic torch")


def prepare(config: LmConfig) -> tuple[TokenSource, RunSettings]:
    """Open the data, fill in all settings, and refuse what cannot be trained before any process starts.

    Raises:
        ConfigError: for settings that do not fit together.
        InputError: for data that cannot be used.
    """
    need_torch(config)
    if not config.inputs:
        raise ConfigError("no input", hint="give a text, a token store or .bin files")
    with missing_columns_named(column_flags(config)):
        source = open_source(
            config.inputs,
            level=config.level,
            val_ratio=config.val_ratio,
            vocab_size=config.vocab_size,
            text_column=config.text_column,
        )
    recipe = resolve(config, source.vocabulary.size)
    tokens = source.load()
    check_lengths(source, tokens, block=recipe.arch.block, need_val=config.val_ratio > 0)
    return source, recipe


@dataclass(frozen=True, slots=True)
class LmJob:
    """Ties the pieces together."""

    name: str = "lm"
    version: int = 1
    summary: str = "train a small GPT with the same weights for any number of workers"
    Config: type[LmConfig] = LmConfig
    default_executor: str = "lockstep"
    stages: tuple[str, ...] = ()
    bytes_per_worker: int = 120_000_000  # Python, NumPy and the buffers of the preset
    floating: bool = True

    def plan(self, config: LmConfig) -> Plan:
        """Cut a step into gradient shards: as many as the settings say, each a range of the batch's rows."""
        source, recipe = prepare(config)
        starts = [g * recipe.rows for g in range(recipe.fit.shards)]
        shards = ShardTable.from_ranges(
            source=[0] * len(starts), start=starts, stop=[start + recipe.rows for start in starts]
        )
        names, digest = source.names[:1] or ("data",), config_digest(config)
        return Plan(
            job=self.name,
            version=self.version,
            seed=config.seed,
            config_digest=digest,
            input_digest=source.digest,
            source_names=names,
            shards=shards,
            inputs=(source, recipe),
        )

    def run(self, plan: Plan, config: LmConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Train and write the artifact."""
        from samebits.lockstep.logs.told import TrainingTold
        from samebits.lockstep.parent.train import train

        source, recipe = plan.inputs
        folder = engine.scratch(out.output)
        started = clock.seconds()
        tensorboard = out.output.with_name(out.output.name + ".tb") if config.tensorboard else None
        told = TrainingTold(
            engine.observer, unit="tokens", units_per_step=recipe.tokens_per_step, tensorboard=tensorboard
        )
        try:
            result = train(
                _objective(config, source, recipe, folder),
                recipe.fit,
                place=engine.place,
                every=Every(
                    steps=config.save_every, keep_every=config.keep_every, kept=kept_folder(out.output)
                ),
                observer=told,
                allow_environment_change=config.allow_environment_change,
                stop=(lambda: clock.seconds() - started > config.max_seconds) if config.max_seconds else None,
            )
        finally:
            told.close()
        if not result.finished:
            raise Interrupted(
                f"stopped after {config.max_seconds:g} s at step {result.steps_done} of {recipe.fit.steps}",
                hint="the same command continues",
            )
        metrics = _write(config, source, recipe, result, folder, out)
        shutil.rmtree(folder, ignore_errors=True)
        return {**metrics, "memory": dict(result.memory), "fingerprint": dict(result.fingerprint)}


def _objective(config: LmConfig, source: TokenSource, recipe: RunSettings, folder: Path) -> LmObjective:
    from samebits.lm.training.objective import LmObjective
    from samebits.lm.training.samples import Samples

    samples = None
    if config.sample_every:
        samples = Samples(
            str(folder),
            config.sample_every,
            source.vocabulary,
            config.prompt,
            config.sample_tokens,
            config.seed,
        )
    return LmObjective(
        recipe, source, cache=_compiled_code(config) if config.compile else "", samples=samples
    )


def _compiled_code(config: LmConfig) -> str:
    """Return the folder where torch keeps what it compiles for these settings."""
    return str(cache_folder() / "compiled" / config_digest(config)[:32])


def _write(
    config: LmConfig,
    source: TokenSource,
    recipe: RunSettings,
    result: FitResult,
    folder: Path,
    out: ArtifactWriter,
) -> dict[str, Any]:
    from samebits.lockstep.logs.run_files import write_training

    write_training(out, result)
    out.write_json("vocab.json", source.vocabulary.as_dict())
    if source.tokenizer:
        out.write_bytes("tokenizer.json", source.tokenizer)
    summary = _summary(recipe, source, result)
    out.write_json("config.json", {"format": FORMAT, **summary, "recipe": recipe.as_dict()})
    _write_samples(config, source, recipe, result.params, folder, out)
    return summary


def _summary(recipe: RunSettings, source: TokenSource, result: FitResult) -> dict[str, Any]:
    last = result.validations[-1][1] if result.validations else None
    return {
        "architecture": asdict(recipe.arch),
        "parameters": recipe.arch.num_parameters,
        "steps": result.steps_done,
        "tokens_seen": result.steps_done * recipe.tokens_per_step,
        "bytes_per_token": source.bytes_per_token,
        "val_ratio": source.val_ratio,
        "train_loss": float(result.losses[-1]) if len(result.losses) else None,
        "val_loss": last,
        "bits_per_byte": bits_per_byte(last, source.bytes_per_token) if last is not None else None,
        "state_digest": result.digest,
        "exact": result.exact,
        "arithmetic": recipe.arithmetic,
        "compute": result.compute,
        "dtype": recipe.dtype,
    }


def bits_per_byte(loss: float, bytes_per_token: float) -> float | None:
    """Return a loss in nats per token as bits per byte of text, which compares models with different tokens."""
    from samebits.arithmetic.functions import log

    return loss / log(2.0) / bytes_per_token if bytes_per_token else None


def _write_samples(
    config: LmConfig,
    source: TokenSource,
    recipe: RunSettings,
    params: Mapping[str, Any],
    folder: Path,
    out: ArtifactWriter,
) -> None:
    """Take the samples of the run into the artifact, and the last one."""
    from samebits.lm.training.samples import sample_text

    for path in sorted(folder.glob("step-*.txt")):
        out.write_bytes(f"samples/{path.name}", path.read_bytes())
    text = sample_text(
        recipe.arch, params, source.vocabulary, config.prompt, config.sample_tokens, config.seed
    )
    out.write_bytes("samples/final.txt", text.encode())


JOB = LmJob()
