"""Exact mode gives what vocabulous 0.1.3 and unscript 0.1.3 give; the golden files were written by them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.langid.helpers import GOLDEN, golden_rows, train, train_exactly, write_rows

from samebits.executors.serial import SerialExecutor
from samebits.kernels.langid.text.encode import encode_rows
from samebits.langid.model.model import LangidModel, column_of
from samebits.langid.model.words import WordTable
from samebits.langid.tables import load_tables, script_names

RUNS: list[dict[str, Any]] = json.loads((GOLDEN / "training.json").read_text(encoding="utf-8"))["runs"]
METRICS = ("f1", "accuracy", "precision", "recall", "confusion", "confidence_margin")


def test_cleaning_gives_the_reference_texts() -> None:
    pairs = json.loads((GOLDEN / "cleaning.json").read_text(encoding="utf-8"))
    column = column_of([text for text, _ in pairs])
    found = encode_rows(load_tables(), column.buffer, column.starts, column.stops, -1, 2)
    data, ends = found["texts"].tobytes(), np.cumsum(found["sizes"]).tolist()
    cleaned = [data[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]
    assert cleaned == [expected for _, expected in pairs]


@pytest.mark.parametrize("run", RUNS, ids=[str(run["settings"]) for run in RUNS])
def test_training_gives_the_reference_dictionary_scores_and_kept_rows(
    run: dict[str, Any], tmp_path: Path
) -> None:
    cycles, confidence, margin = run["settings"]
    path = write_rows(tmp_path / "rows.jsonl", golden_rows())
    settings = {"cycles": cycles, "base_confidence": confidence, "confidence_margin": margin}
    rows, result, _ = train_exactly(path, tmp_path, SerialExecutor(), **settings)
    names = [*rows.languages, None]
    table = WordTable("exact", rows.languages, rows.words, rows.word_stops, result.words)
    assert {word: [list(p) for p in pairs] for word, pairs in table.entries() if pairs} == run["words"]
    tops = [names[i] for i in result.top.tolist()]
    labels = [names[i] for i in rows.labels[result.kept].tolist()]
    found = zip(labels, tops, result.score.tolist(), result.second.tolist(), strict=True)
    assert [list(row) for row in found] == run["kept"]
    assert len(result.reports) == len(run["reports"])
    for ours, theirs in zip(result.reports, run["reports"], strict=True):
        assert [ours["removed"], ours["samples"]] == [theirs["removed_samples"], theirs["total_samples"]]
        # The reference adds in the order of a set, so its last bits change from run to run.
        assert all(abs(ours[name] - theirs[name]) < 1e-12 for name in METRICS)


def test_the_ledger_accounts_for_every_row(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", golden_rows())
    record = train(
        path, tmp_path / "model", mode="exact", cycles=2, base_confidence=0.5, confidence_margin=0.1
    )
    rows = record.metrics["rows"]
    assert rows["read"] == len(golden_rows()) == rows["kept"] + rows["dropped"]
    lines = [json.loads(line) for line in (tmp_path / "model" / "dropped.jsonl").read_text().splitlines()]
    assert len(lines) == rows["dropped"] == sum(rows["by_reason"].values())
    assert [line["row"] for line in lines] == sorted(line["row"] for line in lines)
    duplicate = next(line for line in lines if line["reason"] == "duplicate")
    given = golden_rows()
    assert given[duplicate["row"]]["text"].strip() != ""
    assert duplicate["conflict"] == (given[duplicate["row"]]["lang"] != given[duplicate["of"]]["lang"])


def test_a_script_can_be_chosen(tmp_path: Path) -> None:
    assert script_names()[:2] == ["Latn", "Arab"]
    path = write_rows(
        tmp_path / "rows.jsonl", [{"text": "abc абв", "lang": "x"}, {"text": "где abc", "lang": "y"}]
    )
    train(path, tmp_path / "model", mode="exact", script="Cyrl")
    table = WordTable.of(LangidModel.load(tmp_path / "model").files)
    assert [word for word, _ in table.entries()] == ["абв", "где"]
