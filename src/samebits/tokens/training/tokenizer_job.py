"""``tokens train-tokenizer``: learn a vocabulary and write it as ``tokenizer.json``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samebits.core.config import config_digest, option
from samebits.core.engine import Engine
from samebits.core.plan import Plan
from samebits.data.artifact import ArtifactWriter
from samebits.data.inputs.corpus import open_corpus
from samebits.errors import ConfigError
from samebits.tokens.training.learn import learn_tokenizer
from samebits.tokens.training.settings import Kind, LearnSettings

__all__ = ["TOKENIZER_JOB", "TokenizerConfig", "TokenizerJob"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerConfig:
    """What to learn."""

    inputs: tuple[str, ...] = option(
        (), help="files, folders, globs, URLs, or - for standard input", location=True
    )
    input_format: str = option("auto", help="format of the input; auto goes by the suffix", metavar="NAME")
    kind: Kind = option(  # noqa: RUF009  # the rule does not see that the alias is a Literal
        "bpe", help="byte pairs, pieces of words, words or characters", short="-k"
    )
    vocab_size: int = option(32000, help="largest vocabulary, special tokens included")
    min_count: int = option(1, help="leave out characters, words or pairs rarer than this")
    columns: tuple[str, ...] = option(("text",), help="columns that hold the text", metavar="NAME,…")
    sample_mb: int = option(100, help="bpe, wordpiece, unigram: text to learn from at most, in MB")
    seed: int = option(0, help="bpe, wordpiece, unigram: seed of the sample")

    def __post_init__(self) -> None:
        for name in ("vocab_size", "min_count", "sample_mb"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"--{name.replace('_', '-')} is {getattr(self, name)}", hint="use 1 or more"
                )


@dataclass(frozen=True, slots=True)
class TokenizerJob:
    """``tokens train-tokenizer``."""

    name: str = "tokens_train"
    version: int = 1
    summary: str = "learn a tokenizer from text"
    Config: type[TokenizerConfig] = TokenizerConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = ("learn",)
    bytes_per_worker: int = 300_000_000

    def plan(self, config: TokenizerConfig) -> Plan:
        """Cut the corpus on its byte grid."""
        corpus = open_corpus(config.inputs, format=config.input_format)
        return Plan(
            job=self.name,
            version=self.version,
            seed=config.seed,
            config_digest=config_digest(config),
            input_digest=corpus.digest,
            source_names=corpus.names,
            shards=corpus.shards(),
            inputs=corpus,
        )

    def run(self, plan: Plan, config: TokenizerConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Learn and write."""
        settings = LearnSettings(
            config.kind,
            config.vocab_size,
            config.columns,
            min_count=config.min_count,
            sample_mb=config.sample_mb,
            seed=config.seed,
        )
        tokenizer = learn_tokenizer(plan, settings, engine, out)
        out.bad_rows.check()
        out.write_bytes("tokenizer.json", tokenizer.dump())
        summary = {
            "tokenizer": tokenizer.kind,
            "vocab_size": tokenizer.vocab_size,
            "specials": tokenizer.specials._asdict(),
            "lines": {"read": out.bad_rows.num_read, "bad": out.bad_rows.num_bad},
        }
        out.write_json("summary.json", summary)
        return summary


TOKENIZER_JOB = TokenizerJob()
