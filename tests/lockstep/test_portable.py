"""A portable objective: one digest for every instruction set, every number of workers, and ranks on unlike machines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.lockstep import rank_main
from tests.lockstep.launch import endings, start_fit
from tests.lockstep.objectives import Net, OnOddMachine, PortableNet, run

from samebits import arithmetic
from samebits.errors import EnvironmentMismatch
from samebits.lockstep.problem.config import Every

SETTINGS: dict[str, Any] = {"schedule": "cosine", "warmup": 2, "clip": 0.5, "weight_decay": 0.1, "steps": 8}
# sha256 of weights and moments after eight steps; they must hold on every machine, from now on
GOLDEN = {
    "adamw": "db3dd5be5f7775e0ee7f5c2d40ec799339db3a597cc198613349a1aaffe21e11",
    "sgd": "611416f22040a1632ea236d63ea0c3446420d54753c31affb6c1587a91f0ed5c",
    "muon": "1347db1da399b98a130051b531c4805cb4b573e01f16a312ff55bf39805feb67",
}


@pytest.mark.parametrize("isa", arithmetic.usable())
@pytest.mark.parametrize("optimizer", sorted(GOLDEN))
def test_every_instruction_set_gives_the_golden_digest(
    isa: str, optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEBITS_ISA", isa)
    workers = 1 + arithmetic.usable().index(isa)
    assert run(PortableNet(), workers=workers, optimizer=optimizer, **SETTINGS).digest == GOLDEN[optimizer]


@pytest.mark.parametrize("workers", [2, 4, 7])
def test_so_does_every_number_of_workers(workers: int) -> None:
    assert run(PortableNet(), workers=workers, optimizer="muon", **SETTINGS).digest == GOLDEN["muon"]


def test_a_portable_run_goes_on_with_another_cpu_and_another_number_of_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, *_, last = arithmetic.usable()
    monkeypatch.setenv("SAMEBITS_ISA", first)
    monkeypatch.setenv("MKL_CBWR", "AVX2")  # what a fingerprint of libraries would name
    every = Every(steps=3, seconds=0)
    run(
        PortableNet(),
        workers=3,
        optimizer="muon",
        folder=tmp_path,
        every=every,
        **SETTINGS,
        stop=lambda: True,
    )
    monkeypatch.setenv("SAMEBITS_ISA", last)
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    result = run(PortableNet(), workers=2, optimizer="muon", folder=tmp_path, **SETTINGS)
    assert result.digest == GOLDEN["muon"]
    assert result.exact
    assert result.fingerprint == {"arithmetic": "1", "compute": ""}


def test_any_other_run_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(Net(), folder=tmp_path, stop=lambda: True)
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    with pytest.raises(EnvironmentMismatch, match="MKL_CBWR was '', is 'COMPATIBLE'"):
        run(Net(), folder=tmp_path)


def test_another_arithmetic_is_refused_by_its_number(tmp_path: Path) -> None:
    run(PortableNet(), folder=tmp_path, stop=lambda: True)
    head = next(tmp_path.glob("step-*/state.json"))
    fields = json.loads(head.read_bytes())
    fields["fingerprint"]["arithmetic"] = "0"
    head.write_text(json.dumps(fields))
    with pytest.raises(EnvironmentMismatch, match="arithmetic was '0', is '1'"):
        run(PortableNet(), folder=tmp_path)


def test_a_machine_that_computes_otherwise_is_refused_before_the_first_step() -> None:
    with pytest.raises(EnvironmentMismatch, match="products"):
        run(OnOddMachine())


@pytest.mark.slow
def test_ranks_of_unlike_machines_train_a_portable_objective_together_and_no_other() -> None:
    pytest.importorskip("torch")
    unlike = {
        rank: {"SAMEBITS_ISA": isa, "ONEDNN_MAX_CPU_ISA": isa.upper()}
        for rank, isa in enumerate((arithmetic.usable()[0], arithmetic.usable()[-1]))
    }
    given = {"net": {"portable": True}, "optimizer": "muon"}
    found = endings(start_fit(2, given, variables=unlike))
    expected = rank_main.told(rank_main.fit({"portable": True}, optimizer="muon", options={"workers": "1"}))
    assert [{**row, "events": 0} for row in found] == [{**expected, "events": 0}] * 2
    refused = endings(start_fit(2, {"net": {}}, variables=unlike))
    assert [row["error"] for row in refused] == ["EnvironmentMismatch"] * 2


def test_the_portable_network_learns() -> None:
    result = run(PortableNet(), workers=2, steps=60, validate_every=20)
    assert np.all(np.diff([loss for _, loss in result.validations]) < 0)
