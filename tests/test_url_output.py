"""Outputs at URLs: whole or not there, the bytes of a local run, and an upload that broke off goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from tests.graph.naive import random_graph

from samebits import api, url_output
from samebits.charset.conversion.decode import DecodeConfig
from samebits.cli import app
from samebits.core.observing.events import Event, ShardDone
from samebits.core.options import RunOptions
from samebits.count.config import CountConfig
from samebits.count.functions import count
from samebits.data.artifact import open_artifact
from samebits.errors import ConfigError, OutputExists, OutputFailed
from samebits.graph.config import GraphConfig
from samebits.tokens.config import TokensConfig

SAMPLES = Path(__file__).resolve().parents[1] / "src" / "samebits" / "samples"
GRAPHS = "".join(json.dumps(random_graph(41, k, nodes=2 + k % 3).to_json()) + "\n" for k in range(7))


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SAMEBITS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(url_output, "RETRY_SECONDS", (0.0, 0.0))
    MemoryFileSystem.store.clear()
    yield
    MemoryFileSystem.store.clear()


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_bytes(b"one two two\nthree three three\n" * 50)
    return path


def stored(path: str = "/out") -> dict[str, bytes]:
    """What is in memory at a path."""
    system = fsspec.filesystem("memory")
    return {name.removeprefix(path + "/"): system.cat_file(name) for name in system.find(path)}


@pytest.mark.parametrize("job", ["count", "tokens", "charset_decode", "graph"])
def test_a_url_gets_the_files_of_a_local_run(job: str, text: Path, tmp_path: Path) -> None:
    (tmp_path / "graphs.jsonl").write_text(GRAPHS)
    config: Any = {
        "count": CountConfig(inputs=(str(text),)),
        "tokens": TokensConfig(inputs=(str(text),), val_ratio=0.2, shuffle=True),
        "charset_decode": DecodeConfig(inputs=(str(SAMPLES / "de.txt"),)),
        "graph": GraphConfig(inputs=(str(tmp_path / "graphs.jsonl"),)),
    }[job]
    local = api.run(job, config, output=tmp_path / "local")
    record = api.run(job, config, output="memory://out")
    assert record.artifact_digest == local.artifact_digest
    found = stored()
    assert set(found) == {
        *open_artifact(tmp_path / "local").files,
        "manifest.json",
        "record.json",
        "events.jsonl",
    }
    for name in [*open_artifact(tmp_path / "local").files, "manifest.json"]:
        assert found[name] == (tmp_path / "local" / name).read_bytes()
    assert not list((tmp_path / "cache" / "outputs").glob("*/out*"))  # nothing is left but a lock


def test_the_command_line_takes_urls_and_says_where_the_result_is(
    text: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert app.run(["count", str(text), "-o", "memory://out/deeper"]) == 0
    assert "written to memory://out/deeper" in capsys.readouterr().err
    assert set(stored("/out/deeper")) >= {"counts.jsonl", "manifest.json"}


def test_file_urls_are_local_folders(text: Path, tmp_path: Path) -> None:
    config = CountConfig(inputs=(str(text),))
    record = api.run("count", config, output=f"file://{tmp_path}/local")
    assert open_artifact(tmp_path / "local").digest == record.artifact_digest
    assert not (tmp_path / "cache").exists()


def test_an_artifact_is_replaced_only_when_asked_and_leaves_nothing_behind(text: Path) -> None:
    config = CountConfig(inputs=(str(text),))
    api.run("count", config, output="memory://out")
    with pytest.raises(OutputExists, match="already exists") as caught:
        api.run("count", config, output="memory://out/")
    assert "--overwrite" in caught.value.hint
    parquet = CountConfig(inputs=(str(text),), table="parquet")
    api.run("count", parquet, output="memory://out", options=RunOptions(overwrite=True))
    assert "counts.parquet" in stored()
    assert "counts.jsonl" not in stored()


def test_a_folder_that_is_no_artifact_is_left_alone(text: Path) -> None:
    fsspec.filesystem("memory").pipe_file("/out/mine.txt", b"mine")
    with pytest.raises(OutputExists, match="not an artifact"):
        api.run("count", CountConfig(inputs=(str(text),)), output="memory://out")
    assert stored() == {"mine.txt": b"mine"}


class _Failing:
    """Refuses some uploads, each of them so many times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, names: dict[str, int], error: Exception) -> None:
        self.put, self.sent, names = MemoryFileSystem.put_file, list[str](), dict(names)

        def put_file(system: Any, source: str, target: str, *more: Any, **named: Any) -> None:
            name = Path(source).name
            if names.get(name, 0) > 0:
                names[name] -= 1
                raise error
            self.sent.append(name)
            self.put(system, source, target, *more, **named)

        monkeypatch.setattr(MemoryFileSystem, "put_file", put_file)


def test_trouble_that_passes_is_waited_for_and_the_manifest_comes_last(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = _Failing(monkeypatch, {"counts.jsonl": 2}, ConnectionError("reset"))
    api.run("count", CountConfig(inputs=(str(text),)), output="memory://out")
    assert store.sent[-1] == "manifest.json"
    assert "counts.jsonl" in store.sent


def test_an_upload_that_breaks_off_leaves_no_manifest_and_goes_on_without_computing_again(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = CountConfig(inputs=(str(text),))
    local = api.run("count", config, output=tmp_path / "local")
    with monkeypatch.context() as context:
        _Failing(context, {"counts.jsonl": 9}, PermissionError("denied"))
        with pytest.raises(OutputFailed, match=r"cannot write memory://out/counts\.jsonl") as caught:
            api.run("count", config, output="memory://out")
    assert "goes on with the upload" in caught.value.hint
    assert stored()
    assert "manifest.json" not in stored()
    events: list[Event] = []
    record = api.run("count", config, output="memory://out", observer=events.append)
    assert not [event for event in events if isinstance(event, ShardDone)]
    assert record.artifact_digest == local.artifact_digest
    assert stored()["counts.jsonl"] == (tmp_path / "local" / "counts.jsonl").read_bytes()
    assert "manifest.json" in stored()


def test_a_staged_result_of_different_settings_is_not_uploaded(
    text: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as context:
        _Failing(context, {"manifest.json": 9}, ConnectionError("reset"))
        with pytest.raises(OutputFailed, match=r"cannot write memory://out/manifest.json"):
            api.run("count", CountConfig(inputs=(str(text),)), output="memory://out")
    other = CountConfig(inputs=(str(text),), n=2)
    record = api.run("count", other, output="memory://out")
    assert json.loads(stored()["manifest.json"])["digest"] == record.artifact_digest


def test_bytes_that_are_missing_in_the_store_are_noticed(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put = MemoryFileSystem.put_file

    def cut_short(system: Any, source: str, target: str, *more: Any, **named: Any) -> None:
        put(system, source, target, *more, **named)
        if target.endswith("counts.jsonl"):
            system.pipe_file(target, b"")

    monkeypatch.setattr(MemoryFileSystem, "put_file", cut_short)
    with pytest.raises(OutputFailed, match=r"counts.jsonl: ConnectionError: 0 of \d+ bytes"):
        api.run("count", CountConfig(inputs=(str(text),)), output="memory://out")


@pytest.mark.parametrize(
    ("url", "error", "match"),
    [
        ("https://example.org/out", ConfigError, "can be read, not written"),
        ("nothing://out", ConfigError, "Protocol not known"),
        ("memory://", ConfigError, "without a folder"),
    ],
)
def test_urls_that_cannot_be_written_are_named(
    url: str, error: type[Exception], match: str, text: Path
) -> None:
    with pytest.raises(error, match=match):
        api.run("count", CountConfig(inputs=(str(text),)), output=url)


def test_a_missing_package_is_named(text: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str) -> Any:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", refuse)
    with pytest.raises(OutputFailed, match="Install s3fs") as caught:
        api.run("count", CountConfig(inputs=(str(text),)), output="s3://bucket/out")
    assert caught.value.hint == "install the package it names"


def test_functions_that_open_what_they_wrote_ask_for_a_folder(text: Path) -> None:
    with pytest.raises(ConfigError, match="where a local folder is needed"):
        count(str(text), output="memory://out")
