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


def command_line(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Give a function to call as ``samebits("count", path, "-o", out)``."""
    before = signal.getsignal(signal.SIGINT)

    def call(*arguments: str | Path) -> Ended:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ended(code, captured.out, captured.err)

    yield call
    signal.signal(signal.SIGINT, before)
