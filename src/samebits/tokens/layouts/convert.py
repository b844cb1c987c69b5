"""``tokens convert``: another layout of a store that is there already, without the text.

Rows become packed documents without their padding; packed documents become rows, cut, dropped or taken in windows as in
a build. A task reads a range of rows of one split and keeps them; then workers write the files, each its own blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from samebits.core.config import config_digest, option
from samebits.core.engine import Engine
from samebits.core.plan import Plan, Shard, ShardTable, cut
from samebits.data.artifact import ArtifactWriter, open_artifact
from samebits.data.folding.output_file import write_outputs
from samebits.data.folding.piece_files import Index
from samebits.data.folding.tree import Folding, folding
from samebits.data.token_store import TokenStore
from samebits.errors import ConfigError, InputError
from samebits.tokens.keeping.kept_rows import Group, RowTable, group_pieces
from samebits.tokens.layouts.interface import Extras, split_files
from samebits.tokens.layouts.packed import EXPORTS
from samebits.tokens.layouts.rows import DEFAULT_LENGTH
from samebits.tokens.layouts.store_file import StoreShape
from samebits.tokens.layouts.table import LAYOUTS, LayoutName
from samebits.tokens.long_rows import fit_rows

__all__ = ["CONVERT_JOB", "ConvertConfig", "ConvertJob"]

CELL_ROWS = 50_000
WRITE = "write"  # a stage
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


@dataclass(frozen=True, slots=True)
class ConvertRows:
    """Read a range of rows and fit them; tells how many rows, ids and cut rows there are."""

    width: int | None
    policy: str
    step: int

    def count(self, shards: Sequence[Shard], state: tuple[TokenStore, ...], /) -> tuple[list[Any], list[Any]]:
        """Return the rows of one shard as a group."""
        (shard,) = shards
        store = state[shard.source]
        lengths = store.lengths[shard.start : shard.stop]
        ids = LAYOUTS[store.layout].stored_ids(store, shard.start, shard.stop)
        fitted = fit_rows(ids, lengths, width=self.width, policy=self.policy, step=self.step)
        rows = fitted.rows + shard.start
        prompts = np.zeros(len(rows), np.int64) if store.prompts is None else store.prompts[rows]
        shown = np.clip(prompts.astype(np.int64) - fitted.starts, 0, fitted.lengths)
        told = [[len(rows), len(fitted.ids), len(fitted.cut)]]
        return told, group_pieces(fitted.lengths, store.source[rows], shown, [fitted.ids])


@dataclass(frozen=True, slots=True)
class ConvertJob:
    """``tokens convert``. The result is a store like any other, so its plan bears the name of the build."""

    name: str = "tokens_convert"
    version: int = 1
    summary: str = "convert a token store to another layout"
    Config: type[ConvertConfig] = ConvertConfig
    default_executor: str = "threads"
    stages: tuple[str, ...] = ("convert", WRITE)
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
        node = ConvertRows(width, config.truncate, config.stride or config.max_length)
        told: list[list[int]] = []
        with folding(engine, plan.digest) as workers:
            tables = workers.run_rows(
                "convert",
                node,
                plan.shards,
                lambda shard, numbers: told.append(numbers),
                state=stores,
                unit="rows",
                then=lambda found: _write(workers, out, plan, config, width, (told, found)),
                starts=np.arange(len(plan.shards)),
            )
        about |= {
            "layout": config.layout,
            "length": config.max_length if is_cut else None,
            "rows_cut": about["rows_cut"] + sum(num_cut for *_, num_cut in told),
            "splits": {
                split: {"rows": table.num_rows, "tokens": table.num_tokens} for split, table in tables.items()
            },
        }
        out.write_json("store.json", about)
        out.write_bytes("tokenizer.json", (stores[0].folder / "tokenizer.json").read_bytes())
        return about


def _write(
    workers: Folding,
    out: ArtifactWriter,
    plan: Plan,
    config: ConvertConfig,
    width: int | None,
    kept: tuple[list[list[int]], list[Index]],
) -> dict[str, RowTable]:
    """Let workers write the files of all splits; return where the rows of each were."""
    stores: tuple[TokenStore, ...] = plan.inputs
    groups: list[list[Group]] = [[] for _ in stores]
    sizes: list[list[list[int]]] = [[] for _ in stores]
    for shard, numbers, index in zip(plan.shards, *kept, strict=True):
        groups[shard.source].append(Group(index, 0, len(index.sizes)))
        sizes[shard.source].append(numbers[:2])
    tables = {
        store.split: RowTable.of(groups[i], sizes[i], [0] * len(groups[i])) for i, store in enumerate(stores)
    }
    if not sum(table.num_rows for table in tables.values()):
        raise InputError("no rows are left", path=str(stores[0].folder), hint="use a larger --max-length")
    layout, extras = LAYOUTS[config.layout], Extras(config.export, config.materialize)
    files = {
        name: file
        for store in stores
        for name, file in split_files(
            layout, store.split, tables[store.split], _shape(store, width), extras
        ).items()
    }
    write_outputs(workers, out, WRITE, files)
    return tables


def _shape(store: TokenStore, width: int | None) -> StoreShape:
    """What the new files of a split have in common."""
    about = store.about
    return StoreShape(about["dtype"], width, about["specials"]["pad"], bool(about["prompts"]))


CONVERT_JOB = ConvertJob()
