"""The promise: weights, optimizer state and every loss have the same bits for any number of workers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lockstep.objectives import Choosy, Informed, Net, Patient, Recorder, run

from samebits.lockstep.parent.events import FitStarted, StepDone, ValidationDone
from samebits.lockstep.parent.train import FitResult


def bits(result: FitResult) -> tuple[object, ...]:
    return (
        result.digest,
        result.losses.tobytes(),
        result.grad_norms.tobytes(),
        result.norms_crcs.tobytes(),
        result.validations,
    )


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "muon"])
def test_any_number_of_workers_gives_the_same_bits(optimizer: str) -> None:
    settings: dict[str, Any] = {"optimizer": optimizer, "schedule": "cosine", "warmup": 2, "clip": 0.5}
    one = run(workers=1, **settings)
    assert np.isfinite(one.losses).all()
    assert len(one.losses) == 6
    assert [step for step, _ in one.validations] == [2, 4, 6]
    for workers in (2, 3, 7):
        assert bits(run(workers=workers, **settings)) == bits(one), workers


@pytest.mark.parametrize(("shards", "workers"), [(1, 1), (4, 4), (13, 5)])
def test_other_numbers_of_shards_hold_the_promise_too(shards: int, workers: int) -> None:
    assert bits(run(shards=shards, workers=workers, steps=3)) == bits(run(shards=shards, workers=1, steps=3))


def test_a_worker_that_is_slow_is_not_waited_for_while_there_are_shards(tmp_path: Path) -> None:
    slow = Patient(folder=str(tmp_path))
    assert bits(run(slow, workers=2)) == bits(run(workers=1))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"1-{g}" for g in range(1, 7)]


@pytest.mark.parametrize("workers", [1, 7])
def test_every_worker_is_told_the_step_before_a_validation(workers: int) -> None:
    assert run(Informed(), workers=workers).validations == ((2, 2.0), (4, 4.0), (6, 6.0))


def test_the_number_of_shards_and_the_seed_are_part_of_the_result() -> None:
    others: list[dict[str, Any]] = [{}, {"shards": 6}, {"seed": 1}]
    digests = {run(steps=2, **other).digest for other in others}
    assert len(digests) == 3


def test_the_learning_rate_falls_after_flat_validations_in_every_worker_alike() -> None:
    settings: dict[str, Any] = {"lr": 0.0, "plateau": 1, "steps": 6, "validate_every": 1}
    one, three = run(workers=1, **settings), run(workers=3, **settings)
    assert bits(one) == bits(three)
    assert one.steps_done == 6
    stopped = run(lr=0.0, weight_decay=0.0, early_stop=2, validate_every=1, steps=50, workers=2)
    assert stopped.steps_done == 3, "the first validation is the best, the next two are flat"
    assert stopped.finished


def test_no_steps_give_the_first_values() -> None:
    result = run(steps=0)
    assert result.steps_done == 0
    assert result.params["bias"].shape == (64,)
    assert np.abs(result.params["in"]).max() > 0


def test_observers_are_told_of_every_step_and_validation() -> None:
    observer = Recorder()
    result = run(workers=2, observer=observer)
    (started,) = observer.of(FitStarted)
    assert (started.step, started.num_steps, started.workers) == (0, 6, 2)
    assert started.num_parameters == 64 + 32 * 64 + 2 * 64 * 64 + 7 * 32 + 64
    assert started.shared_bytes == result.memory["shared"] > 10 * 4 * started.num_parameters
    steps = observer.of(StepDone)
    assert [event.step for event in steps] == list(range(6))
    assert [event.loss for event in steps] == result.losses.tolist()
    assert [(event.step, event.loss) for event in observer.of(ValidationDone)] == list(result.validations)


def test_a_run_ends_unfinished_when_asked_to_and_keeps_what_it_did() -> None:
    result = run(workers=2, steps=10_000, stop=lambda: True)
    assert not result.finished
    assert 1 <= result.steps_done == len(result.losses) < 10_000


def test_a_mode_that_one_worker_cannot_use_is_used_by_none(tmp_path: Path) -> None:
    observer = Recorder()
    all_can = run(Choosy(), workers=3, steps=1, observer=observer)
    assert (all_can.compute, observer.warnings) == ("quick", [])
    one_cannot = run(Choosy(refuses=str(tmp_path / "mark")), workers=3, steps=1, observer=observer)
    assert one_cannot.compute == one_cannot.fingerprint["compute"] == "plain"
    assert observer.warnings == ["computing plain: quick does not work here"]


def test_a_numpy_objective_needs_no_torch() -> None:
    assert run(Net(fault="torch"), steps=1).steps_done == 1


def test_the_weights_are_learning_something() -> None:
    result = run(replace(Net(), validation=40), steps=60, validate_every=60, workers=2)
    first = run(replace(Net(), validation=40), steps=1, workers=2)
    assert result.validations[-1][1] < 0.5 * first.validations[-1][1]
