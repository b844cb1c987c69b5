"""The artifact's digest is the same for every executor, worker count, arrival order and cut of the work."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.langid.helpers import golden_rows, train, write_rows

from samebits.errors import Interrupted
from samebits.langid import job, sources
from samebits.langid.training import backoff
from samebits.langid.training import tasks as stages
from samebits.testing import FailingExecutor, ShuffledExecutor

MODES = ("exact", "backoff")
CODE = """
import sys, samebits
from samebits.langid.config import LangidConfig
config = LangidConfig(inputs=(sys.argv[1],), mode=sys.argv[3], cycles=2)
print(samebits.run("langid", config, output=sys.argv[2]).artifact_digest)
"""


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The golden rows, in shards so small that there are many."""
    monkeypatch.setattr(sources, "CELL_BYTES", 2048)
    monkeypatch.setattr(stages, "ROWS_PER_SHARD", 64)
    return write_rows(tmp_path / "rows.jsonl", golden_rows())


@pytest.mark.parametrize("mode", MODES)
def test_arrival_order_workers_and_lost_workers_do_not_matter(mode: str, rows: Path, tmp_path: Path) -> None:
    expected = train(rows, tmp_path / "one", mode=mode, cycles=2).artifact_digest
    for seed in (-1, 0, 1):
        shuffled = ShuffledExecutor(seed=seed)
        try:
            found = train(rows, tmp_path / "shuffled", mode=mode, cycles=2, executor=shuffled)
        finally:
            shuffled.close()
        assert found.artifact_digest == expected
    failing = FailingExecutor({0: 1, 3: 2})
    assert train(rows, tmp_path / "lost", mode=mode, cycles=2, executor=failing).artifact_digest == expected
    for workers in ("2", "3", "7"):
        assert (
            train(rows, tmp_path / "many", mode=mode, cycles=2, workers=workers).artifact_digest == expected
        )


@pytest.mark.parametrize("mode", MODES)
def test_the_size_of_row_shards_does_not_matter(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_rows(tmp_path / "rows.jsonl", golden_rows())
    whole = train(path, tmp_path / "whole", mode=mode, cycles=2).artifact_digest
    monkeypatch.setattr(stages, "ROWS_PER_SHARD", 17)
    monkeypatch.setattr(sources, "CELL_BYTES", 999)
    assert train(path, tmp_path / "cut", mode=mode, cycles=2).artifact_digest == whole


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_hash_seeds_and_processes_do_not_matter(mode: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", golden_rows())
    digests = set()
    for seed, executor in (("0", "serial"), ("1", "threads"), ("2", "processes")):
        output = tmp_path / f"model-{seed}"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "SAMEBITS_EXECUTOR": executor, "LC_ALL": "C"}
        code = CODE.replace(
            "output=sys.argv[2])",
            f"output=sys.argv[2], options=samebits.RunOptions(executor={executor!r}, workers='2'))",
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(path), str(output), mode],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        digests.add(done.stdout.strip())
    assert len(digests) == 1


@pytest.mark.parametrize("mode", MODES)
def test_a_run_that_was_interrupted_goes_on_to_the_same_digest(
    mode: str, rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = train(rows, tmp_path / "whole", mode=mode).artifact_digest

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr({"exact": job, "backoff": backoff}[mode], f"train_{mode}", stop)
        with pytest.raises(Interrupted):
            train(rows, tmp_path / "model", mode=mode)
    assert not (tmp_path / "model").exists()
    record = train(rows, tmp_path / "model", mode=mode)
    assert record.artifact_digest == expected
