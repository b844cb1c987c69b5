"""The tokens commands as a user types them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from samebits.cli.app import run
from samebits.cli.early import begin_early
from samebits.machine import early_start as early
from samebits.tokens.encoders.allow_list import byte_alphabet
from samebits.tokens.encoders.probe_memory import probe_key, remember


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": f"row number {i}"}) + "\n" for i in range(50)) + "bad\n")
    return path


def test_train_build_show_stats_convert(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = ("--max-bad", "10")
    tokenizer, store, rows = (str(tmp_path / name) for name in ("tokenizer", "store", "rows"))
    assert run(["tokens", "train-tokenizer", str(text), "-o", tokenizer, "--vocab-size", "300", *many]) == 0
    assert run(["tokens", "build", str(text), "-o", store, "-t", tokenizer, "--val-ratio", "0.2", *many]) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert "note: estimate:" in said.err
    assert "51 lines read = 50 used + 0 blank + 1 bad + 0 dropped" in said.err
    assert run(["tokens", "show", store, "--rows", "0:1"]) == 0
    assert capsys.readouterr().out.startswith("row number ")
    assert run(["tokens", "show", store, "--rows", "0", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)) == {"row", "source", "length", "text", "ids"}
    assert run(["tokens", "stats", store]) == 0
    assert "rows            " in capsys.readouterr().out
    assert run(["tokens", "convert", store, "-o", rows, "--layout", "rows", "--max-length", "8"]) == 0
    capsys.readouterr()
    assert run(["tokens", "stats", rows, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["layout"] == "rows"


def test_monitor_and_profile_say_what_happens(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--monitor", "--profile", str(tmp_path / "stacks.txt"), "--max-bad", "10"]
    assert run(["tokens", "build", str(text), "-o", str(tmp_path / "store"), *flags]) == 0
    said = capsys.readouterr().err
    assert "CPU % [" in said
    assert "tokens/s" in said
    assert "1 bad rows" in said
    assert (tmp_path / "stacks.txt").exists()


@pytest.mark.parametrize(
    ("flags", "code", "words"),
    [
        (["-t", "wrod"], 1, "did you mean 'word'"),
        (["--layout", "rows", "--export", "nanogpt"], 2, "--export needs --layout packed"),
        (["--max-bad", "0"], 1, "a.jsonl, line 51"),
        (["--dtype", "uint8"], 2, "too small for 260 ids"),
    ],
)
def test_mistakes_end_with_a_code_and_a_way_out(
    text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], code: int, words: str
) -> None:
    given = ["--max-bad", "10", *flags]
    assert run(["tokens", "build", str(text), "-o", str(tmp_path / "store"), *given]) == code
    assert words in capsys.readouterr().err


@pytest.mark.parametrize("form", ["-t {}", "--tokenizer {}", "--tokenizer={}"])
def test_a_tokenizer_file_on_the_command_line_is_loaded_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    vocabulary = {char: i for i, char in enumerate(byte_alphabet())}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    document = {"model": {"type": "BPE", "vocab": vocabulary, "merges": []}, "pre_tokenizer": level}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(document))
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    arguments = ["tokens", "build", "a.jsonl", *form.format(path).split()]
    begin_early(arguments)
    assert (early.take(f"gigatoken text {digest}"), early.take(f"fastokens {digest}")) == (None, None)
    for package, key in (("fastokens", f"fastokens {digest}"), ("gigatoken", f"gigatoken text {digest}")):
        remember(probe_key(path.read_bytes(), package, "text"))  # a probe chose it before
        begin_early(arguments)
        loaded = early.take(key)
        assert loaded is not None
        assert loaded.vocab_size == 256


@pytest.mark.parametrize(
    "arguments",
    [[], ["tokens"], ["tokens", "build", "-t"], ["tokens", "build", "-t", "none"], ["count", "x"]],
)
def test_nothing_is_begun_without_a_file(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []
    monkeypatch.setattr(early, "begin", lambda key, make: begun.append(key))
    begin_early(arguments)
    assert begun == []
