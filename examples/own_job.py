"""A job of your own: the longest line of a corpus, found by shards and folded in shard order.

It is run by ``samebits.run`` like the jobs of the package, so it has a journal, a manifest and a digest.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import samebits
from samebits.core.config import config_digest, option
from samebits.data.artifact import ArtifactWriter
from samebits.data.inputs.corpus import Corpus, open_corpus
from samebits.data.readers.rows import iter_rows


@dataclass(frozen=True, slots=True, kw_only=True)
class LongestConfig:
    """What to look at."""

    inputs: tuple[str, ...] = option((), help="files to read", location=True)


@dataclass(frozen=True, slots=True)
class LongestLine:
    """The task: the longest line of one shard; the first of several."""

    def __call__(self, shard: samebits.Shard, state: Corpus, /) -> str:
        """Return the part."""
        rows = (text for block in iter_rows(state, shard) for text in block.columns["text"].texts())
        return max(rows, key=len, default="")


@dataclass(frozen=True, slots=True)
class LongestJob:
    """Ties the pieces together."""

    name: str = "longest"
    version: int = 1
    summary: str = "the longest line of a corpus"
    Config: type[LongestConfig] = LongestConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = ("read",)
    bytes_per_worker: int = 0

    def plan(self, config: LongestConfig) -> samebits.Plan:
        """Cut the corpus into small shards; 1000 bytes so that a small text has several."""
        corpus = open_corpus(config.inputs, cell_bytes=1000)
        return samebits.Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=corpus.digest,
            source_names=corpus.names,
            shards=corpus.shards(),
            inputs=corpus,
        )

    def run(
        self, plan: samebits.Plan, config: LongestConfig, engine: samebits.Engine, out: ArtifactWriter
    ) -> dict[str, Any]:
        """Fold the parts in shard order and write the artifact."""
        longest = ""
        for _, line in engine.map_ordered(
            "read", LongestLine(), plan.shards, state=plan.inputs, unit="bytes"
        ):
            longest = max(longest, line, key=len)  # equal lengths keep the earlier shard's line
        out.write_json("longest.json", longest)
        return {"longest": longest}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        text = Path(scratch) / "text.txt"
        text.write_text("".join(f"{'word ' * (i * 7 % 50)}{i}\n" for i in range(500)), encoding="utf-8")
        config = LongestConfig(inputs=(str(text),))
        for workers in ("1", "4"):
            options = samebits.RunOptions(workers=workers)
            record = samebits.run(LongestJob(), config, output=Path(scratch) / workers, options=options)
            print(record.artifact_digest[:16], record.workers, "workers", record.metrics["longest"][-20:])
