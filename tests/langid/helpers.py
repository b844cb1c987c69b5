"""Small runs of the langid job for its tests."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import samebits
from samebits.core.engine import Engine
from samebits.core.observing.record import RunRecord
from samebits.core.options import RunOptions
from samebits.core.ports.executor import Executor
from samebits.data.artifact import ArtifactWriter
from samebits.data.bad_rows import BadRows
from samebits.langid.config import LangidConfig
from samebits.langid.job import JOB
from samebits.langid.training.exact import ExactResult, train_exact
from samebits.langid.training.gather import Rows, gather
from samebits.langid.training.ledger import Ledger

GOLDEN = Path(os.environ.get("SAMEBITS_LANGID_GOLDEN", Path(__file__).parent / "golden"))


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def golden_rows() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((GOLDEN / "training.json").read_text(encoding="utf-8"))["rows"]
    return rows


def train(
    path: Path, output: Path, *, workers: str = "1", executor: Executor | None = None, **settings: Any
) -> RunRecord:
    config = LangidConfig(inputs=(str(path),), **settings)
    options = RunOptions(workers=workers, overwrite=True)
    return samebits.run("langid", config, output=output, options=options, executor=executor)


def train_exactly(
    path: Path, folder: Path, executor: Executor, **settings: Any
) -> tuple[Rows, ExactResult, Ledger]:
    """Return what exact training computes before it is written."""
    config = LangidConfig(inputs=(str(path),), mode="exact", **settings)
    plan = JOB.plan(config)
    out = ArtifactWriter(folder / "out", BadRows())
    engine = Engine(executor)
    rows = gather(plan, config, engine, out)
    ledger = Ledger(rows.num_train)
    return rows, train_exact(rows, config, engine, ledger), ledger
