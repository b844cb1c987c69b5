"""The promise in one number: weights and optimizer state after 20 steps, committed, for every machine to give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.lm.conftest import make_text

from samebits import api, arithmetic
from samebits.core.config import make_config
from samebits.core.options import RunOptions
from samebits.lm.config import LmConfig

pytestmark = pytest.mark.slow
SIZES: dict[str, Any] = {
    "layers": 2,
    "heads": 3,
    "width": 24,
    "block": 20,
    "batch": 14,
    "shards": 7,
    "steps": 20,
    "cooldown": 0.5,
}
LOGS: dict[str, Any] = {"validate_every": 10, "sample_tokens": 20, "tensorboard": False}
COLUMNS: dict[str, dict[str, Any]] = {
    "classic adamw": {"kind": "classic", "dropout": 0.1},
    "modern muon": {"kind": "modern"},
    "llama muon": {"activation": "swiglu", "qk_norm": "off", "ngrams": 1, "dropout": 0.1},
}
# sha256 of the state, and the last validation loss. A change here changes every user's weights:
# it needs a new version of the arithmetic, or of the job, and a line in the changelog.
GOLDEN = {
    "classic adamw": (
        "c64ee76b0a58511944f306184944e24a8dff9287e4638b43888c356de7e762fd",
        "0x1.481fd5f3d0fd0p+1",
    ),
    "modern muon": (
        "ed0500c907815f465cc8bd400470c3b57b63cf617803c68cfb37305d9625ae33",
        "0x1.764d073c85535p+0",
    ),
    "llama muon": (
        "fad452075162dc2b6ba428da574e22d6fc50097ae506a44a30334f48b17b1c7c",
        "0x1.f6b3f238f1ab1p+0",
    ),
}
PLACES = list(zip(arithmetic.usable(), (2, 1, 3), strict=False))


@pytest.mark.parametrize(("isa", "workers"), PLACES, ids=[f"{isa}-{workers}" for isa, workers in PLACES])
@pytest.mark.parametrize("column", COLUMNS)
def test_a_run_has_the_committed_bits(
    column: str, isa: str, workers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAMEBITS_ISA", isa)  # of the workers, which are new processes
    data = tmp_path / "mill.txt"
    data.write_text(make_text(), encoding="utf-8")
    config = make_config(LmConfig, {"inputs": [str(data)], **SIZES, **LOGS, **COLUMNS[column]})
    record = api.run("lm", config, output=tmp_path / "run", options=RunOptions(workers=str(workers)))
    assert (record.metrics["state_digest"], record.metrics["val_loss"].hex()) == GOLDEN[column]
