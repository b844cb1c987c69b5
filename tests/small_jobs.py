"""Every job at its smallest, in one table: what the parity suite runs everywhere and what chaos disturbs.

A job that is registered and not in here fails ``tests/parity/test_cluster_parity.py``. Inputs are made from the sample
texts; models and stores that a job reads are made by serial runs of the jobs before it. Shards are made small by the
constants of the driver, because tasks see shards, never how they were cut.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.graph.naive import random_graph

from samebits import errors
from samebits.api import run
from samebits.charset.config import CharsetConfig
from samebits.charset.conversion.decode import DecodeConfig
from samebits.core.options import RunOptions
from samebits.count.config import CountConfig
from samebits.graph.config import EvalConfig, GenerateConfig, GraphConfig, KnnConfig, TrainConfig
from samebits.graph.distance import matrix
from samebits.langid.clean import CleanConfig
from samebits.langid.config import LangidConfig
from samebits.langid.derived import ImportConfig, MergeConfig
from samebits.lm.config import LmConfig
from samebits.tokens.config import TokensConfig
from samebits.tokens.layouts import convert
from samebits.tokens.layouts.convert import ConvertConfig
from samebits.tokens.training.tokenizer_job import TokenizerConfig

__all__ = ["ANY_BAD", "SMALL_JOBS", "SmallJob", "reference_of", "small_shards"]

SAMPLES = Path(errors.__file__).with_name("samples")
ANY_BAD = "100%"  # what the samples hold is not the point
RAW = {"bg": "cp1251", "de": "cp1252", "el": "iso8859_7", "he": "cp1255", "ja": "euc_jp", "ru": "koi8_r"}


@dataclass(frozen=True)
class SmallJob:
    """One line of the table.

    Attributes:
        config: Makes the config from a folder for inputs; what the inputs need is made first.
        least_shards: So many at least, so that two workers have something to do; 0 where nothing is cut.
        lockstep: It trains; its workers are those of lockstep, not of an executor.
    """

    config: Callable[[Path], Any]
    least_shards: int = 2
    lockstep: bool = False


@contextmanager
def small_shards() -> Iterator[None]:
    """Let plans of small inputs have several shards."""
    before = matrix.CELL_COST, convert.CELL_ROWS
    matrix.CELL_COST, convert.CELL_ROWS = 60_000, 200
    try:
        yield
    finally:
        matrix.CELL_COST, convert.CELL_ROWS = before


def reference_of(name: str, inputs: Path, /, **settings: Any) -> Path:
    """Return the artifact of the undisturbed serial run (one worker where it trains), made once a folder.

    Settings change the config of the table; a folder holds references of one set of them.
    """
    output = inputs / (f"reference-{name}-changed" if settings else f"reference-{name}")
    if not output.exists():
        job = SMALL_JOBS[name]
        options = RunOptions(executor="auto" if job.lockstep else "serial", workers="1", max_bad=ANY_BAD)
        with small_shards():
            run(name, replace(job.config(inputs), **settings), output=output, options=options)
    return output


def _write(path: Path, data: bytes) -> None:
    """Make an input once: runs at the same time read the same folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_bytes(data)


def _rows(inputs: Path, *, step: int = 1) -> tuple[str, ...]:
    """The sample texts as labelled rows in three files; with ``step`` 2, every other language is mislabelled."""
    folder = inputs / f"rows-{step}"
    samples = sorted(SAMPLES.glob("*.txt"))[:6]
    for number in range(3):
        rows = [
            {"text": line, "lang": sample.stem if i % step == 0 else "en"}
            for i, sample in enumerate(samples)
            for line in sample.read_text(encoding="utf-8").splitlines()[number:60:3]
            if line
        ]
        _write(folder / f"{number}.jsonl", "".join(json.dumps(row) + "\n" for row in rows).encode())
    return tuple(str(path) for path in sorted(folder.iterdir()))


def _raw(inputs: Path) -> tuple[str, ...]:
    folder = inputs / "raw"
    for language, encoding in RAW.items():
        text = (SAMPLES / f"{language}.txt").read_text(encoding="utf-8")
        _write(folder / language / "text.txt", text.encode(encoding, errors="replace"))
    return (str(folder),)


def _graphs(inputs: Path) -> tuple[str, ...]:
    path = inputs / "graphs.jsonl"
    graphs = [random_graph(41, k, nodes=5 + k % 5) for k in range(18)]
    _write(path, "".join(json.dumps(graph.to_json()) + "\n" for graph in graphs).encode())
    return (str(path),)


def _labels(inputs: Path) -> tuple[str, ...]:
    path = inputs / "labels.txt"
    _write(path, b"__label__de haus garten\n__label__en house garden\n__label__de garten\n")
    return (str(path),)


def _splits(inputs: Path) -> tuple[str, ...]:
    made = reference_of("graph_generate", inputs)
    return tuple(str(made / f"{split}.jsonl") for split in ("test", "valid"))


SMALL_JOBS: dict[str, SmallJob] = {
    "charset": SmallJob(
        lambda _: CharsetConfig(inputs=(str(SAMPLES),), languages=("de", "he", "ja"), unit="line")
    ),
    "charset_decode": SmallJob(lambda inputs: DecodeConfig(inputs=_raw(inputs))),
    "count": SmallJob(lambda _: CountConfig(inputs=(str(SAMPLES),), n=2)),
    "graph": SmallJob(lambda inputs: GraphConfig(inputs=_graphs(inputs), budget=50)),
    "graph_eval": SmallJob(
        lambda inputs: EvalConfig(
            inputs=_splits(inputs), model=str(reference_of("graph_train", inputs)), draw=2
        )
    ),
    "graph_generate": SmallJob(lambda _: GenerateConfig(level=2, n=1100, depths="1:1")),
    "graph_knn": SmallJob(
        lambda inputs: KnnConfig(inputs=_graphs(inputs), corpus=_graphs(inputs), k=2, budget=50)
    ),
    "graph_train": SmallJob(
        lambda inputs: TrainConfig(
            inputs=(str(reference_of("graph_generate", inputs)),),
            steps=6,
            batch=16,
            width=32,
            warmup=2,
            validate_every=0,
            save_every=1,
        ),
        lockstep=True,
    ),
    "langid": SmallJob(lambda inputs: LangidConfig(inputs=_rows(inputs))),
    "langid_clean": SmallJob(
        lambda inputs: CleanConfig(inputs=_rows(inputs, step=2), model=str(reference_of("langid", inputs)))
    ),
    "langid_import": SmallJob(lambda inputs: ImportConfig(inputs=_labels(inputs)), least_shards=0),
    "langid_merge": SmallJob(
        lambda inputs: MergeConfig(inputs=(str(reference_of("langid", inputs)),) * 2), least_shards=0
    ),
    "lm": SmallJob(
        lambda _: LmConfig(
            inputs=(str(SAMPLES / "en.txt"),),
            layers=2,
            heads=2,
            width=16,
            block=8,
            batch=14,
            shards=7,
            steps=6,
            validate_every=3,
            sample_tokens=20,
            save_every=1,
            tensorboard=False,
        ),
        lockstep=True,
    ),
    "tokens": SmallJob(lambda _: TokensConfig(inputs=(str(SAMPLES),), tokenizer="byte", shuffle=True)),
    "tokens_convert": SmallJob(
        lambda inputs: ConvertConfig(
            inputs=(str(reference_of("tokens", inputs)),), layout="rows", max_length=64, truncate="window"
        )
    ),
    "tokens_train": SmallJob(lambda _: TokenizerConfig(inputs=(str(SAMPLES),), vocab_size=400)),
}
