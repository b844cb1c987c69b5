"""Digests of integer results on committed text: they must hold on every machine, for every version of every library.

A digest may change only together with the job's version and a line in the changelog that says why.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import samebits
from samebits import CountConfig

GOLDEN: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("count.json").read_text())
TEXT = "The cat sat on the mat.\nLa mère a mangé l’œuf.\n\nСъешь ещё этих булок.\n東京は  晴れ。\n" * 3


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_the_digest_of_count_is_the_committed_one(name: str, tmp_path: Path) -> None:
    text = tmp_path / "golden.txt"
    text.write_text(TEXT, encoding="utf-8", newline="")
    config = CountConfig(inputs=(str(text),), **GOLDEN[name]["config"])
    record = samebits.run("count", config, output=tmp_path / "out")
    assert record.artifact_digest == GOLDEN[name]["digest"]
    assert record.plan_digest == GOLDEN[name]["plan"]
