"""One digest for every worker count, executor, cell size, batch size, hash seed, and after any death."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.tokens.conftest import dirty_bytes

from samebits.api import run
from samebits.core.options import RunOptions
from samebits.core.seeds import rng_for
from samebits.testing import ShuffledExecutor
from samebits.tokens.config import TokensConfig
from samebits.tokens.training.tokenizer_job import TokenizerConfig

SETTINGS: dict[str, Any] = {
    "val_ratio": 0.2,
    "shuffle": True,
    "seed": 3,
    "truncate": "window",
    "max_length": 64,
}
LAYOUTS = ("packed", "rows")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files: the dirty one, and one with CRLF, multi-byte characters and no final newline."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "a.jsonl").write_bytes(dirty_bytes(300))
    rows = [json.dumps({"text": "字é🙂" * (i % 9)}, ensure_ascii=False) for i in range(200)]
    (folder / "b.jsonl").write_bytes("\r\n".join(rows).encode())
    return folder


@pytest.fixture(scope="module")
def tokenizer(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A byte-pair tokenizer of the corpus."""
    output = tmp_path_factory.mktemp("bpe") / "out"
    config = TokenizerConfig(inputs=(str(corpus),), vocab_size=500)
    run("tokens_train", config, output=output, options=RunOptions(max_bad="100%"))
    return str(output)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def digest(
    corpus: Path,
    output: Path,
    *,
    workers: str = "1",
    executor: str = "serial",
    given: Any = None,
    **settings: Any,
) -> str:
    config = TokensConfig(inputs=(str(corpus),), **{**SETTINGS, **settings})
    options = RunOptions(workers=workers, executor=executor, max_bad="100%")
    return run("tokens", config, output=output, options=options, executor=given).artifact_digest


@pytest.mark.parametrize("kind", ["byte", "char", "word", "bpe"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_workers_cells_and_batches_never_reach_the_digest(
    corpus: Path, tokenizer: str, tmp_path: Path, kind: str, layout: str
) -> None:
    name = tokenizer if kind == "bpe" else kind
    settings = {"tokenizer": name, "layout": layout}
    wanted = digest(corpus, tmp_path / "wanted", **settings)
    rng = rng_for(1, "cells", kind, layout)
    for number, workers in enumerate("1237"):
        cell_mb = float(rng.integers(1, 60_000)) / 2**20
        batch = int(rng.integers(1, 300))
        found = digest(
            corpus,
            tmp_path / f"{number}",
            workers=workers,
            executor="threads",
            cell_mb=cell_mb,
            batch_size=batch,
            **settings,
        )
        assert found == wanted, f"cell_mb={cell_mb} batch_size={batch} workers={workers}"


@pytest.mark.parametrize("seed", [-1, 0, 1])
def test_adversarial_order_of_arrival_never_reaches_the_digest(
    corpus: Path, tokenizer: str, tmp_path: Path, seed: int
) -> None:
    executor = ShuffledExecutor(seed=seed)
    try:
        found = digest(corpus, tmp_path / "found", tokenizer=tokenizer, given=executor, cell_mb=0.002)
    finally:
        executor.close()
    assert found == digest(corpus, tmp_path / "wanted", tokenizer=tokenizer)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["2", "3"])
def test_processes_give_the_digest_of_the_serial_run(
    corpus: Path, tokenizer: str, tmp_path: Path, workers: str
) -> None:
    settings: dict[str, Any] = {"tokenizer": tokenizer, "cell_mb": 0.01}
    found = digest(corpus, tmp_path / "found", workers=workers, executor="processes", **settings)
    assert found == digest(corpus, tmp_path / "wanted", **settings)


@pytest.mark.parametrize("kind", ["bpe", "word", "char"])
def test_learned_tokenizers_do_not_depend_on_workers(corpus: Path, tmp_path: Path, kind: str) -> None:
    digests = set()
    for workers in "123":
        config = TokenizerConfig(inputs=(str(corpus),), kind=kind, vocab_size=400)  # type: ignore[arg-type]
        options = RunOptions(workers=workers, executor="threads", max_bad="100%")
        digests.add(run("tokens_train", config, output=tmp_path / workers, options=options).artifact_digest)
    assert len(digests) == 1


def command(corpus: Path, tokenizer: str, output: Path, *flags: str) -> list[str]:
    fixed = [
        "--val-ratio",
        "0.2",
        "--seed",
        "3",
        "--shuffle",
        "--cell-mb",
        "0.004",
        "--max-bad",
        "100%",
        "-q",
    ]
    return [
        *(sys.executable, "-m", "samebits", "tokens", "build", str(corpus), "-o", str(output)),
        *("-t", tokenizer, *fixed, *flags),
    ]


def digest_of(output: Path) -> str:
    return str(json.loads((output / "manifest.json").read_bytes())["digest"])


@pytest.mark.slow
@pytest.mark.parametrize("hash_seed", ["0", "1", "random"])
def test_hash_seed_locale_and_folder_never_reach_the_digest(
    corpus: Path, tokenizer: str, tmp_path: Path, hash_seed: str
) -> None:
    settings: dict[str, Any] = {"tokenizer": tokenizer, "truncate": "cut", "max_length": None}
    wanted = digest(corpus, tmp_path / "wanted", **settings)
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, "LC_ALL": "C"}
    subprocess.run(command(corpus, tokenizer, tmp_path / "out"), check=True, env=environment, cwd=tmp_path)
    assert digest_of(tmp_path / "out") == wanted


@pytest.mark.slow
def test_killed_at_any_moment_the_same_command_ends_with_the_same_bytes(
    corpus: Path, tokenizer: str, tmp_path: Path
) -> None:
    """Kills come later and later, so that some hit the start, some the encoding and some the end."""
    subprocess.run(command(corpus, tokenizer, tmp_path / "wanted"), check=True)
    wanted, killed = digest_of(tmp_path / "wanted"), 0
    output = tmp_path / "out"
    for attempt in range(20):
        child = subprocess.Popen(command(corpus, tokenizer, output, "-w", "2"))
        try:
            child.wait(timeout=0.04 + 0.05 * attempt)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
            child.wait()
            killed += 1
        if (output / "manifest.json").exists():
            break
    else:
        subprocess.run(command(corpus, tokenizer, output, "-w", "2"), check=True)
    assert killed > 0
    assert digest_of(output) == wanted
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "wanted"]


@pytest.mark.slow
def test_a_damaged_journal_costs_only_the_damaged_part(corpus: Path, tokenizer: str, tmp_path: Path) -> None:
    subprocess.run(command(corpus, tokenizer, tmp_path / "wanted"), check=True)
    output, journal = tmp_path / "out", tmp_path / "out.journal"
    child = subprocess.Popen(command(corpus, tokenizer, output, "-w", "1"))
    log = journal / "log.jsonl"
    for _ in range(2000):
        if child.poll() is not None or (log.exists() and log.stat().st_size > 300):
            break
        time.sleep(0.005)
    child.kill()
    child.wait()
    if not (output / "manifest.json").exists():
        parts = bytearray((journal / "parts.bin").read_bytes())
        parts[len(parts) // 2] ^= 1
        (journal / "parts.bin").write_bytes(parts)
        with log.open("ab") as file:
            file.write(b'["encode", 99')
        subprocess.run(command(corpus, tokenizer, output, "-w", "2"), check=True)
    assert digest_of(output) == digest_of(tmp_path / "wanted")
