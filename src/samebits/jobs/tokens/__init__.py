"""Any data set to memory-mapped tokens: byte-identical for any number of workers, resumable, read by others.

``config`` what to build, ``template`` what a row consists of, ``vocab`` and ``bpe`` the tokenizers, ``learn`` their
training, ``encode`` the task, ``build`` the fold, ``writers`` the files, ``estimate`` what it will take. Reading a
store needs none of this: ``samebits.data.token_store``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from samebits.core.config import config_digest
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.plan import Plan
from samebits.data.artifact import ArtifactWriter
from samebits.data.corpus import open_corpus
from samebits.jobs.tokens.build import build
from samebits.jobs.tokens.config import TokensConfig
from samebits.jobs.tokens.convert import CONVERT_JOB, ConvertConfig
from samebits.jobs.tokens.open_tokenizer import tokenizer_digest
from samebits.jobs.tokens.tokenizer_job import TOKENIZER_JOB, TokenizerConfig

__all__ = ["CONVERT_JOB", "JOB", "TOKENIZER_JOB", "ConvertConfig", "TokenizerConfig", "TokensConfig"]


@dataclass(frozen=True, slots=True)
class TokensJob:
    """``tokens build``."""

    name: str = "tokens"
    version: int = 1
    summary: str = "turn text into memory-mapped tokens"
    Config: type[TokensConfig] = TokensConfig
    default_executor: str = "threads"
    bytes_per_worker: int = 300_000_000

    def plan(self, config: TokensConfig) -> Plan:
        """Cut the corpus on its byte grid; the content of a tokenizer file counts as a setting."""
        corpus = open_corpus(
            config.inputs, format=config.input_format, cell_bytes=round(config.cell_mb * (1 << 20))
        )
        settings = digest_of([config_digest(config), tokenizer_digest(config.tokenizer)])
        return Plan(
            self.name,
            self.version,
            config.seed,
            settings,
            corpus.digest,
            corpus.names,
            corpus.shards(),
            corpus,
        )

    def run(self, plan: Plan, config: TokensConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Encode every shard, fold in shard order, write the store."""
        return build(plan, config, engine, out)


JOB = TokensJob()
