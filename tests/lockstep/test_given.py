"""What ``samebits.fit`` takes: models on own operations, torch modules with a loss, arrays and data loaders."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import samebits
from samebits import arithmetic
from samebits.arithmetic.functions import normal
from samebits.arithmetic.network import First, Loss, Network, matrix, table, zeros
from samebits.arithmetic.sequences import Groups, lstm, lstm_parameters
from samebits.errors import ConfigError
from samebits.lockstep.problem.given import as_batches, as_objective

POINTS = normal(samebits.rng_for(0, "given"), (192, 3)).astype(np.float32)
LABELS = (POINTS[:, 0] > 0).astype(np.int64)


class Line:
    """One layer."""

    def parameters(self) -> dict[str, First]:
        return {"w": matrix(2, 3), "b": zeros(2)}

    def loss(self, network: Network, batch: Any) -> Loss:
        return network.cross_entropy(network.linear(network.rows(batch["x"]), "w", "b"), batch["y"])


class Parity:
    """Reads strings of bits of different length, and says whether the ones are odd."""

    def parameters(self) -> dict[str, First]:
        return {"bits": table(2, 8, spread=1.0), **lstm_parameters("read", 8, 8), "out": matrix(2, 16)}

    def loss(self, network: Network, batch: Any) -> Loss:
        strings, lengths = batch
        rows = [row[:n] for row, n in zip(strings, lengths, strict=True)]
        groups = Groups.of(lengths.tolist())
        states = lstm(network, network.embed("bits", groups.spread(rows)), groups, "read")
        wanted = groups.spread([np.bitwise_xor.accumulate(row) for row in rows])
        return network.cross_entropy(network.linear(network.dropout(states, 0.1), "out"), wanted)


def fit(model: Any, data: Any, workers: str, **settings: Any) -> Any:
    return samebits.fit(
        model, data, options=samebits.RunOptions(workers=workers), **{"steps": 8, "lr": 0.05, **settings}
    )


def test_one_digest_for_any_number_of_workers_and_any_instruction_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bits = samebits.rng_for(1, "bits").bit_generator.random_raw(64 * 9)
    strings = (np.asarray(bits).reshape(64, 9) >> np.uint64(63)).astype(np.int64)
    lengths = 1 + (np.asarray(bits).reshape(64, 9)[:, 0] % np.uint64(9)).astype(np.int64)
    digests = set()
    for workers, isa in (("1", arithmetic.usable()[0]), ("2", "scalar"), ("3", arithmetic.usable()[-2:][0])):
        monkeypatch.setenv("SAMEBITS_ISA", isa)
        digests.add(fit(Parity(), (strings, lengths), workers, batch=32).digest)
    assert len(digests) == 1


def test_an_average_is_validated_and_given_back_and_the_steps_stay_as_they_were() -> None:
    data, held_out = {"x": POINTS[:128], "y": LABELS[:128]}, {"x": POINTS[128:], "y": LABELS[128:]}
    plain, averaged = (
        fit(Line(), data, "1", validation=[held_out], validate_every=1, average=average)
        for average in (0.0, 0.5)
    )
    assert plain.losses.tobytes() == averaged.losses.tobytes()
    network = Network(averaged.params)
    network.start()
    assert averaged.validations[-1][1] == Line().loss(network, held_out).number
    assert averaged.validations[0][1] == plain.validations[0][1], "the first step is all there is"
    assert averaged.validations[-1][1] != plain.validations[-1][1]


def test_a_model_learns_from_a_dict_of_arrays_and_predicts() -> None:
    model = Line()
    held_out: dict[str, Any] = {"x": POINTS[128:], "y": LABELS[128:]}
    result = fit(model, {"x": POINTS[:128], "y": LABELS[:128]}, "1", steps=60, validation=[held_out])
    assert result.losses[-1] < result.losses[0] / 2
    assert result.validations[-1][0] == 60
    network = Network(result.params)
    network.start()
    logits = network.output(network.linear(network.rows(held_out["x"]), "w", "b"), 64)
    assert np.mean(logits.argmax(1) == held_out["y"]) > 0.9
    assert set(result.fingerprint) == {"arithmetic", "compute"}  # no CPU, no library


@pytest.mark.slow
def test_a_torch_module_a_loss_and_a_loader_give_back_the_trained_module() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(3, 2)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    rows = torch.utils.data.TensorDataset(torch.from_numpy(POINTS), torch.from_numpy(LABELS))
    loader = torch.utils.data.DataLoader(rows, batch_size=64, shuffle=True)
    one = fit(module, loader, "1", loss=torch.nn.CrossEntropyLoss())
    two = fit(module, loader, "2", loss=torch.nn.functional.cross_entropy)
    assert one.digest == two.digest
    assert all(
        value.equal(before[name]) for name, value in module.state_dict().items()
    )  # yours stays as it was
    assert (one.module.weight.detach().numpy() == one.params["weight"]).all()
    three = fit(
        module, (POINTS, LABELS), "1", loss=lambda m, b: torch.nn.functional.cross_entropy(m(b[0]), b[1])
    )
    assert three.losses[-1] < three.losses[0]


def test_a_loader_is_read_by_address_every_row_once_an_epoch() -> None:
    torch = pytest.importorskip("torch")
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.arange(24)), batch_size=8, shuffle=True
    )
    source = as_batches(loader, batch=None, shards=4, seed=3)
    seen = [
        int(row)
        for step in range(3)
        for g in range(4)
        for row in source.batch(step, g, 4, np.random.default_rng(0))[0]
    ]
    assert sorted(seen) == list(range(24))
    assert seen != list(range(24))
    with pytest.raises(ConfigError, match="cannot be split into 3 equal shards"):
        source.check(3)  # type: ignore[attr-defined]  # a LoaderBatches


@pytest.mark.parametrize(
    ("given", "loss", "said"),
    [
        (object(), None, "cannot train a object"),
        (as_objective(Line(), None), len, "has its own loss"),
    ],
)
def test_what_cannot_be_trained_is_refused_with_what_can(given: Any, loss: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        as_objective(given, loss)


def test_data_that_are_no_rows_are_refused() -> None:
    with pytest.raises(ConfigError, match="is not rows"):
        as_batches(3, batch=None, shards=4, seed=0)
