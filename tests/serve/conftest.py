"""A folder with one run of each kind, a server over it, and a browser; made once for all tests of a file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.serve import training
from tests.serve.browser import INSTALL, find_chromium, opened

from samebits.api import run
from samebits.core.options import RunOptions
from samebits.tokens import TokensConfig

if TYPE_CHECKING:
    from playwright.sync_api import Browser

REPO = Path(__file__).resolve().parents[2]
HOSTILE = "<script>window.hacked=1</script><img src=x onerror=window.hacked=1>\"'&{{7*7}}\u202e"


@pytest.fixture(autouse=True)
def _no_leftovers() -> Iterator[None]:
    """The server and the browser outlive a test, and their processes come and go; environment variables may not change."""
    before = {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"}
    yield
    assert {key: value for key, value in os.environ.items() if key != "PYTEST_CURRENT_TEST"} == before


@dataclass(frozen=True)
class Served:
    """A running server."""

    url: str
    folder: Path
    process: subprocess.Popen[str]

    def get(self, path: str, **headers: str) -> tuple[int, bytes]:
        """Status and body of a page."""
        return self.send("GET", path, None, **headers)

    def send(self, method: str, path: str, body: bytes | None, **headers: str) -> tuple[int, bytes]:
        """Send any request."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(self.url + path, data=body, headers=named, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    def json(self, path: str) -> Any:
        """Answer of a page that must be there."""
        status, body = self.get(path)
        assert status == 200, body
        return json.loads(body)

    def post(self, path: str, value: Any) -> tuple[int, Any]:
        """Status and answer to JSON."""
        status, body = self.send("POST", path, json.dumps(value).encode(), content_type="application/json")
        return status, json.loads(body)

    def key(self, name: str) -> str:
        """Key of a run."""
        return next(str(row["key"]) for row in self.json("/api/v1/runs")["runs"] if row["name"] == name)


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[Served]:
    """Serve a folder in a process of its own, as the command does."""
    command = [sys.executable, "-m", "samebits", "serve", str(folder), "--no-open", "--port", "0", *flags]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=REPO
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        assert line.startswith("http://"), line
        yield Served(line.strip().rstrip("/"), folder, process)
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def until(check: Callable[[], Any], seconds: float = 20.0) -> Any:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := check():
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {seconds} s")


def trained(folder: Path, **settings: Any) -> None:
    """Pretend a training run, at once."""
    run(training.JOB, training.TrainingConfig(pace=0.0, **settings), output=folder, options=RunOptions())


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs that are finished: two equal ones, one that parts from them, one with hostile texts in everything."""
    made = tmp_path_factory.mktemp("serve") / "runs"
    trained(made / "first")
    trained(made / "deep" / "again")
    trained(made / "other", seed=1)
    hostile = made / "a<b>&\"'"
    trained(hostile, sample=HOSTILE)
    return made


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small language model and a token store."""
    made = tmp_path_factory.mktemp("models") / "runs"
    text = made.parent / "book.txt"
    text.write_text("The same bytes come out, however many workers there are. " * 40)
    from samebits import lm

    small: dict[str, Any] = {
        "layers": 1,
        "heads": 2,
        "width": 16,
        "block": 16,
        "batch": 4,
        "shards": 1,
        "steps": 2,
    }
    one = RunOptions(workers="1")
    lm.train(str(text), output=made / "writer", options=one, **small)
    run("tokens", TokensConfig(inputs=(str(text),), tokenizer="byte"), output=made / "tokens", options=one)
    return made


@pytest.fixture(scope="session")
def served(folder: Path) -> Iterator[Served]:
    """A server over the folder."""
    with serving(folder) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser; tests that need one are skipped where there is none.

    It ends with its file: while it is open an event loop runs in this thread, and other tests start one of their own.
    """
    pytest.importorskip("playwright", reason="playwright is not installed: pip install 'samebits[dev]'")
    if find_chromium() is None:
        pytest.skip(INSTALL)
    with opened() as found:
        yield found
