"""torch modules: the same bits for any number of workers, dropout included, and what cannot be deterministic is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebits
from samebits.errors import ConfigError
from samebits.lockstep.problem.arrays import ArrayBatches
from samebits.lockstep.problem.torch_objective import TorchObjective

torch = pytest.importorskip("torch")
ROWS = 48
DATA = samebits.rng_for(3, "rows").standard_normal((ROWS, 6)).astype(np.float32)
LABELS = (DATA[:, :1] > 0).astype(np.int64)[:, 0]


def make(norm: bool = False) -> Any:
    nn = torch.nn
    layers = [
        nn.Linear(6, 24),
        nn.GELU(),
        nn.Dropout(0.1),
        *([nn.BatchNorm1d(24)] if norm else []),
        nn.Linear(24, 2),
    ]
    return nn.Sequential(*layers)


def loss(module: Any, batch: Any) -> Any:
    return torch.nn.functional.cross_entropy(module(batch[0]), batch[1])


def fit(module: Any = make, workers: int = 1, **settings: Any) -> Any:
    objective = TorchObjective(module, loss, validation=[(DATA[:16], LABELS[:16]), (DATA[16:], LABELS[16:])])
    data = ArrayBatches(DATA, LABELS, batch=24)
    options = samebits.RunOptions(workers=str(workers))
    return samebits.fit(objective, data, options=options, **{"steps": 6, "shards": 3, **settings})


def test_workers_and_a_resume_leave_the_bits_of_a_torch_module_alone(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"optimizer": "muon", "validate_every": 3}
    one = fit(workers=1, **settings)
    fit(workers=1, checkpoint=tmp_path, steps=4, **settings)
    more = fit(workers=3, checkpoint=tmp_path, **settings)
    assert more.digest == one.digest
    assert more.losses.tobytes() == one.losses.tobytes()
    assert more.validations[-1] == one.validations[-1]
    assert one.fingerprint["torch"] == torch.__version__


def test_a_module_that_is_given_is_where_training_starts_and_stays_as_it_was() -> None:
    torch.manual_seed(1)
    module = make()
    before = {name: value.detach().numpy().copy() for name, value in module.named_parameters()}
    result = fit(module, steps=0)
    assert {name: value.tobytes() for name, value in result.params.items()} == {
        name: value.tobytes() for name, value in before.items()
    }
    after = fit(module, steps=2)
    assert all((value.detach().numpy() == before[name]).all() for name, value in module.named_parameters())
    assert (after.params["0.weight"] != before["0.weight"]).any()


def test_running_statistics_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"the buffer '3\.\w+' of the module changes while it trains"):
        fit(lambda: make(norm=True))


def test_groups_follow_the_kind_of_a_parameter() -> None:
    module = torch.nn.ModuleDict({"e": torch.nn.Embedding(5, 4), "l": torch.nn.Linear(4, 2)})
    groups = {spec.name: spec.group for spec in TorchObjective(module, loss).spec()}
    assert groups == {"e.weight": "embedding", "l.weight": "matrix", "l.bias": "vector"}
    given = TorchObjective(module, loss, groups={"l.weight": "embedding"})
    assert {spec.group for spec in given.spec()} == {"embedding", "vector"}


def test_a_module_of_another_precision_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"the parameter '0.weight' is torch.float64"):
        fit(lambda: make().double())
