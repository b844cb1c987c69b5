"""Run command lines in this process and look at what they print."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from samebits.cli.app import run


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def samebits(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Call the command line as ``samebits("count", path, "-o", out)``."""
    before = signal.getsignal(signal.SIGINT)

    def call(*arguments: str | Path) -> Ended:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    yield call
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text("the cat\nthe dog\n")
    return path
