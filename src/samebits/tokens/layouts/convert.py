"""``tokens convert``: another layout of a store that is there already, without the text.

Rows become packed documents without their padding; packed documents become rows, cut, dropped or taken in windows as in
a build. A task reads a range of rows of one split; the fold writes them in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from samebits.core.config import config_digest, option
from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard, ShardTable, cut
from samebits.data.artifact import ArtifactWriter, open_artifact
from samebits.data.token_store import TokenStore
from samebits.errors import ConfigError, InputError
from samebits.tokens.layouts.interface import Batch, Extras, StoreShape
from samebits.tokens.layouts.packed import EXPORTS
from samebits.tokens.layouts.rows import DEFAULT_LENGTH
from samebits.tokens.layouts.table import LAYOUTS, LayoutName
from samebits.tokens.long_rows import fit_rows

__all__ = ["CONVERT_JOB", "ConvertConfig", "ConvertJob"]

CELL_ROWS = 50_000
STORE_JOB = "tokens"  # the job that TokenStore expects of an artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertConfig:
    """What to convert to."""

    inputs: tuple[str, ...] = option((), help="the store: a folder that tokens build wrote", location=True)
    layout: LayoutName = option(  # noqa: RUF009  # the rule does not see that the alias is a Literal
        "packed", help="layout of the new store"
    )
    max_length: int = option(DEFAULT_LENGTH, help="rows: tokens of an input row")
    truncate: Literal["cut", "drop", "window"] = option("cut", help="rows: what happens to longer documents")
    stride: int | None = option(None, help="rows: tokens from one window to the next", metavar="N")
    materialize: bool = option(
        False, help="rows: also write input_ids, target_ids and attention_mask as plain arrays"
    )
    export: tuple[str, ...] = option(
        (), help="packed: make the files readable by nanogpt, megatron or both", metavar="NAME,…"
    )

    def __post_init__(self) -> None:
        if len(self.inputs) != 1:
            raise ConfigError(f"{len(self.inputs)} stores were given", hint="name one store")
        if self.max_length < 1 or (self.stride is not None and self.stride < 1):
            raise ConfigError("--max-length and --stride must be 1 or more")
        for name in self.export:
            if name not in EXPORTS:
                raise ConfigError(f"--export has {name!r}", hint="known: " + ", ".join(EXPORTS))


class FittedPart(NamedTuple):
    """A range of rows as one stream, and how many of them were cut."""

    ids: NDArray[Any]
    lengths: NDArray[np.int64]
    source: NDArray[Any]
    prompts: NDArray[np.int64]
    num_cut: int


@dataclass(frozen=True, slots=True)
class ConvertShard:
    """Read a range of rows and fit them."""

    part_type: ClassVar = FittedPart
    width: int | None
    policy: str
    step: int

    def __call__(self, shard: Shard, state: tuple[TokenStore, ...], /) -> FittedPart:
        """Return rows as one stream with lengths."""
        store = state[shard.source]
        lengths = store.lengths[shard.start : shard.stop]
        ids = LAYOUTS[store.layout].stored_ids(store, shard.start, shard.stop)
        fitted = fit_rows(ids, lengths, width=self.width, policy=self.policy, step=self.step)
        rows = fitted.rows + shard.start
        prompts = np.zeros(len(rows), np.int64) if store.prompts is None else store.prompts[rows]
        shown = np.clip(prompts.astype(np.int64) - fitted.starts, 0, fitted.lengths)
        source = np.asarray(store.source[rows])
        return FittedPart(fitted.ids, fitted.lengths, source, shown, len(fitted.cut))


@dataclass(frozen=True, slots=True)
class ConvertJob:
    """``tokens convert``. The result is a store like any other, so its plan bears the name of the build."""

    name: str = "tokens_convert"
    version: int = 1
    summary: str = "convert a token store to another layout"
    Config: type[ConvertConfig] = ConvertConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = ("convert",)
    bytes_per_worker: int = 300_000_000

    def plan(self, config: ConvertConfig) -> Plan:
        """Cut every split into ranges of rows."""
        folder = config.inputs[0]
        artifact = open_artifact(folder, job="tokens", check="full")
        stores = tuple(TokenStore.open(folder, split) for split in artifact.json("store.json")["splits"])
        shards: ShardTable = cut([len(store) for store in stores], CELL_ROWS)
        names = tuple(store.split for store in stores)
        return Plan(
            job=STORE_JOB,
            version=self.version,
            seed=0,
            config_digest=config_digest(config),
            input_digest=artifact.digest,
            source_names=names,
            shards=shards,
            inputs=stores,
        )

    def run(self, plan: Plan, config: ConvertConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Write the new store."""
        stores: tuple[TokenStore, ...] = plan.inputs
        about = dict(stores[0].about)
        if "nanogpt" in config.export and about["dtype"] != "<u2":
            raise ConfigError("nanoGPT reads 16-bit ids", hint="build the store with --export nanogpt")
        layout = LAYOUTS[config.layout]
        is_cut = layout.default_length is not None
        width = config.max_length + layout.targets if is_cut else None
        task = ConvertShard(width, config.truncate, config.stride or config.max_length)
        writers = [layout.writer(out.path, store.split, _shape(store, width)) for store in stores]
        num_cut = 0
        for shard, part in engine.map_ordered("convert", task, plan.shards, state=stores, unit="rows"):
            batch = Batch(part.ids, part.lengths, part.source, part.prompts)
            writers[shard.source].append(batch)
            num_cut += part.num_cut
        for store, writer in zip(stores, writers, strict=True):
            writer.close()
            extras = Extras(config.export, config.materialize)
            layout.extras(out.path, store.split, _shape(store, width), extras)
        about |= {
            "layout": config.layout,
            "length": config.max_length if is_cut else None,
            "rows_cut": about["rows_cut"] + num_cut,
            "splits": {
                store.split: {"rows": writer.num_rows, "tokens": writer.num_tokens}
                for store, writer in zip(stores, writers, strict=True)
            },
        }
        if not sum(writer.num_rows for writer in writers):
            raise InputError("no rows are left", path=str(stores[0].folder), hint="use a larger --max-length")
        out.write_json("store.json", about)
        out.write_bytes("tokenizer.json", (stores[0].folder / "tokenizer.json").read_bytes())
        return about


def _shape(store: TokenStore, width: int | None) -> StoreShape:
    """What the new files of a split have in common."""
    about = store.about
    return StoreShape(about["dtype"], width, about["specials"]["pad"], bool(about["prompts"]))


CONVERT_JOB = ConvertJob()
