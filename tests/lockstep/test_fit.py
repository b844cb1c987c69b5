"""``samebits.fit`` and training inside a job: settings, locks, journal, resume and clean-up."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lockstep.objectives import Net

import samebits
from samebits.core.config import config_digest, option
from samebits.core.observing.events import Event, Metric
from samebits.core.plan import Plan, cut
from samebits.data.journal import checkpoint_folder, journal_folder
from samebits.errors import ConfigError, OutputBusy, PlanMismatch, ShardFailed
from samebits.lockstep.parent.events import FitEvent, StepDone
from samebits.lockstep.parent.train import train
from samebits.lockstep.problem.arrays import ArrayBatches
from samebits.lockstep.problem.config import Every, FitConfig
from samebits.lockstep.problem.function_objective import FunctionObjective

ROWS = np.arange(12.0)
REPO = Path(__file__).resolve().parents[2]


def parabola(weights: Any, batch: Any, rng: np.random.Generator) -> Any:
    """The mean of (w - x)^2 over a batch: its minimum is the mean of all rows."""
    error = weights - batch[0].mean()
    return float(error[0] ** 2), 2 * error


def fit(**settings: Any) -> Any:
    objective = FunctionObjective(parabola, np.zeros(1))
    given = {"steps": 1, "options": samebits.RunOptions(workers="1"), **settings}
    return samebits.fit(objective, ArrayBatches(ROWS, batch=4), **given)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"learning_rate": 1.0}, "learning_rate"),
        ({"lr": -1.0}, "lr is -1.0"),
        ({"options": samebits.RunOptions(workers="9")}, "9 workers for 4 gradient shards"),
        ({"shards": 3}, "a batch of 4 rows cannot be split into 3 equal shards"),
        ({"every": {"minutes": 1}}, "every has 'minutes'"),
    ],
)
def test_wrong_settings_are_refused_before_anything_starts(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        fit(**settings)


def test_what_every_leaves_out_is_the_same_however_it_is_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``lm --save-every 100`` also saved every minute, ``fit(every={"steps": 100})`` did not."""
    given: list[Every] = []
    monkeypatch.setattr("samebits.training.train", lambda *_, every, **__: given.append(every))
    samebits.fit(Net(), steps=1, checkpoint=tmp_path, every={"steps": 100})
    assert given == [Every(steps=100)]
    assert given[0].seconds == Every().seconds == 60.0


def test_the_memory_of_a_worker_is_not_that_of_the_process_that_started_it() -> None:
    """A child's ``ru_maxrss`` starts with the peak of its parent."""
    script = (
        "from tests.lockstep.objectives import run\n"
        "large = bytearray(600_000_000); large[::4096] = bytes(len(large[::4096])); del large\n"
        "print(run(steps=1).memory['largest_worker'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=REPO
    )
    assert 20e6 < int(done.stdout) < 300e6


def test_data_is_for_ready_made_objectives() -> None:
    with pytest.raises(ConfigError, match="Net takes no data"):
        samebits.fit(Net(), ArrayBatches(ROWS, batch=4), steps=1)
    with pytest.raises(ConfigError, match="has no data"):
        samebits.fit(FunctionObjective(parabola, np.zeros(1)), steps=1)


def test_a_function_of_a_script_is_trained_without_a_main_guard() -> None:
    result = fit(steps=300, lr=0.1, optimizer="sgd", momentum=0.0, nesterov=False, clip=0.0, shards=2)
    assert abs(result.params["params"][0] - ROWS.mean()) < 1.5


def test_one_folder_takes_one_run(tmp_path: Path) -> None:
    def again(event: FitEvent) -> None:
        if isinstance(event, StepDone):
            fit(checkpoint=tmp_path)

    with pytest.raises(OutputBusy):
        fit(checkpoint=tmp_path, observer=again)


def test_gradients_of_another_shape_are_named() -> None:
    def wrong(weights: Any, batch: Any, rng: Any) -> Any:
        return 0.0, np.zeros(2)

    with pytest.raises(ConfigError, match=r"the gradient of 'params' has shape \(2,\)"):
        samebits.fit(FunctionObjective(wrong, np.zeros(1)), ArrayBatches(ROWS, batch=4), steps=1)


def test_every_row_comes_once_an_epoch_in_an_order_that_needs_no_state() -> None:
    data = ArrayBatches(ROWS, batch=8, seed=5)
    seen = np.concatenate([data.batch(step, g, 2, None)[0] for step in range(3) for g in range(2)])
    assert sorted(seen[:12]) == sorted(seen[12:]) == ROWS.tolist()
    assert seen[:12].tolist() != seen[12:].tolist() != ROWS.tolist()
    assert ArrayBatches(ROWS, batch=8, seed=5).batch(2, 1, 2, None)[0].tolist() == seen[20:].tolist()
    with pytest.raises(ConfigError, match=r"lengths \[3, 12\]"):
        ArrayBatches(ROWS, np.zeros(3), batch=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainConfig:
    """Settings of the job below."""

    inputs: tuple[str, ...] = option((), help="none", location=True)
    steps: int = option(6, help="steps")
    fault: str = option("", help="what goes wrong", how=True)
    seed: int = option(0, help="seed")


@dataclass(frozen=True, slots=True)
class TrainJob:
    """A job that trains: it hands its place on unread."""

    name: str = "train-net"
    version: int = 1
    summary: str = "train a small network"
    Config: type = TrainConfig
    default_executor: str = "lockstep"
    stages: tuple[str, ...] = ()
    bytes_per_worker: int = 0

    def plan(self, config: TrainConfig) -> Plan:
        return Plan(
            job=self.name,
            version=1,
            seed=config.seed,
            config_digest=config_digest(config),
            input_digest="",
            source_names=("steps",),
            shards=cut([4], 1),
        )

    def run(self, plan: Plan, config: TrainConfig, engine: samebits.Engine, out: Any) -> dict[str, Any]:
        def tell(event: FitEvent) -> None:
            if isinstance(event, StepDone):
                engine.observer(Metric("loss", event.loss))

        settings = FitConfig(steps=config.steps, shards=len(plan.shards), seed=config.seed)
        objective = Net(fault=config.fault, at=(4, 1))
        every = Every(steps=2, seconds=0)
        result = train(objective, settings, place=engine.place, every=every, observer=tell)
        out.write_bytes("weights.bin", result.params["in"].tobytes())
        return {"steps": result.steps_done}


def run_job(output: Path, workers: str = "2", resume: bool = True, **settings: Any) -> Any:
    seen: list[Event] = []
    options = samebits.RunOptions(workers=workers, resume=resume)
    record = samebits.run(
        TrainJob(), TrainConfig(**settings), output=output, options=options, observer=seen.append
    )
    return replace(record, metrics={**record.metrics, "losses": sum(isinstance(e, Metric) for e in seen)})


def test_a_job_that_trains_resumes_from_its_journal_and_cleans_up(tmp_path: Path) -> None:
    whole = run_job(tmp_path / "whole", workers="9")
    assert (whole.executor, whole.workers) == ("lockstep", 4)
    assert "only 4 shards" in whole.why_workers
    with pytest.raises(ShardFailed, match="shard 1 of step 4 failed"):
        run_job(tmp_path / "out", fault="raise")
    journal = journal_folder(tmp_path / "out")
    assert len(list(checkpoint_folder(journal).iterdir())) == 2
    with pytest.raises(PlanMismatch, match="--steps was 6, is 5"):
        run_job(tmp_path / "out", steps=5)
    again = run_job(tmp_path / "out", workers="3")
    assert again.artifact_digest == whole.artifact_digest
    assert again.metrics["losses"] == 2, "steps 4 and 5"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "whole"]


def test_no_resume_throws_the_checkpoints_of_a_job_away(tmp_path: Path) -> None:
    with pytest.raises(ShardFailed):
        run_job(tmp_path / "out", fault="raise")
    assert run_job(tmp_path / "out", resume=False).metrics["losses"] == 6
