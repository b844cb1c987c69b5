"""Averaged parameters: the average over steps as written down, one set of bits for any number of workers and after any stop."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.lockstep.objectives import Net, run

from samebits.errors import ConfigError, PlanMismatch
from samebits.lockstep.parent.checkpoints import load_step
from samebits.lockstep.parent.train import FitResult
from samebits.lockstep.problem.config import Every
from samebits.lockstep.problem.layout import make_layout
from samebits.lockstep.verification.differences import checkpoint_difference

EACH_STEP = Every(steps=1, seconds=0, keep=100)
SETTINGS: dict[str, Any] = {"optimizer": "muon", "average": 0.4, "steps": 6, "validate_every": 2}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[FitResult, Path]:
    """An undisturbed run of six steps by one worker, and the checkpoints of every step of it."""
    folder = tmp_path_factory.mktemp("whole")
    return run(workers=1, folder=folder, every=EACH_STEP, **SETTINGS), folder


def test_the_result_is_the_average_over_steps(whole: tuple[FitResult, Path]) -> None:
    result, folder = whole
    layout = make_layout(Net().spec())
    average: NDArray[np.float32] = np.zeros((), np.float32)
    for step in range(6):
        params = load_step(folder, step + 1).tensors["params"]
        average = average + np.float32(1.0 / (1.0 + 0.4 * step)) * (params - average)
    for name, value in layout.views(average).items():
        assert (result.params[name] == value).all()
    last = layout.views(np.asarray(params))
    assert any((result.params[name] != last[name]).any() for name in last)


def test_an_average_leaves_the_steps_as_they_were(whole: tuple[FitResult, Path]) -> None:
    plain = run(**{**SETTINGS, "average": 0.0})
    assert plain.losses.tobytes() == whole[0].losses.tobytes()
    assert plain.digest != whole[0].digest
    assert [step for step, _ in plain.validations] == [step for step, _ in whole[0].validations]
    assert plain.validations != whole[0].validations, "the average is validated"


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_any_number_of_workers_gives_the_same_average(workers: int, whole: tuple[FitResult, Path]) -> None:
    found = run(workers=workers, **SETTINGS)
    assert found.digest == whole[0].digest
    assert found.validations == whole[0].validations


@pytest.mark.parametrize(("step", "workers"), [(1, 3), (4, 2)])
def test_a_run_goes_on_with_its_average(
    step: int, workers: int, whole: tuple[FitResult, Path], tmp_path: Path
) -> None:
    name = f"step-{step:09d}"
    shutil.copytree(whole[1] / name, tmp_path / name)
    found = run(workers=workers, folder=tmp_path, every=EACH_STEP, **SETTINGS)
    assert found.digest == whole[0].digest
    assert all((found.params[name] == value).all() for name, value in whole[0].params.items())
    assert not checkpoint_difference(load_step(whole[1], 6), load_step(tmp_path, 6))
    with pytest.raises(PlanMismatch, match=r"average was 0\.4, is 0\.3"):
        run(folder=tmp_path, **{**SETTINGS, "average": 0.3})


def test_no_steps_give_the_first_values() -> None:
    none, one = (run(**{**SETTINGS, "average": average, "steps": 0}) for average in (0.0, 0.5))
    assert all((none.params[name] == value).all() for name, value in one.params.items())


def test_an_average_over_more_than_all_steps_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"average is 1\.5"):
        run(average=1.5)
