"""``tokens build``: workers encode, arrange and write; the driver knows numbers alone.

A task cannot know how many lines came before its own. The driver does, when all are encoded: so it numbers rows over all files and applies
``--limit``, and then lets workers split rows, put them in order (``arrange``) and write the files, each its own blocks
(``layouts``, ``data.folding.output_file``).

On few threads of one process, ids whose order is that of the input are written while later ones are being made (``growing_file``).
"""

from __future__ import annotations

from array import array
from contextlib import closing
from typing import Any

import numpy as np

from samebits.core.engine import Engine
from samebits.core.observing.events import Metric, Observer, Warned
from samebits.core.plan import Plan, Shard
from samebits.core.seeds import key_for
from samebits.data.artifact import ArtifactWriter
from samebits.data.folding.growing_file import MOST_WORKERS, GrowingFile
from samebits.data.folding.held_pieces import begin_holding, end_holding
from samebits.data.folding.output_file import write_outputs
from samebits.data.folding.piece_files import Index
from samebits.data.folding.shape import row_starts
from samebits.data.folding.tree import CountNode, Folding, folding
from samebits.errors import InputError
from samebits.tokens.config import TokensConfig, store_dtype
from samebits.tokens.encode import EncodeShard, EncodeState, piece_codes
from samebits.tokens.encoders.interface import SpecialTokens
from samebits.tokens.estimate import estimate
from samebits.tokens.keeping.encode_node import EncodedShard, EncodeShards
from samebits.tokens.keeping.kept_rows import IDS, Group, RowTable
from samebits.tokens.layouts.interface import split_files
from samebits.tokens.layouts.store_file import STORE_FORMAT, Ids, StoreShape
from samebits.tokens.layouts.table import LAYOUTS
from samebits.tokens.stages import ENCODE, LIMIT, WRITE
from samebits.tokens.tokenizers.open_tokenizer import LEARNED, built_in, open_tokenizer
from samebits.tokens.tokenizers.vocab import Tokenizer

__all__ = ["build"]

COUNTERS = ("num_lines", "num_dropped", "num_cut", "num_unknown", "text_bytes")
NUM_SIZES = 4  # of each run of shards: number of the first, rows, ids, lines
ALL_BITS = (1 << 64) - 1


def build(plan: Plan, config: TokensConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
    """Write a store; return its description and which encoder was used."""
    tokenizer = _tokenizer(plan, config, engine)
    state = EncodeState(plan.inputs, tokenizer, config.parsed_template())
    piece_codes(state.template, tokenizer)  # a missing special token is a mistake to report now
    dtype = store_dtype(config, tokenizer).str
    guess = estimate(plan, config, state, dtype)
    engine.observer(Warned(guess.sentence()))
    guess.check(out.output.absolute().parent)
    task = EncodeShard(
        dtype,
        config.width,
        config.truncate,
        config.stride or config.length or 1,
        config.batch_size,
        config.max_line_bytes,
        tokenizer.special_names if config.special_tokens == "error" else (),
    )
    with (
        folding(engine, plan.digest) as workers,
        closing(_Store(plan, config, state, task, workers, out, engine.observer)) as store,
    ):
        tables = workers.run_rows(
            ENCODE,
            store.node,
            plan.shards,
            store.take,
            state=state,
            unit="bytes",
            then=store.write,
            starts=store.starts,
            full=lambda: store.is_full,
            kept=store.keep,
        )
    about = store.about(tables)
    out.write_json("store.json", about)
    out.write_bytes("tokenizer.json", tokenizer.dump())
    return {**about, "encoder": tokenizer.note, "estimate": guess.sentence()}


def _tokenizer(plan: Plan, config: TokensConfig, engine: Engine) -> Tokenizer:
    kind = built_in(config.tokenizer)
    special_tokens: SpecialTokens = "ids" if config.special_tokens == "ids" else "text"
    if kind not in LEARNED:
        memory = config.memory_mb * 1_000_000 * engine.tasks_in_memory
        return open_tokenizer(config.tokenizer, memory_bytes=memory, special_tokens=special_tokens)
    from samebits.tokens.training.learn import learn_tokenizer  # most builds learn nothing
    from samebits.tokens.training.settings import LearnSettings

    columns = config.parsed_template().columns
    settings = LearnSettings(
        kind,  # type: ignore[arg-type]  # one of LEARNED
        config.vocab_size,
        columns,
        seed=config.seed,
        max_line_bytes=config.max_line_bytes,
        special_tokens=special_tokens,
    )
    return learn_tokenizer(plan, settings, engine, None)


class _Store:
    """Takes in what workers tell, in shard order, and lets them write.

    State: ``line_base`` lines before this shard in its own file; ``num_used`` usable rows so far; ``sizes`` number, rows, ids and lines of each run of
    shards, one after the other; ``counts`` what became of lines; ``last`` the shard in which ``--limit`` is reached, which is encoded again for ``left`` rows;
    ``growing`` the file of ids that is written meanwhile, if there is one.
    """

    def __init__(
        self,
        plan: Plan,
        config: TokensConfig,
        state: EncodeState,
        encode: EncodeShard,
        workers: Folding,
        out: ArtifactWriter,
        observer: Observer,
    ) -> None:
        self.plan, self.config, self.state, self.encode = plan, config, state, encode
        self.workers, self.out, self.observer = workers, out, observer
        self.node = EncodeShards(encode, state.tokenizer.specials.unk)
        shards = plan.shards
        self.starts = row_starts(shards) if config.limit is None else np.arange(len(shards), dtype=np.int64)
        self.shape = StoreShape(
            encode.dtype, config.width, state.tokenizer.specials.pad, state.template.has_prompt
        )
        self.line_base = 0
        self.source = -1
        self.num_used = 0
        self.num_tokens = 0
        self.sizes = array("q")
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.last: Shard | None = None
        self.left = 0
        self.growing = self._growing() if 0 < workers.num_here <= MOST_WORKERS else None
        if self.growing is not None:
            begin_holding(workers.folder.path, IDS)

    def _growing(self) -> GrowingFile | None:
        """Return the file that holds the ids of all rows as they come and nothing else, if the layout has one."""
        config = self.config
        if config.shuffle or len(config.splits) > 1 or config.limit is not None:
            return None
        files = LAYOUTS[config.layout].files(0, self.shape, config.extras)
        names = [name for name, sections in files.items() if sections == (Ids(),)]
        return GrowingFile(self.out, f"train.{names[0]}") if names else None

    def keep(self, number: int, file: Index) -> None:
        """Say how far it is, and write the ids of a node behind those of the nodes before it, unless they are there."""
        self.observer(Metric("tokens", self.num_tokens))
        if self.growing is None:
            return
        for piece in range(IDS, len(file.sizes)):
            if not self.growing.holds((number, piece)):
                self.growing.add((number, piece), self.workers.folder.take_bytes(file, piece))

    def close(self) -> None:
        """Let go of the file that is written meanwhile."""
        end_holding(self.workers.folder.path)
        if self.growing is not None:
            self.growing.close()

    @property
    def is_full(self) -> bool:
        """Whether ``--limit`` is reached."""
        return self.last is not None

    def take(self, shard: Shard, told: Any) -> None:
        """Take in one shard; that in which the limit is reached is not known yet."""
        found = EncodedShard(*told)
        limit = self.config.limit
        if limit is not None and self.num_used + found.num_used >= limit:
            self.last, self.left = shard, limit - self.num_used
        else:
            self.add(shard, found)

    def add(self, shard: Shard, told: EncodedShard) -> None:
        """Count a shard, or refuse what it holds."""
        self.line_base = self.line_base if shard.source == self.source else 0
        self.source = shard.source
        self._refuse_long(shard, told)
        self._refuse_special(shard, told)
        self.out.bad_rows.take(self.plan, shard, told.bad, num_lines=told.num_lines)
        self.sizes.extend((shard.index, told.num_rows, told.num_tokens, told.num_lines))
        for name in COUNTERS:
            self.counts[name] += getattr(told, name)
        self.line_base += told.num_lines
        self.num_used += told.num_used
        self.num_tokens += told.num_tokens

    def write(self, found: list[Index]) -> dict[str, RowTable]:
        """Let workers arrange and write the rows they keep; return where those of each split were."""
        if self.last is not None:
            found = [*found[:-1], self._limited(self.last)]
        self.out.bad_rows.check()
        if not self.num_used:
            raise InputError(
                "no usable rows", path=", ".join(self.plan.source_names[:3]), hint="see the bad rows"
            )
        tables = self._arranged(self._table(found))
        layout, extras = LAYOUTS[self.config.layout], self.config.extras
        files = {
            name: file
            for split, table in tables.items()
            for name, file in split_files(layout, split, table, self.shape, extras).items()
        }
        if self.growing is not None:
            self.growing.finish()
            del files[self.growing.name]
        write_outputs(self.workers, self.out, WRITE, files)
        return tables

    def _limited(self, last: Shard) -> Index:
        """Encode the shard in which the limit is reached again, up to there."""
        node = EncodeShards(self.encode, self.node.unknown, self.left)
        task = CountNode(self.workers.folder, node, LIMIT)
        state = (self.plan.shards, self.starts, self.state)
        ((_, part),) = self.workers.map(LIMIT, task, [last], state, unit="bytes")
        if len(self.sizes) == NUM_SIZES * last.index:  # else this is a second try, after a part was lost
            self.add(last, EncodedShard(*part.told[1][0]))
        file: Index = part.pieces
        return file

    def _table(self, found: list[Index]) -> RowTable:
        """Number rows over all files."""
        numbers = np.array(self.sizes, np.int64).reshape(-1, NUM_SIZES)
        # runs of shards end where nodes do
        firsts = np.searchsorted(numbers[:, 0], self.starts[: len(found)])
        sums = np.add.reduceat(numbers[:, 1:], firsts)
        lines = np.cumsum(sums[:, 2]) - sums[:, 2]
        groups = [Group(index, 0, len(index.sizes)) for index in found]
        return RowTable.of(groups, sums[:, :2].tolist(), lines.tolist())

    def _arranged(self, table: RowTable) -> dict[str, RowTable]:
        config, dtype = self.config, self.encode.dtype
        tables = {"train": table}
        if len(config.splits) == 1 and not config.shuffle:
            return tables
        from samebits.tokens.keeping.arrange import shuffle_rows, split_rows

        if len(config.splits) > 1:
            tables = split_rows(
                self.workers, table, seed=config.seed, val_ratio=config.val_ratio, dtype=dtype
            )
        if not config.shuffle:
            return tables
        keys = {split: key_for(config.seed, "tokens", "shuffle", split) & ALL_BITS for split in tables}
        return {
            split: shuffle_rows(self.workers, rows, split, key=keys[split], dtype=dtype)
            for split, rows in tables.items()
        }

    def _refuse_long(self, shard: Shard, told: EncodedShard) -> None:
        if not told.first_long or told.first_long[0] >= told.num_lines:
            return
        line, offset, length = told.first_long
        raise InputError(
            f"a row of {length} tokens is longer than {self.config.width}",
            path=self.plan.source_names[shard.source],
            line=self.line_base + line + 1,
            offset=offset,
            hint="use --truncate cut, drop or window, or a larger --max-length",
        )

    def _refuse_special(self, shard: Shard, told: EncodedShard) -> None:
        if not told.first_special or told.first_special[0] >= told.num_lines:
            return
        line, offset, name = told.first_special
        raise InputError(
            f"a text contains the special token {name}",
            path=self.plan.source_names[shard.source],
            line=self.line_base + line + 1,
            offset=offset,
            hint="use --special-tokens text to keep it as text, or ids to make it the token",
        )

    def about(self, tables: dict[str, RowTable]) -> dict[str, Any]:
        """Return the description of the store."""
        read, dropped, bad = self.counts["num_lines"], self.counts["num_dropped"], self.out.bad_rows.num_bad
        tokenizer = self.state.tokenizer
        return {
            "format": STORE_FORMAT,
            "layout": self.config.layout,
            "dtype": self.shape.dtype,
            "tokenizer": tokenizer.kind,
            "vocab_size": tokenizer.vocab_size,
            "specials": tokenizer.specials._asdict(),
            "length": self.config.length,
            "prompts": self.shape.prompts,
            "splits": {
                split: {"rows": table.num_rows, "tokens": table.num_tokens} for split, table in tables.items()
            },
            "lines": {
                "read": read,
                "blank": read - self.num_used - dropped - bad,
                "dropped": dropped,
                "used": self.num_used,
                "bad": bad,
            },
            "rows_cut": self.counts["num_cut"],
            "unknown_tokens": self.counts["num_unknown"],
            "text_bytes": self.counts["text_bytes"],
        }
