"""The job ``tokens``: plan and run of ``tokens build``."""

from __future__ import annotations

from typing import Any

from samebits.core.config import config_digest
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.light_dataclass import dataclass
from samebits.core.plan import Plan
from samebits.data.artifact import ArtifactWriter
from samebits.data.inputs.corpus import open_corpus
from samebits.tokens.building import build
from samebits.tokens.config import TokensConfig
from samebits.tokens.stages import STAGES
from samebits.tokens.tokenizers.open_tokenizer import refuse_ambiguous, tokenizer_digest

__all__ = ["JOB"]


@dataclass(frozen=True, slots=True)
class TokensJob:
    """``tokens build``."""

    name: str = "tokens"
    version: int = 1
    summary: str = "turn text into memory-mapped tokens"
    Config: type[TokensConfig] = TokensConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = STAGES
    bytes_per_worker: int = 300_000_000

    def plan(self, config: TokensConfig) -> Plan:
        """Cut the corpus on its byte grid; the content of a tokenizer file counts as a setting."""
        refuse_ambiguous(config.tokenizer)
        corpus = open_corpus(
            config.inputs, format=config.input_format, cell_bytes=round(config.cell_mb * (1 << 20))
        )
        settings = digest_of([config_digest(config), tokenizer_digest(config.tokenizer)])
        return Plan(
            job=self.name,
            version=self.version,
            seed=config.seed,
            config_digest=settings,
            input_digest=corpus.digest,
            source_names=corpus.names,
            shards=corpus.shards(),
            inputs=corpus,
        )

    def run(self, plan: Plan, config: TokensConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Let workers encode, arrange and write."""
        return build(plan, config, engine, out)


JOB = TokensJob()
