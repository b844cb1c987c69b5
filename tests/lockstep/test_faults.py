"""What goes wrong is named with worker, step and shard; what can be repaired ends with the bits of an undisturbed run."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.lockstep.objectives import Net, Recorder, Unwritten, run

from samebits.errors import ConfigError, Interrupted, NotDeterministic, NotFinite, ShardFailed, WorkerLost
from samebits.lockstep.exchange.barrier import Barrier, make_slots
from samebits.lockstep.parent.checkpoints import steps_in
from samebits.lockstep.parent.events import CheckpointSaved, StepDone
from samebits.lockstep.parent.train import FitResult
from samebits.lockstep.problem.config import Every

EACH_STEP = Every(steps=1, seconds=0)
REPO = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def whole() -> FitResult:
    return run()


def test_a_killed_worker_is_started_again_with_the_same_bits(whole: FitResult, tmp_path: Path) -> None:
    told = tmp_path / "told"
    observer = Recorder(lambda event: isinstance(event, CheckpointSaved) and event.step == 3, told)
    objective = Net(fault="kill", at=(3, 4), mark=str(tmp_path / "mark"), told=str(told))
    found = run(objective, workers=3, folder=tmp_path / "c", every=EACH_STEP, observer=observer)
    assert found.digest == whole.digest
    (warning,) = observer.warnings
    assert re.fullmatch(
        r"worker [012] \(shard 4\) was lost at step 3: killed by SIGKILL; starting again from step 3", warning
    )


def test_without_a_folder_it_starts_again_from_the_beginning(whole: FitResult, tmp_path: Path) -> None:
    told = tmp_path / "told"
    observer = Recorder(lambda event: isinstance(event, StepDone) and event.step == 1, told)
    objective = Net(fault="kill", mark=str(tmp_path / "mark"), told=str(told))
    found = run(objective, workers=2, observer=observer)
    assert found.digest == whole.digest
    assert observer.warnings[0].endswith("starting again from step 0")
    assert [event.step for event in observer.of(StepDone)] == [0, 1, 0, 1, 2, 3, 4, 5]


def test_a_worker_that_is_lost_again_and_again_ends_the_run(tmp_path: Path) -> None:
    told = tmp_path / "told"
    with pytest.raises(WorkerLost, match=r"worker [01] \(shard 1\) was lost at step 2: killed by SIGKILL"):
        run(
            Net(fault="kill always", told=str(told)), workers=2, folder=tmp_path / "c", every=EACH_STEP, restarts=1,
            observer=Recorder(lambda event: isinstance(event, CheckpointSaved) and event.step == 2, told),
        )  # fmt: skip
    assert steps_in(tmp_path / "c") == [2, 1]


def test_a_stopped_worker_is_named_and_replaced(whole: FitResult, tmp_path: Path) -> None:
    observer = Recorder()
    objective = Net(fault="stop", at=(2, 6), mark=str(tmp_path / "mark"))
    found = run(objective, workers=2, stall_timeout=3.0, observer=observer)
    assert found.digest == whole.digest
    assert re.match(
        r"worker [01] \(shard 6\) was lost at step 2: no sign of life for 3 s", observer.warnings[0]
    )


def test_a_worker_that_is_slow_to_load_is_not_taken_for_a_stopped_one(whole: FitResult) -> None:
    observer = Recorder()
    found = run(Net(slow_to_load=5.0), workers=2, stall_timeout=3.0, observer=observer)
    assert (found.digest, observer.warnings) == (whole.digest, [])


def test_the_lowest_failing_shard_is_reported_whoever_computes_it(tmp_path: Path) -> None:
    for workers in (1, 3):
        with pytest.raises(
            ShardFailed, match=r"shard 3 of step 2 failed: ZeroDivisionError: planted"
        ) as caught:
            run(Net(fault="raise", at=(2, 3)), workers=workers)
        assert caught.value.shard == 3
        assert "in misbehave" in caught.value.remote_traceback


@pytest.mark.parametrize(("fault", "what"), [("nan", "gradient"), ("nan loss", "loss")])
def test_what_is_not_finite_stops_at_its_step_and_names_its_shard(
    fault: str, what: str, tmp_path: Path
) -> None:
    with pytest.raises(NotFinite, match=f"the {what} of shard 5 is not finite at step 4") as caught:
        run(Net(fault=fault, at=(4, 5)), workers=2, folder=tmp_path, every=Every(steps=2, seconds=0))
    assert (caught.value.step, caught.value.shard) == (4, 5)
    assert steps_in(tmp_path) == [4, 2], "the last good checkpoints are kept"


def test_an_objective_that_is_not_deterministic_is_refused() -> None:
    with pytest.raises(NotDeterministic, match="the objective is not deterministic: shard 0 of step 0 gave"):
        run(Net(fault="random"), workers=2)


def test_a_gradient_that_is_not_written_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="did not write the whole gradient of 'out'"):
        run(Unwritten(), workers=2)


def test_an_objective_that_cannot_be_bound_is_a_failure_of_its_worker() -> None:
    with pytest.raises(ShardFailed, match="RuntimeError: planted in bind"):
        run(Net(fault="bind"), workers=2)


def test_an_objective_that_cannot_be_pickled_is_refused() -> None:
    objective: Any = Net()
    objective.lock = threading.Lock()
    with pytest.raises(ConfigError, match="cannot be sent to workers"):
        run(objective)


def test_more_workers_than_shards_are_refused() -> None:
    with pytest.raises(ConfigError, match="8 workers for 7 gradient shards"):
        run(workers=8)


SCRIPT = """
import sys
from pathlib import Path
from tests.lockstep.objectives import Net, run
from samebits.lockstep.problem.config import Every
result = run(Net(slow=float(sys.argv[2])), workers=2, folder=Path(sys.argv[1]), every=Every(steps=1, seconds=0))
print(result.digest)
"""


def start(folder: Path, slow: float) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(folder), str(slow)], cwd=REPO, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    for _ in range(int(seconds / 0.05)):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it never happened")


def test_a_killed_parent_takes_its_workers_along_and_the_same_call_goes_on(
    whole: FitResult, tmp_path: Path
) -> None:
    parent = start(tmp_path, slow=0.05)
    wait_for(lambda: steps_in(tmp_path))
    workers = psutil.Process(parent.pid).children()
    assert len(workers) == 2
    parent.kill()
    parent.communicate()
    wait_for(lambda: not any(worker.is_running() for worker in workers))
    assert steps_in(tmp_path)[0] < 6
    assert run(workers=3, folder=tmp_path).digest == whole.digest


def test_ctrl_c_saves_a_checkpoint_first(whole: FitResult, tmp_path: Path) -> None:
    parent = start(tmp_path, slow=0.05)
    wait_for(lambda: steps_in(tmp_path))
    os.kill(parent.pid, signal.SIGINT)
    output, errors = parent.communicate()
    assert output == ""
    done = steps_in(tmp_path)[0]
    assert f"Interrupted: interrupted after {done} steps; checkpoints are kept" in errors
    assert run(folder=tmp_path).digest == whole.digest


def test_without_a_folder_ctrl_c_ends_at_once() -> None:
    def interrupt(event: Any) -> None:
        if isinstance(event, StepDone):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="nothing is kept"):
        run(steps=1000, workers=2, observer=interrupt)


@pytest.mark.parametrize("workers", [2, 5, 16])
def test_nobody_leaves_a_barrier_before_all_have_entered(workers: int) -> None:
    slots = make_slots(workers)
    rounds, wrong = 300, []
    entered = [0] * workers

    def walk(worker: int) -> None:
        barrier = Barrier(slots, worker, lambda: None)
        for turn in range(1, rounds + 1):
            entered[worker] = turn
            if (turn * 7 + worker) % 23 == 0:
                time.sleep(0.0003)
            barrier.wait()
            if min(entered) < turn or max(entered) > turn + 1:
                wrong.append((worker, turn, list(entered)))

    threads = [threading.Thread(target=walk, args=(worker,)) for worker in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for row in slots:
        for slot in row:
            os.close(slot)
    assert wrong == []
    assert entered == [rounds] * workers
