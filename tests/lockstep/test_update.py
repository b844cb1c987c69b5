"""The update kernels against torch and against float64, the orthogonaliser against singular values, and the schedules."""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from samebits.arithmetic import updates
from samebits.arithmetic.updates import orthogonalise
from samebits.errors import ConfigError
from samebits.kernels.lockstep import steps as kernel
from samebits.lockstep.exchange.memory import Sizes, create_memory, map_memory
from samebits.lockstep.exchange.tree import merges
from samebits.lockstep.problem.config import FitConfig, Optimizer
from samebits.lockstep.problem.layout import CHUNK, make_layout
from samebits.lockstep.problem.objective import Floats, TensorSpec
from samebits.lockstep.problem.schedule import ScheduleState, after_validation, rate, same_rates
from samebits.lockstep.worker.optimizers.muon import POLYNOMIALS
from samebits.lockstep.worker.optimizers.rule import StepSettings
from samebits.lockstep.worker.optimizers.share import share_of
from samebits.lockstep.worker.optimizers.table import OPTIMIZERS
from samebits.lockstep.worker.optimizers.update import Update

SIZE = 3 * CHUNK
LR, BETA1, BETA2, EPS, DECAY = 3e-3, 0.9, 0.99, 1e-8, 0.1
ADAMW = {"lr": LR, "beta1": BETA1, "beta2": BETA2, "eps": EPS, "decay": DECAY}
SGD = {"lr": LR, "momentum": 0.9, "decay": DECAY}


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """torch, if there is one; its optimizers set this variable when they are first made."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    return pytest.importorskip("torch")


def noise(seed: int, scale: float = 1.0, size: int = SIZE) -> Floats:
    rng = np.random.Generator(np.random.Philox(key=seed))
    return (scale * rng.standard_normal(size)).astype(np.float32)


def test_one_adamw_step_is_within_four_ulps_of_float64() -> None:
    params, first, second = noise(1), noise(2, 0.1), noise(3, 0.1) ** 2
    for step in range(1, 30):
        grads = noise(100 + step)
        exact = [array.astype(np.float64) for array in (params, first, second, grads)]
        updates.adamw(params, grads, first, second, scale=0.5, step=step, **ADAMW)
        p, m, v, g = exact
        g *= 0.5
        m += (1 - BETA1) * (g - m)
        v = BETA2 * v + (1 - BETA2) * g * g
        move = LR / (1 - BETA1**step) * m / (np.sqrt(v) / np.sqrt(1 - BETA2**step) + EPS)
        p = p * (1 - LR * DECAY) - move
        largest = np.maximum(
            np.abs(p), np.maximum(np.abs(move), LR)
        )  # where they cancel, the larger one counts
        assert (np.abs(params - p) <= 4 * np.spacing(largest.astype(np.float32))).all()
        assert (np.abs(second - v) <= 2 * np.spacing(second)).all()


@pytest.mark.parametrize("fused", [False, True])
def test_an_adamw_step_is_that_of_torch_to_two_ulps(fused: bool, torch: Any) -> None:
    params, first, second = noise(1), np.zeros(SIZE, np.float32), np.zeros(SIZE, np.float32)
    theirs = torch.nn.Parameter(torch.from_numpy(params.copy()))
    optimizer = torch.optim.AdamW(
        [theirs], lr=LR, betas=(BETA1, BETA2), eps=EPS, weight_decay=DECAY, fused=fused
    )
    for step in range(1, 6):
        grads = noise(200 + step)
        theirs.grad = torch.from_numpy(grads.copy())
        with torch.no_grad():
            theirs.copy_(torch.from_numpy(params))  # each step starts from the same values
        if step > 1:
            state = optimizer.state[theirs]
            state["exp_avg"].copy_(torch.from_numpy(first))
            state["exp_avg_sq"].copy_(torch.from_numpy(second))
        optimizer.step()
        updates.adamw(params, grads, first, second, scale=1.0, step=step, **ADAMW)
        found = theirs.detach().numpy()
        largest = np.maximum(np.abs(params), np.float32(LR))
        assert (np.abs(params - found) <= 2 * np.spacing(largest)).all()


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_steps_are_those_of_torch(nesterov: bool, torch: Any) -> None:
    params, first = noise(1), np.zeros(SIZE, np.float32)
    theirs = torch.nn.Parameter(torch.from_numpy(params.copy()))
    optimizer = torch.optim.SGD([theirs], lr=LR, momentum=0.9, weight_decay=DECAY, nesterov=nesterov)
    for step in range(5):
        grads = noise(300 + step)
        theirs.grad = torch.from_numpy(grads.copy())
        optimizer.step()
        updates.sgd(params, grads, first, scale=1.0, nesterov=nesterov, **SGD)
    assert np.abs(params - theirs.detach().numpy()).max() <= 8 * np.spacing(np.abs(params).max())


@pytest.mark.parametrize("optimizer", get_args(Optimizer))
def test_every_optimizer_gives_one_share_the_bits_of_many(optimizer: Optimizer) -> None:
    config = FitConfig(steps=1, optimizer=optimizer, weight_decay=0.1, muon_weight_decay=0.01)
    specs = [TensorSpec("m", (3, 40, 64), "matrix"), TensorSpec("e", (90, 64), "embedding")]
    layout = make_layout([*specs, TensorSpec("v", (5000,), "vector")])

    def updated(workers: int) -> bytes:
        sizes = Sizes(layout.size, 1, workers, 0)
        state = map_memory(create_memory(sizes), sizes)
        for salt, name in enumerate(("params", "first", "second")):
            getattr(state, name)[:] = np.abs(noise(salt, size=layout.size))
        state.rows[0] = noise(9, size=layout.size)
        for worker in range(workers):
            update = Update(config, share_of(config, layout, worker, workers))
            for step in range(2):
                update(state, StepSettings(step, 0.7, 0.5))
        return b"".join(getattr(state, name).tobytes() for name in ("params", "first", "second"))

    assert updated(1) == updated(2) == updated(5)


def test_the_table_has_every_optimizer() -> None:
    assert tuple(OPTIMIZERS) == get_args(Optimizer)


def test_chunk_norms_are_exact_where_float64_is() -> None:
    values = np.round(noise(4) * 8).astype(np.float32)
    squares = np.zeros(3)
    kernel.fold_rows(values[None], np.zeros((0, 2), np.int64), CHUNK, SIZE, 2.0, CHUNK, squares)
    assert squares[0] == 0, "another worker's chunk"
    assert squares[1:].tolist() == [float((values[i : i + CHUNK] ** 2).sum()) for i in (CHUNK, 2 * CHUNK)]
    assert (values[:CHUNK] == np.round(noise(4) * 8)[:CHUNK]).all()


def test_rows_are_added_between_two_positions() -> None:
    rows = np.stack([noise(1), noise(2)])
    expected = rows[0].copy()
    expected[7:5000] += rows[1, 7:5000]
    kernel.add_rows(rows, 0, 1, 7, 5000)
    assert (rows[0] == expected).all()


def test_a_fold_of_rows_does_its_merges_in_order() -> None:
    rows = np.stack([noise(number) for number in range(5)])
    expected = ((rows[0] + rows[1]) + (rows[2] + rows[3]) + rows[4]) * np.float32(0.2)
    before = rows[0, :CHUNK].copy()
    pairs = np.array([(merge.left, merge.right) for merge in merges(5)])
    kernel.fold_rows(rows, pairs, CHUNK, SIZE, 0.2, CHUNK, np.zeros(3))
    assert (rows[0, CHUNK:] == expected[CHUNK:]).all()
    assert (rows[0, :CHUNK] == before).all(), "another worker's chunk"


def test_nobody_takes_what_another_has() -> None:
    taken = np.zeros(1000, np.int64)
    with ThreadPoolExecutor(4) as pool:
        hands = list(pool.map(lambda _: [i for i in range(1000) if kernel.take(taken, i)], range(4)))
    assert sorted(itertools.chain(*hands)) == list(range(1000))


def gaussian(rows: int, columns: int) -> Floats:
    rng = np.random.Generator(np.random.Philox(key=rows * 1000 + columns))
    return rng.standard_normal((rows, columns), dtype=np.float32)


@pytest.mark.parametrize("shape", [(512, 128), (128, 512), (128, 96), (64, 1)])
@pytest.mark.parametrize("iterations", sorted(POLYNOMIALS))
def test_singular_values_come_close_to_one(shape: tuple[int, int], iterations: int) -> None:
    spread = {3: 0.27, 4: 0.09, 5: 0.12}[iterations]
    matrix = gaussian(*shape)
    found = orthogonalise(matrix, POLYNOMIALS[iterations])
    assert found.shape == shape
    values = np.linalg.svd(found, compute_uv=False)
    assert 1 - spread <= values.min() <= values.max() <= 1 + spread
    left, _, right = np.linalg.svd(matrix.astype(np.float64), full_matrices=False)
    assert np.abs(found - left @ right).max() < spread


def test_the_scale_of_a_gradient_does_not_matter_and_zero_stays_zero() -> None:
    matrix = gaussian(48, 48)
    small = orthogonalise(matrix * np.float32(2.0**-20), POLYNOMIALS[4])
    assert np.abs(small - orthogonalise(matrix, POLYNOMIALS[4])).max() < 1e-4
    assert (orthogonalise(np.zeros((8, 24), np.float32), POLYNOMIALS[4]) == 0).all()
    assert (orthogonalise(np.zeros((8, 8), np.float32), POLYNOMIALS[4]) == 0).all()


def rates(**settings: Any) -> list[float]:
    config = FitConfig(**{"steps": 8, **settings})
    return [rate(config, step) for step in range(config.steps)]


def test_schedules_start_and_end_where_they_say() -> None:
    assert rates() == [1.0] * 8
    assert rates(warmup=4)[:4] == [0.25, 0.5, 0.75, 1.0]
    cosine = rates(schedule="cosine", floor=0.1)
    assert cosine[0] == 1.0
    assert cosine == sorted(cosine, reverse=True)
    assert cosine[4] == 0.1 + 0.9 * 0.5
    assert rates(schedule="trapezoid", cooldown=0.5) == [1.0, 1.0, 1.0, 1.0, 1.0, 0.75, 0.5, 0.25]


def test_more_steps_keep_the_rates_already_used_only_before_a_cool_down() -> None:
    def may(schedule: str, done: int) -> bool:
        old, new = (FitConfig(steps=n, schedule=schedule) for n in (100, 200))  # type: ignore[arg-type]
        return same_rates(old, new, done)

    assert may("constant", 100)
    assert may("trapezoid", 50)
    assert not may("trapezoid", 60)
    assert not may("cosine", 5)


def test_plateaus_cut_and_stops_stop_after_so_many_flat_validations() -> None:
    config = FitConfig(steps=9, plateau=2, plateau_factor=0.5, early_stop=3)
    progress, seen = ScheduleState(), []
    for loss in (3.0, 2.0, 2.0, 2.5, 2.1):
        progress = after_validation(config, progress, loss)
        seen.append((progress.factor, progress.stopped))
    assert seen == [(1.0, False), (1.0, False), (1.0, False), (0.5, False), (0.5, True)]
    assert ScheduleState.from_fields(progress.fields()) == progress
    assert ScheduleState.from_fields(ScheduleState().fields()) == ScheduleState()
    assert after_validation(config, ScheduleState(), float("nan")).stale == 1, "a NaN is never better"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"lr": float("nan")}, "lr is nan"),
        ({"steps": -1}, "steps is -1"),
        ({"shards": 0}, "shards is 0"),
        ({"optimizer": "adam"}, "did you mean 'adamw'"),
        ({"schedule": "cosin"}, "did you mean 'cosine'"),
        ({"beta1": 1.0}, "beta1 is 1.0"),
        ({"muon_iterations": 9}, "muon_iterations is 9"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        FitConfig(**{"steps": 1, **settings}).check()


def test_polynomials_map_their_interval_as_their_comment_says() -> None:
    for iterations, low, spread in ((3, 0.01, 0.28), (4, 0.005, 0.09), (5, 0.001, 0.12)):
        x: NDArray[np.float64] = np.linspace(low, 1.0, 10_001)
        for a, b, c in POLYNOMIALS[iterations]:
            x = a * x + b * x**3 + c * x**5
        assert np.abs(1 - x).max() < spread
