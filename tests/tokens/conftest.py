"""A small dirty corpus, a small tokenizer learned from it, and one call that builds a store."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from samebits.api import run
from samebits.core.options import RunOptions
from samebits.core.seeds import rng_for
from samebits.tokens.config import TokensConfig
from samebits.tokens.training.tokenizer_job import TokenizerConfig

BAD_LINES = [
    b'{"text": "cut',
    b'{"text": 3}',
    b'{"other": "x"}',
    b'{"text": "\xff"}',
    b'{"text": "\\ud800"}',
    b"not json",
    b'{"text": "two"} {"text": "values"}',
    b"[1]",
]
WORDS = [
    "the",
    "quick",
    "brown",
    "fox",
    "(don't)",
    "jumps",
    "över",
    "den",
    "trägen",
    "中文",
    "字",
    "123",
    "4567",
    "<|endoftext|>",
    "a,b;c",
    "🙂",
    "é\n\t",
]

Build = Callable[..., Path]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep probe results out of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


def dirty_bytes(num_rows: int = 400) -> bytes:
    """JSON lines with blank and bad lines, CRLF, both kinds of escapes and no final newline."""
    rng = rng_for(3, "dirty")
    lines = []
    for i in range(num_rows):
        text = " ".join(WORDS[k] for k in rng.integers(0, len(WORDS), rng.choice([0, 1, 5, 40, 200])))
        line = json.dumps({"id": i, "text": text, "label": f"l{i % 3}"}, ensure_ascii=bool(i % 2)).encode()
        lines.append(line + (b"\r" if i % 29 == 0 else b""))
        if i % 31 == 0:
            lines += [b"", BAD_LINES[(i // 31) % len(BAD_LINES)], b"   "]
    return b"\n".join(lines)


@pytest.fixture(scope="session")
def dirty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dirty corpus as a file."""
    path = tmp_path_factory.mktemp("dirty") / "dirty.jsonl"
    path.write_bytes(dirty_bytes())
    return path


@pytest.fixture(scope="session")
def tokenizer_file(dirty: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A byte-level BPE of 600 ids."""
    folder = tmp_path_factory.mktemp("tokenizer") / "out"
    config = TokenizerConfig(inputs=(str(dirty),), vocab_size=600)
    run("tokens_train", config, output=folder, options=RunOptions(max_bad="100%"))
    return folder / "tokenizer.json"


@pytest.fixture
def build(dirty: Path, tmp_path: Path) -> Build:
    """Build a store of the dirty corpus (or of other inputs) in a fresh folder."""
    number = iter(range(1000))

    def make(*inputs: Path, workers: str = "1", executor: str = "auto", **settings: Any) -> Path:
        output = tmp_path / f"store-{next(number)}"
        config = TokensConfig(inputs=tuple(map(str, inputs or (dirty,))), **settings)
        run(
            "tokens",
            config,
            output=output,
            options=RunOptions(max_bad="100%", workers=workers, executor=executor),
        )
        return output

    return make
