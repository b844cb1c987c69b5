"""Ranks of torchrun have the bits of one process; a lost one is named by all others; and any number of ranks goes on."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.lockstep import rank_main
from tests.lockstep.launch import endings, start_fit, torchrun

from samebits.errors import ConfigError
from samebits.lockstep.parent.checkpoints import steps_in
from samebits.machine.ranks import find_ranks, ranks_for

pytest.importorskip("torch")
MUON = {"net": {}, "optimizer": "muon"}


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """An undisturbed run in one worker."""
    return rank_main.told(rank_main.fit({}, optimizer="muon", options={"workers": "1"}))


@pytest.mark.slow
def test_torchrun_gives_the_bits_of_one_process_in_every_rank() -> None:
    expected = rank_main.told(rank_main.fit(None, options={"workers": "1"}))
    done = torchrun(4, "-m", "tests.lockstep.rank_main", json.dumps({"net": None}))
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [{**row, "events": 0} for row in found] == [{**expected, "events": 0}] * 4
    assert sorted(row["events"] > 0 for row in found) == [False] * 3 + [True], "rank 0 observes alone"


@pytest.mark.slow
def test_lost_ranks_are_named_and_any_number_of_ranks_or_workers_goes_on(
    whole: dict[str, Any], tmp_path: Path
) -> None:
    folder = tmp_path / "c"
    given: dict[str, Any] = {"optimizer": "muon", "checkpoint": str(folder)}
    rank_main.fit({}, **given, steps=2, options={"workers": "2"})
    assert steps_in(folder)[0] == 2, "workers of one process begin"

    last_dies = {"fault": "kill always", "at": (4, 4)}
    found = endings(start_fit(3, {"net": last_dies, **given}))
    assert [row["error"] for row in found] == ["WorkerLost"] * 3
    assert {row["message"].split(":")[0] for row in found} == {"rank 2 (shards 4-6) was lost at step 4"}
    assert all("the same torchrun command again, with any number of ranks" in row["hint"] for row in found)
    assert steps_in(folder)[0] == 4, "three ranks go on from there"

    first_dies = {"fault": "kill always", "at": (5, 0)}
    found = endings(start_fit(2, {"net": first_dies, **given}))
    assert {row["message"].split(":")[0] for row in found} == {"rank 0 (shards 0-2) was lost at step 5"}
    assert steps_in(folder)[0] == 5, "then two ranks"

    last = rank_main.fit({}, **given, options={"workers": "3"})
    assert rank_main.told(last) == whole, "workers of one process end it"
    found = endings(start_fit(2, {"net": {}, **given}))
    assert [{**row, "events": 0} for row in found] == [{**whole, "events": 0}] * 2, "and all ranks are told"


@pytest.mark.slow
def test_a_stopped_rank_counts_as_lost_after_the_stall_timeout(tmp_path: Path) -> None:
    given = {"net": {"slow": 0.1}, "steps": 10_000, "options": {"stall_timeout": 3.0}}
    ranks = start_fit(2, {**given, "checkpoint": str(tmp_path / "c")})
    until = time.monotonic() + 60
    while not steps_in(tmp_path / "c") and time.monotonic() < until:
        time.sleep(0.05)
    worker = psutil.Process(ranks[1].pid).children()
    os.kill(ranks[1].pid, signal.SIGSTOP)  # the rank itself; its worker would go on for hundreds of steps
    found = endings(ranks[:1])[0]
    os.kill(ranks[1].pid, signal.SIGCONT)
    assert found["error"] == "WorkerLost"
    assert found["message"].startswith("rank 1 (shards 3-6) was lost at step ")
    assert found["message"].endswith("no sign of life for 3 s")
    assert endings(ranks[1:])[0]["error"] == "WorkerLost", "it wakes up alone"
    psutil.wait_procs(worker, timeout=10)
    assert not any(process.is_running() for process in worker)


@pytest.mark.slow
def test_a_rank_with_another_environment_is_refused_before_the_first_step() -> None:
    found = endings(start_fit(2, MUON, variables={1: {"MKL_CBWR": "COMPATIBLE"}}))
    assert [row["error"] for row in found] == ["EnvironmentMismatch"] * 2
    expected = "rank 1 has a different environment from rank 0: MKL_CBWR is COMPATIBLE, in rank 0 "
    assert [row["message"] for row in found] == [expected] * 2


@pytest.mark.slow
def test_a_failing_shard_is_the_same_error_in_every_rank() -> None:
    found = endings(start_fit(2, {"net": {"fault": "raise", "at": (2, 2)}}))
    assert [row["error"] for row in found] == ["ShardFailed"] * 2
    assert {row["message"] for row in found} == {
        "shard 2 of step 2 failed: ZeroDivisionError: planted in shard 2"
    }


def test_ranks_are_found_by_the_variables_of_torchrun(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_ranks({"RANK": "1"}) is None
    with pytest.raises(ConfigError, match="RANK is '2', WORLD_SIZE '2'"):
        find_ranks({"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"})
    with pytest.raises(ConfigError, match="not started by it"):
        ranks_for("torchrun", None)
    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    assert ranks_for("lockstep", 5) is None
    assert (ranks_for("auto", None), ranks_for("torchrun", 2)) == (find_ranks(), find_ranks())
    with pytest.raises(ConfigError, match="3 workers asked for, but torchrun started 2 ranks"):
        ranks_for("auto", 3)


def test_calls_whose_result_only_rank_0_would_have_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from samebits import lm

    for name, value in {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=r"lm\.train cannot run on 2 ranks of torchrun") as caught:
        lm.train("book.txt", output="run")
    assert "-m samebits lm train" in caught.value.hint
