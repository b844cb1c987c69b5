"""Bad input, seen from the end: every row is used, blank or bad; bad ones are listed; too many stop the run."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from samebits.api import run
from samebits.core.options import RunOptions
from samebits.core.plan import Plan
from samebits.count.config import CountConfig
from samebits.count.job import JOB
from samebits.data.artifact import open_artifact
from samebits.errors import ConfigError, InputError, SamebitsError, TooManyBadRows


@dataclass
class Result:
    """What a run tells about its input."""

    lines: dict[str, int]
    counts: dict[str, int]
    bad: list[dict[str, Any]]


def count(tmp_path: Path, *inputs: Path, max_bad: str = "100%", **config: Any) -> Result:
    output = tmp_path / "out"
    settings = CountConfig(inputs=tuple(map(str, inputs)), **config)
    run("count", settings, output=output, options=RunOptions(executor="serial", max_bad=max_bad))
    artifact = open_artifact(output, job="count")
    summary = artifact.json("summary.json")
    rows = [json.loads(line) for line in artifact.path("counts.jsonl").read_bytes().splitlines()]
    bad = [json.loads(line) for line in artifact.path("bad_rows.jsonl").read_bytes().splitlines()]
    lines = summary["lines"]
    assert lines["read"] == lines["used"] + lines["blank"] + lines["bad"]
    assert lines["bad"] == len(bad)
    return Result(lines, {row["ngram"]: row["count"] for row in rows}, bad)


def write(tmp_path: Path, name: str, data: bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def nothing_left(tmp_path: Path) -> bool:
    return not any((tmp_path / name).exists() for name in ("out", "out.partial", "out.journal"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", {}),
        (b"\xef\xbb\xbf", {}),
        (b"\xef\xbb\xbfone two", {"one": 1, "two": 1}),
        (b"one\r\ntwo\r\n", {"one": 1, "two": 1}),
        (b"one\ntwo", {"one": 1, "two": 1}),
        (b"\n\n  \n\n", {}),
        (b"one\n\n\ntwo\n", {"one": 1, "two": 1}),
    ],
)
def test_strange_but_good_text_is_counted_and_adds_up(
    data: bytes, words: dict[str, int], tmp_path: Path
) -> None:
    result = count(tmp_path, write(tmp_path, "a.txt", data))
    assert (result.counts, result.bad) == (words, [])


def test_invalid_utf8_is_listed_with_file_line_and_offset(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", b"one\n\xff\xfe\n\ntwo\nab\xc3(\n")
    result = count(tmp_path, path)
    assert result.counts == {"one": 1, "two": 1}
    assert result.lines == {"read": 5, "used": 2, "blank": 1, "bad": 2}
    places = [(row["source"], row["line"], row["offset"]) for row in result.bad]
    assert [place[:2] for place in places] == [("a.txt", 2), ("a.txt", 5)]
    assert [4 <= places[0][2] <= 5, 12 <= places[1][2] <= 14] == [True, True]
    assert all(row["reason"] for row in result.bad)


def test_nul_bytes_and_lone_carriage_returns_lose_no_word(tmp_path: Path) -> None:
    result = count(tmp_path, write(tmp_path, "a.txt", b"one\0two\nthree\rfour\nfive\n"))
    assert "five" in result.counts
    assert result.lines["read"] == result.lines["used"] + result.lines["bad"] == 3


JSON_ROWS = [
    (b'{"text": "good"}', True),
    (b'{"text": "\\ud800 lone"}', False),
    (b'{"text": 5}', False),
    (b'{"other": "x"}', False),
    (b'{"text": null}', False),
    (b'{"text": "cut', False),
    (b"[1]", False),
    (b"[" * 50_000, False),
    (b'{"other": 1, "text": "good"}', True),
    (b'{"text": "bad\xff"}', False),
    (b"\xef\xbb\xbf", False),
]


@pytest.mark.parametrize("packed", [False, True])
def test_every_json_row_is_used_or_listed(packed: bool, tmp_path: Path) -> None:
    data = b"\n".join(row for row, _ in JSON_ROWS) + b"\n"
    name = "a.jsonl.gz" if packed else "a.jsonl"
    path = write(tmp_path, name, gzip.compress(data) if packed else data)
    result = count(tmp_path, path)
    assert result.counts == {"good": 2}
    assert [row["line"] for row in result.bad] == [
        number for number, (_, good) in enumerate(JSON_ROWS, 1) if not good
    ]


def test_csv_columns_in_another_order_and_numbers_as_text_are_fine(tmp_path: Path) -> None:
    first = write(tmp_path, "a.csv", b"label,text\nx,one\ny,42\n")
    second = write(tmp_path, "b.csv", b'text,label\n"two\nlines",x\n')
    result = count(tmp_path, first, second)
    assert result.counts == {"one": 1, "42": 1, "two": 1, "lines": 1}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", b"label,words\nx,one\n"),
        ("a.parquet", b"not parquet"),
        ("a.docx", b"?"),
    ],
)
def test_a_file_that_cannot_be_used_is_an_error_with_its_name_and_leaves_nothing(
    name: str, data: bytes, tmp_path: Path
) -> None:
    with pytest.raises(SamebitsError) as caught:
        count(tmp_path, write(tmp_path, name, data))
    assert isinstance(caught.value, InputError | ConfigError)
    assert name in caught.value.message
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("half.txt.gz", gzip.compress(b"one two\n" * 5000, mtime=0)[:-20]),
        ("no.txt.gz", b"not a gzip"),
        ("half.txt.zst", b"\x28\xb5\x2f\xfd\x04"),
    ],
)
def test_the_damaged_rest_of_a_packed_file_is_a_bad_row(name: str, data: bytes, tmp_path: Path) -> None:
    path = write(tmp_path, name, data)
    with pytest.raises(TooManyBadRows, match=name):
        count(tmp_path, path, max_bad="0")
    result = count(tmp_path, path)
    assert [row["source"] for row in result.bad] == [name]
    assert result.bad[0]["reason"]


def strange_places(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    (tmp_path / "broken.txt").symlink_to(tmp_path / "nowhere")
    yield "broken link", tmp_path / "broken.txt"
    os.mkfifo(tmp_path / "pipe.txt")
    yield "pipe", tmp_path / "pipe.txt"
    yield "no such file", tmp_path / "missing.txt"
    (tmp_path / "nothing").mkdir()
    yield "nothing", tmp_path / "nothing"


def test_what_is_no_file_is_refused_by_name(tmp_path: Path) -> None:
    for words, path in strange_places(tmp_path):
        with pytest.raises(InputError, match=words):
            count(tmp_path, path)
        assert nothing_left(tmp_path)


def test_no_input_at_all_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        count(tmp_path)
    assert nothing_left(tmp_path)


def test_names_with_newlines_and_bytes_that_are_no_utf8_are_listed_safely(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in (b"new\nline.txt", b"caf\xe9.txt"):
        (folder / os.fsdecode(name)).write_bytes(b"good\n\xff\n")
    result = count(tmp_path, folder)
    assert result.counts == {"good": 2}
    assert [row["source"] for row in result.bad] == ["caf\\xe9.txt", "new\nline.txt"]


def test_too_many_bad_rows_stop_the_run_and_the_list_is_kept(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", b"one\n" * 10 + b"\xff\n" * 3)
    for limit in ("2", "1%", "0"):
        with pytest.raises(TooManyBadRows, match=r"of 13 rows are unusable.*a\.txt, line 11") as caught:
            count(tmp_path, path, max_bad=limit)
        assert "--max-bad 3" in caught.value.hint
        listed = (tmp_path / "out.journal" / "bad_rows.jsonl").read_bytes().splitlines()
        assert [json.loads(line)["line"] for line in listed] == [11, 12, 13]
        assert not (tmp_path / "out").exists()
    assert count(tmp_path, path, max_bad="3").lines["bad"] == 3
    assert not (tmp_path / "out.journal").exists()


def test_the_limit_does_not_change_the_result(tmp_path: Path) -> None:
    path = write(tmp_path, "a.txt", b"one\n" * 10 + b"\xff\n")
    digests = set()
    for number, limit in enumerate(("1", "50%", "100%")):
        record = run(
            "count",
            CountConfig(inputs=(str(path),)),
            output=tmp_path / f"out{number}",
            options=RunOptions(max_bad=limit),
        )
        digests.add(record.artifact_digest)
    assert len(digests) == 1


@dataclass(frozen=True)
class RewrittenAfterPlan:
    """The count job, with somebody who writes to the input between plan and task."""

    name: str = "count"
    version: int = 1
    summary: str = ""
    Config: type[CountConfig] = CountConfig
    default_executor: str = "serial"
    stages: tuple[str, ...] = ()
    bytes_per_worker: int = 0
    data: bytes = b""

    def plan(self, config: CountConfig) -> Plan:
        planned: Plan = JOB.plan(config)
        Path(config.inputs[0]).write_bytes(self.data)
        return planned

    def run(self, plan: Plan, config: CountConfig, engine: Any, out: Any) -> dict[str, Any]:
        return JOB.run(plan, config, engine, out)


@pytest.mark.parametrize("data", [b"one two threx\n", b"one", b"one two three four\n", b""])
@pytest.mark.parametrize("executor", ["serial", "threads"])
def test_an_input_rewritten_after_the_plan_is_refused_with_path_and_offset(
    data: bytes, executor: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "a.txt", b"one two three\n")
    job: Any = RewrittenAfterPlan(data=data)
    with pytest.raises(InputError, match=r"a\.txt, byte \d+: the input changed") as caught:
        run(
            job,
            CountConfig(inputs=(str(path),)),
            output=tmp_path / "out",
            options=RunOptions(executor=executor),
        )
    assert caught.value.hint
    assert nothing_left(tmp_path)
