"""``graph train``: read examples, learn names and structure, train in lockstep, write model, logs and drawing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samebits.core.config import config_digest
from samebits.core.digest import digest_of
from samebits.core.engine import Engine
from samebits.core.observing.events import Warned
from samebits.core.plan import Plan, ShardTable
from samebits.data.artifact import ArtifactWriter
from samebits.data.inputs.corpus import Corpus
from samebits.data.journal import kept_folder
from samebits.errors import ConfigError, InputError
from samebits.graph.config import TrainConfig
from samebits.graph.parser.batches import Forms, GraphBatches, collate, encode
from samebits.graph.parser.lexicon import Lexicon, learn_lexicon
from samebits.graph.parser.model import Parser, ParserSizes
from samebits.graph.parser.samples import ReadShard, Sample, is_conllu, open_samples, samples_of
from samebits.lockstep.problem.config import Every
from samebits.lockstep.problem.network_objective import NetworkObjective

if TYPE_CHECKING:
    from samebits.lockstep.parent.train import FitResult

__all__ = ["JOB", "TrainJob", "find_files", "make_objective"]

FORMAT = "samebits.graph.v2"
HELD_OUT = 50  # of 1,000 texts, by digest, when no validation file is given
VALIDATION_BATCH = 64


@dataclass(frozen=True, slots=True)
class TrainInputs:
    """What a plan opened: all files, of which the first ``num_train`` are for training."""

    corpus: Corpus
    num_train: int
    conllu: bool

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences for the user."""
        return tuple(note for note in self.corpus.notes if "cannot be cut" not in note)


def find_files(config: TrainConfig) -> tuple[list[str], list[str]]:
    """Return the files to train and to validate on; a folder of ``graph generate`` has both."""
    if not config.inputs:
        raise ConfigError("no input", hint="give JSON lines, CoNLL-U or a folder of graph generate")
    train, valid = list(config.inputs), [config.valid] if config.valid else []
    if len(train) == 1 and Path(train[0]).is_dir():
        for suffix in (".jsonl", ".conllu"):
            inside = {name: Path(train[0]) / (name + suffix) for name in ("train", "valid")}
            if inside["train"].is_file():
                if not valid and inside["valid"].is_file() and inside["valid"].stat().st_size:
                    valid = [str(inside["valid"])]
                return [str(inside["train"])], valid
        raise InputError(
            "no train.jsonl or train.conllu in this folder", path=train[0], hint="name the files"
        )
    return train, valid


@dataclass(frozen=True, slots=True)
class TrainJob:
    """Ties the pieces together."""

    name: str = "graph_train"
    version: int = 1
    summary: str = (
        "train a model that turns text into graphs, with the same weights for any number of workers"
    )
    Config: type[TrainConfig] = TrainConfig
    default_executor: str = "lockstep"
    stages: tuple[str, ...] = ("read",)
    bytes_per_worker: int = 450_000_000  # seen with a treebank of 200,000 words
    floating: bool = True

    def plan(self, config: TrainConfig) -> Plan:
        """Cut a step into gradient shards: as many as the settings say."""
        train, valid = find_files(config)
        conllu = is_conllu([*train, *valid])
        first, second = open_samples(train), open_samples(valid) if valid else Corpus(())
        corpus = Corpus(first.sources + second.sources, first.cell_bytes, first.notes + second.notes)
        size = config.batch // config.num_shards
        starts = [g * size for g in range(config.num_shards)]
        shards = ShardTable.from_ranges(
            source=[0] * len(starts), start=starts, stop=[start + size for start in starts]
        )
        digest = digest_of([first.digest, second.digest])
        inputs = TrainInputs(corpus, len(first.sources), conllu)
        return Plan(
            job=self.name,
            version=self.version,
            seed=config.seed,
            config_digest=config_digest(config),
            input_digest=digest,
            source_names=corpus.names,
            shards=shards,
            inputs=inputs,
        )

    def run(self, plan: Plan, config: TrainConfig, engine: Engine, out: ArtifactWriter) -> dict[str, Any]:
        """Train and write the artifact."""
        from samebits.lockstep.logs.told import TrainingTold
        from samebits.lockstep.parent.train import train

        examples, held_out = _read(plan, config, engine, out)
        lexicon = learn_lexicon(
            examples, kind="word" if plan.inputs.conllu else "char", min_count=config.min_count
        )
        engine.observer(Warned(_sentence(examples, held_out, lexicon)))
        objective, sizes = make_objective(config, lexicon, examples, held_out, plan.input_digest)
        told = TrainingTold(engine.observer, unit="examples", units_per_step=config.batch)
        try:
            result = train(
                objective,
                config.fit(lexicon.kind),
                place=engine.place,
                every=Every(
                    steps=config.save_every, keep_every=config.keep_every, kept=kept_folder(out.output)
                ),
                observer=told,
                allow_environment_change=config.allow_environment_change,
            )
        finally:
            told.close()
        about = _about(config, sizes, lexicon, examples, held_out, result)
        _write(out, result, lexicon, about)
        return {**about, "memory": dict(result.memory), "fingerprint": dict(result.fingerprint)}


def _read(
    plan: Plan, config: TrainConfig, engine: Engine, out: ArtifactWriter
) -> tuple[list[Sample], list[Sample]]:
    """Read all files, in order and into the journal; return the examples to train and to validate on."""
    inputs: TrainInputs = plan.inputs
    task = ReadShard(inputs.conllu, config.subtypes)
    train: list[Sample] = []
    valid: list[Sample] = []
    shards = inputs.corpus.shards()
    for shard, part in engine.map_ordered("read", task, shards, state=inputs.corpus, unit="bytes"):
        out.bad_rows.take(plan, shard, part.bad, num_lines=part.num_lines)
        (train if shard.source < inputs.num_train else valid).extend(samples_of(part))
    out.bad_rows.check()
    if inputs.num_train == len(inputs.corpus.sources):
        valid = [sample for sample in train if _is_held_out(sample)]
        train = [sample for sample in train if not _is_held_out(sample)]
    if not train:
        raise InputError("no examples to train on", path=", ".join(plan.source_names[:3]))
    return train, valid


def _is_held_out(sample: Sample) -> bool:
    digest = hashlib.sha256("\t".join(sample.tokens).encode()).digest()
    return int.from_bytes(digest[:8], "big") % 1000 < HELD_OUT


def make_objective(
    config: TrainConfig, lexicon: Lexicon, train: Sequence[Sample], valid: Sequence[Sample], digest: str
) -> tuple[NetworkObjective, ParserSizes]:
    """Return what lockstep trains, and the sizes of its model."""
    texts = lexicon.kind == "char"
    config = config.for_kind(lexicon.kind)
    assert config.width is not None
    assert config.layers is not None
    assert config.dropout is not None
    assert config.smoothing is not None
    sizes = ParserSizes(
        lexicon.kind,
        len(lexicon.characters),
        len(lexicon.words),
        len(lexicon.nodes),
        len(lexicon.arcs),
        tuple(len(names) for names in lexicon.tags),
        width=config.width,
        layers=config.layers,
        embedding=64 if texts else 128,
        biaffine=64 if texts else 256,
        dropout=config.dropout,
    )
    forms = None if texts else Forms(lexicon)
    examples = [encode(sample, lexicon, forms) for sample in train]
    rows = sorted((encode(sample, lexicon, forms) for sample in valid), key=len)
    spelling = forms.table() if forms else None
    data = GraphBatches(examples, spelling, config.batch, config.word_dropout, config.seed, digest)
    data.check(config.num_shards)
    starts = range(0, len(rows), VALIDATION_BATCH)
    # so that the mean over shards is the mean over examples, or over words
    norm = (len(rows) if texts else sum(map(len, rows))) / max(1, len(starts))
    validation = [collate(rows[start : start + VALIDATION_BATCH], spelling, norm=norm) for start in starts]
    parser = Parser(sizes, config.loss, config.tag_weight, config.smoothing)
    return NetworkObjective(parser, data, validation=validation), sizes


def _sentence(train: Sequence[Sample], valid: Sequence[Sample], lexicon: Lexicon) -> str:
    return (
        f"{len(train):,} examples to train on, {len(valid):,} to validate on; {len(lexicon.characters) - 2} characters, "
        f"{len(lexicon.nodes) - 1} node labels, {len(lexicon.arcs) - 2} arc labels; decoder {lexicon.structure.decoder}"
    )


def _about(
    config: TrainConfig,
    sizes: ParserSizes,
    lexicon: Lexicon,
    train: Sequence[Sample],
    valid: Sequence[Sample],
    result: FitResult,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "sizes": sizes.plain(),
        "loss": config.loss,
        "decoder": lexicon.structure.decoder,
        "parameters": int(sum(value.size for value in result.params.values())),
        "examples": {"train": len(train), "valid": len(valid)},
        "steps": result.steps_done,
        "train_loss": float(result.losses[-1]) if len(result.losses) else None,
        "val_loss": result.validations[-1][1] if result.validations else None,
        "state_digest": result.digest,
        "exact": result.exact,
    }


def _write(out: ArtifactWriter, result: FitResult, lexicon: Lexicon, about: dict[str, Any]) -> None:
    from samebits.lockstep.logs.run_files import write_training

    write_training(out, result, scale="log")
    out.write_json("labels.json", lexicon.plain())
    out.write_json("config.json", about)


JOB = TrainJob()
