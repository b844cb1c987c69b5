"""What programs are answered, and that all of it is documented."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from tests.serve.conftest import REPO, Served, serving
from tests.serve.test_places import start

from samebits.serve.answers import api, completions

PAGE = (REPO / "docs" / "reference" / "serve-api.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", [route.path for route in [*api.ROUTES, *completions.ROUTES]])
def test_every_address_is_documented(path: str) -> None:
    assert path.replace("{key}", "KEY") in PAGE


def test_every_documented_address_is_answered(served: Served) -> None:
    for method, path in re.findall(r"`(GET|POST) (/\S+?)[?`]", PAGE):
        if path.endswith("events"):
            continue  # they never end
        status, _ = served.send(method, path.replace("KEY", "latest"), b"" if method == "POST" else None)
        assert status != 405, path
        assert status < 500, path


def test_a_run_says_what_it_is(served: Served) -> None:
    found = served.json(f"/api/v1/runs/{served.key('first')}")
    assert (found["name"], found["job"], found["state"], found["share"]) == ("first", "lm", "finished", 1.0)
    assert found["config"]["steps"] == 60
    assert found["digest"] == json.loads((served.folder / "first" / "manifest.json").read_bytes())["digest"]
    assert served.json("/api/v1/runs/latest")["key"] == served.json("/api/v1/runs")["runs"][0]["key"]


def test_rows_and_files_are_given(served: Served) -> None:
    key = served.key("first")
    rows = served.json(f"/api/v1/runs/{key}/rows?file=steps.jsonl&page=1")
    assert [row["row"]["step"] for row in rows["rows"]] == list(range(50, 60))
    assert served.json(f"/api/v1/runs/{key}/rows?file=steps.jsonl&where.step=7")["rows"][0]["line"] == 8
    status, body = served.get(f"/api/v1/runs/{key}/file?name=steps.jsonl")
    assert (status, body) == (200, (served.folder / "first" / "steps.jsonl").read_bytes())
    files = served.json(f"/api/v1/runs/{key}/files")
    assert "steps.jsonl" in {file["name"] for file in files["files"]}


def test_two_runs_are_compared(served: Served) -> None:
    first, again, other = (served.key(name) for name in ("first", "deep/again", "other"))
    found = served.json(f"/api/v1/compare?runs={first},{again},{other}")
    assert [comparison["verdict"] for comparison in found["compared"]] == ["same", "different"]
    assert found["compared"][1]["differences"][0]["kind"] == "step"
    assert [setting["name"] for setting in found["settings"]] == ["seed"]
    for runs in ("", first, f"{first},nothing", ",".join(f"{k}" for k in range(20))):
        assert served.get(f"/api/v1/compare?runs={runs}")[0] in (400, 404)


def test_a_stream_begins_with_everything_and_goes_on_with_what_is_new(tmp_path: Path) -> None:
    process = start(tmp_path / "model", pace=0.05, steps=600)
    try:
        with serving(tmp_path) as served:
            key = served.key("model")
            stream = urllib.request.urlopen(f"{served.url}/api/v1/runs/{key}/events?since=0", timeout=30)
            with stream:
                assert stream.headers["content-type"].startswith("text/event-stream")
                news = [json.loads(line[6:]) for line in _lines(stream, 3)]
            assert {"stage", "loss", "elapsed"} <= set(news[0]["text"])
            assert [update["version"] for update in news] == sorted({update["version"] for update in news})
            assert all("elapsed" in update["text"] and "workers" not in update["text"] for update in news[1:])
    finally:
        process.kill()
        process.wait()


def test_an_interrupt_ends_the_server_quietly_while_pages_watch(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "samebits", "serve", str(tmp_path), "--no-open", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=REPO)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    with urllib.request.urlopen(f"{url}api/v1/events", timeout=30):
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0
    assert said.splitlines() == [f"serving the runs in {tmp_path}; press Ctrl-C to stop"]


def _lines(stream: object, wanted: int) -> list[bytes]:
    found: list[bytes] = []
    for line in stream:  # type: ignore[attr-defined]
        if line.startswith(b"data: "):
            found.append(line)
        if len(found) == wanted:
            break
    return found
