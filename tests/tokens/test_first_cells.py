"""What is encoded before the plan is made is what workers would have made, or it is not used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Timer
from typing import Any

import numpy as np
import pytest

from samebits.api import run
from samebits.cli.early import SWITCH_SECONDS, begin_early
from samebits.core.options import RunOptions
from samebits.data.inputs.blocks import taken_blocks
from samebits.errors import InputError
from samebits.machine import early_start
from samebits.tokens.config import TokensConfig
from samebits.tokens.early import first_cells, guess
from samebits.tokens.early.guess import guess_cut
from samebits.tokens.encoders.byte_pairs_encoder import BytePairsEncoder
from samebits.tokens.encoders.interface import column_of
from samebits.tokens.encoders.probe_memory import probe_key, remember
from samebits.tokens.tokenizers import file_tokenizer

CELL = 1 << 18


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    rows = [
        json.dumps({"text": f"row number {i}: " + "some words, é and more\n" * (i % 50)}) for i in range(2500)
    ]
    rows[3] = "bad"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(guess, "CELL_BYTES", CELL)
    monkeypatch.setattr(guess, "FEWEST_CELLS", 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr(first_cells, "_BEGUN", [])
    monkeypatch.setattr(first_cells, "_ROWS", {})
    interval = sys.getswitchinterval()
    yield
    sys.setswitchinterval(interval)
    early_start.take("byte pairs")


def begin(text: Path, tokenizer: Path, *flags: str) -> None:
    file_tokenizer._LIVE.clear()  # a command begins without an encoder
    remember(probe_key(tokenizer.read_bytes(), "samebits", "text", "byte pairs"))
    begin_early(["tokens", "build", str(text), "-o", "out", "-t", str(tokenizer), *flags])


def wait() -> int:
    """Wait for the thread; return how many cells it has."""
    (cells,) = first_cells._BEGUN
    cells._thread.join()
    return len(cells._done)


def store(text: Path, tokenizer: Path, output: Path, **settings: Any) -> str:
    config = TokensConfig(inputs=(str(text),), tokenizer=str(tokenizer), cell_mb=CELL / (1 << 20), **settings)
    record = run("tokens", config, output=output, options=RunOptions(workers=2, max_bad=9))
    return record.artifact_digest


def test_threads_that_begin_early_are_let_in_sooner_than_python_would(
    text: Path, tokenizer_file: Path
) -> None:
    before = sys.getswitchinterval()
    begin(text, tokenizer_file, "-w", "1")  # begins nothing
    assert sys.getswitchinterval() == before
    begin(text, tokenizer_file)
    assert sys.getswitchinterval() == pytest.approx(SWITCH_SECONDS)
    wait()
    taken_blocks(str(text))


def test_a_build_takes_the_cells_and_is_the_same(
    text: Path, tokenizer_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = store(text, tokenizer_file, tmp_path / "one")
    taken = []
    own = first_cells.taken_rows

    def watched(*arguments: Any) -> Any:
        found = own(*arguments)
        taken.append(found is not None)
        return found

    monkeypatch.setattr("samebits.tokens.tokenizers.file_tokenizer.taken_rows", watched)
    begin(text, tokenizer_file)
    most = min(first_cells.MOST_CELLS, -(-text.stat().st_size // CELL))
    assert wait() == most - 1  # the first cell has a line that only the readers can judge
    assert store(text, tokenizer_file, tmp_path / "two") == expected
    assert sum(taken) == most - 1
    assert first_cells._ROWS == {}


@pytest.mark.parametrize(
    "settings", [{"add_bos": True}, {"add_eos": False}, {"dtype": "uint32"}, {"max_length": 20}]
)
def test_other_settings_than_guessed_give_their_own_ids(
    text: Path, tokenizer_file: Path, tmp_path: Path, settings: dict[str, Any]
) -> None:
    expected = store(text, tokenizer_file, tmp_path / "one", **settings)
    begin(text, tokenizer_file)
    wait()
    assert store(text, tokenizer_file, tmp_path / "two", **settings) == expected


def test_a_file_that_changed_is_read_again(text: Path, tokenizer_file: Path, tmp_path: Path) -> None:
    begin(text, tokenizer_file)
    wait()
    assert taken_blocks(str(text))[1]  # else the run is refused: it was planned with what was there
    data = bytearray(text.read_bytes())
    data[data.index(b"words")] = ord("W")
    text.write_bytes(data)
    found = store(text, tokenizer_file, tmp_path / "one")
    first_cells._BEGUN.clear()
    assert found == store(text, tokenizer_file, tmp_path / "two")


def test_a_tokenizer_that_changed_gives_its_own_ids(text: Path, tokenizer_file: Path, tmp_path: Path) -> None:
    tokenizer = tmp_path / "tokenizer.json"
    tokenizer.write_bytes(tokenizer_file.read_bytes())
    begin(text, tokenizer)
    wait()
    document = json.loads(tokenizer.read_bytes())
    document["model"]["merges"] = document["model"]["merges"][:5]
    tokenizer.write_text(json.dumps(document))
    found = store(text, tokenizer, tmp_path / "one")
    first_cells._BEGUN.clear()
    assert found == store(text, tokenizer, tmp_path / "two")


def test_who_asks_for_the_cell_at_work_waits_for_it_and_no_other_is_begun(
    text: Path, tokenizer_file: Path
) -> None:
    encoder, began, goes_on = BytePairsEncoder(tokenizer_file.read_bytes()), Event(), Event()

    class Slow:
        def encode_json_cell(self, *arguments: Any, **named: Any) -> tuple[bytearray, ...] | None:
            began.set()
            goes_on.wait(10)
            return encoder.encode_json_cell(*arguments, **named)

    text.write_text(text.read_text(encoding="utf-8").replace("bad\n", ""), encoding="utf-8")
    cut = guess_cut([str(text)])
    assert cut is not None
    cells = first_cells.FirstCells(cut, lambda: (Slow(), (0,)))
    began.wait(10)
    Timer(0.05, goes_on.set).start()
    assert cells.take(cut, 0) is not None
    assert cells.take(cut, 0) is None
    cells._thread.join()
    assert cells._done == {}


def test_what_fails_early_fails_where_it_would_have(text: Path, tokenizer_file: Path, tmp_path: Path) -> None:
    begin(text, tokenizer_file)
    wait()
    text.unlink()
    with pytest.raises(InputError):
        store(text, tokenizer_file, tmp_path / "one")


@pytest.mark.parametrize(
    "flags",
    [
        ["-w", "1"],
        ["--workers=1"],
        ["--limit", "5"],
        ["--columns", "a"],
        ["-x", "processes"],
        ["--no-add-eos"],
    ],
)
def test_nothing_is_guessed_for_one_worker_or_flags_that_change_rows(text: Path, flags: list[str]) -> None:
    assert guess_cut([str(text), "-o", "out", *flags]) is None
    assert guess_cut([str(text), "-o", "out", "-w", "2", "-q"]) is not None


def test_the_modules_of_the_thread_do_without_numpy() -> None:
    names = ("samebits.tokens.early.first_cells", "samebits.tokens.encoders.byte_pairs_encoder")
    code = f"import sys, {', '.join(names)}; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.parametrize(
    "lines",
    [
        b'{"text": "a b"}\n{"text": "c\\n\\u00e9"}\n{"text": ""}',
        b'{"text": "no newline at the end"}',
        b'{"text": "one"}\r\n{"text": "two", "more": [1, "x"]}\r\n',
    ],
)
@pytest.mark.parametrize("cell_bytes", [1, 7, 20, 1000])
def test_a_cell_is_what_the_readers_and_the_encoder_make_of_it(
    tokenizer_file: Path, lines: bytes, cell_bytes: int
) -> None:
    encoder, rows = BytePairsEncoder(tokenizer_file.read_bytes()), []
    for start in range(0, len(lines), cell_bytes):
        stop = min(start + cell_bytes, len(lines))
        found = encoder.encode_json_cell(
            memoryview(bytearray(lines)), start, stop, is_end=True, column="text", after=(7,)
        )
        begins = [at for at in range(start, stop) if at == 0 or lines[at - 1 : at] == b"\n"]
        assert (found is None) == (not begins)
        if found is not None:
            assert np.frombuffer(found[0], np.int64).tolist() == begins
            lengths = np.frombuffer(found[3], np.int64)
            rows += np.split(np.frombuffer(found[4], np.uint16), np.cumsum(lengths)[:-1])
    texts = column_of([json.loads(line)["text"] for line in lines.split(b"\n") if line])
    ids, lengths = encoder.encode_rows(texts, (), (7,))
    assert [row.tolist() for row in rows] == [row.tolist() for row in np.split(ids, np.cumsum(lengths)[:-1])]


@pytest.mark.parametrize(
    "lines",
    [
        b'\xef\xbb\xbf{"text": "a"}\n',
        b'{"text": "a"}\n\n{"text": "b"}\n',
        b'{"text": "\xff"}\n',
        b'{"text": 1}\n',
        b'{"text": "not whole',
        b"\n",
    ],
)
def test_a_cell_with_another_line_is_left_to_the_readers(tokenizer_file: Path, lines: bytes) -> None:
    encoder = BytePairsEncoder(tokenizer_file.read_bytes())
    data = memoryview(bytearray(lines))
    assert encoder.encode_json_cell(data, 0, len(lines), is_end=False, column="text", after=()) is None
    with pytest.raises(ValueError, match="a cell"):
        encoder.encode_json_cell(data, 2, 1, is_end=False, column="text", after=())
