"""How a compressed file is cut never changes a bit of an artifact."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.data.test_cuts import PACKERS
from tests.small_jobs import ANY_BAD, SAMPLES

from samebits.api import run
from samebits.charset.config import CharsetConfig
from samebits.core.options import RunOptions
from samebits.count.config import CountConfig
from samebits.data.compressed import opening, points
from samebits.data.inputs import corpus
from samebits.langid.config import LangidConfig
from samebits.tokens.config import TokensConfig
from samebits.tokens.training.tokenizer_job import TokenizerConfig
from samebits.verification import artifacts

CELL_BYTES = 3000
CONFIGS: dict[str, Any] = {
    "charset": CharsetConfig(inputs=("",), languages=("de", "he")),
    "count": CountConfig(inputs=("",), n=2),
    "langid": LangidConfig(inputs=("",)),
    "tokens": TokensConfig(inputs=("",), tokenizer="byte", shuffle=True),
    "tokens_train": TokenizerConfig(inputs=("",), vocab_size=300),
}


def small_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut files of some kilobytes into several shards; jobs have larger cells of their own."""
    cells, cut = corpus._cells, opening.cut_compressed
    monkeypatch.setattr(points, "SPACING", 2000)
    monkeypatch.setattr(opening, "LEAST_BYTES", 1)
    monkeypatch.setattr(opening, "cut_compressed", lambda sources, _: cut(sources, CELL_BYTES))
    monkeypatch.setattr(corpus, "_cells", lambda source, _: cells(source, CELL_BYTES))


@pytest.fixture(scope="module")
def rows() -> bytes:
    """Labelled rows, some of them bad."""
    lines = []
    for language in ("de", "en", "he"):
        for text in (SAMPLES / f"{language}.txt").read_text(encoding="utf-8").splitlines()[:60]:
            lines.append(json.dumps({"text": text, "lang": language}, ensure_ascii=False))
            lines += ["", "no row"] if len(lines) % 20 == 0 else []
    return "\n".join(lines).encode()


@pytest.mark.parametrize("packer", ["blocks", "sized members", "frames", "one frame"])
@pytest.mark.parametrize("name", CONFIGS)
def test_a_cut_file_gives_the_bits_of_the_whole_one(
    name: str, packer: str, rows: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix, pack = PACKERS[packer]
    path = tmp_path / f"rows.jsonl.{suffix}"
    path.write_bytes(pack(rows))
    config = replace(CONFIGS[name], inputs=(str(path),))
    options = RunOptions(executor="threads", workers="2", max_bad=ANY_BAD)
    run(name, config, output=tmp_path / "whole", options=options)
    small_cells(monkeypatch)
    assert len(corpus.open_corpus([str(path)]).shards()) > 3
    run(name, config, output=tmp_path / "cut", options=options)
    artifacts.compare(tmp_path / "whole", tmp_path / "cut")
