"""Every public feature at its smallest. Takes a few seconds: run it before every commit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import samebits
from samebits.cli.app import run as run_command
from samebits.core.fold import Concat, Counts
from samebits.core.plan import cut
from samebits.errors import ConfigError, ParityError
from samebits.executors.serial import SerialExecutor
from samebits.testing import FailingExecutor, ShuffledExecutor


@dataclass(frozen=True, slots=True)
class Numbers:
    def __call__(self, shard: samebits.Shard, state: int, /) -> list[int]:
        return [state * number for number in range(shard.start, shard.stop)]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text("the cat\nthe dog\n", encoding="utf-8")
    return path


@pytest.fixture
def config(book: Path) -> samebits.CountConfig:
    return samebits.CountConfig(inputs=(str(book),))


@pytest.mark.parametrize(("executor", "workers"), [("serial", "1"), ("threads", "1"), ("threads", "3")])
def test_count_gives_one_digest_wherever_it_runs(
    config: samebits.CountConfig, tmp_path: Path, executor: str, workers: str
) -> None:
    options = samebits.RunOptions(executor=executor, workers=workers)
    record = samebits.run("count", config, output=tmp_path / "out", options=options)
    reference = samebits.run("count", config, output=tmp_path / "reference", executor=SerialExecutor())
    assert record.artifact_digest == reference.artifact_digest
    assert record.metrics["top"][0] == {"ngram": "the", "count": 2}


def test_a_plan_has_a_digest_that_follows_the_config(config: samebits.CountConfig, book: Path) -> None:
    planned = samebits.plan("count", config)
    assert isinstance(planned, samebits.Plan)
    assert planned.digest == samebits.plan("count", config).digest
    assert planned.digest != samebits.plan("count", samebits.CountConfig(inputs=(str(book),), n=2)).digest


def test_an_artifact_is_opened_verified_and_compared(
    config: samebits.CountConfig, book: Path, tmp_path: Path
) -> None:
    for name, n in (("a", 1), ("b", 1), ("c", 2)):
        samebits.run("count", samebits.CountConfig(inputs=(str(book),), n=n), output=tmp_path / name)
    assert samebits.open_artifact(tmp_path / "a", job="count").config["n"] == 1
    assert samebits.verify(tmp_path / "a").digest == samebits.verify(tmp_path / "b").digest
    samebits.compare(tmp_path / "a", tmp_path / "b")
    with pytest.raises(ParityError, match=r"counts\.jsonl"):
        samebits.compare(tmp_path / "a", tmp_path / "c")


@pytest.mark.parametrize(
    "executor", [SerialExecutor(), ShuffledExecutor(seed=1), FailingExecutor({2: 1})], ids=lambda e: e.name
)
def test_the_engine_folds_in_shard_order(executor: samebits.Executor) -> None:
    parts = samebits.Engine(executor).map_reduce(
        "numbers", Numbers(), cut([10], cell=2), Concat(), state=3, unit="items"
    )
    executor.close()
    assert Concat().result(parts) == [0, 3, 6, 9, 12, 15, 18, 21, 24, 27]


def test_counts_add_up() -> None:
    counts = Counts()
    assert counts.fold(counts.fold(counts.zero(), {"a": 1}), {"a": 2}) == {"a": 3}


def test_random_numbers_are_named_by_address() -> None:
    assert samebits.rng_for(1, "x", 2).integers(1 << 60) == samebits.rng_for(1, "x", 2).integers(1 << 60)
    assert samebits.rng_for(1, "x", 2).integers(1 << 60) != samebits.rng_for(1, "x", 3).integers(1 << 60)


def test_an_error_has_a_hint_and_an_exit_code(book: Path) -> None:
    with pytest.raises(samebits.SamebitsError) as caught:
        samebits.CountConfig(inputs=(str(book),), n=0)
    assert isinstance(caught.value, ConfigError)
    assert (caught.value.exit_code, caught.value.hint) == (2, "use 1 or more")


def test_the_command_line_counts_plans_and_verifies(
    book: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], restore_signals: None
) -> None:
    out = str(tmp_path / "out")
    assert run_command(["count", str(book), "-o", out, "--json"]) == 0
    digest = json.loads(capsys.readouterr().out)["artifact_digest"]
    assert run_command(["plan", "count", str(book)]) == 0
    assert run_command(["verify", out]) == 0
    assert digest in capsys.readouterr().out


@pytest.fixture
def restore_signals() -> Iterator[None]:
    import signal

    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)
