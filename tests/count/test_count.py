"""The count job against collections.Counter, and how its numbers add up."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import samebits
from samebits import CountConfig, RunOptions, SamebitsError
from samebits.errors import ConfigError, OutputExists, TooManyBadRows

TEXT = "the cat sat\n\non the Mat\r\nthe end"


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.txt"
    path.write_text(TEXT, newline="")
    return path


def run(tmp_path: Path, *inputs: Path, **settings: Any) -> Path:
    output = tmp_path / "out"
    samebits.run("count", CountConfig(inputs=tuple(map(str, inputs)), **settings), output=output)
    return output


def table_of(output: Path) -> dict[str, int]:
    rows = [json.loads(line) for line in (output / "counts.jsonl").read_text().splitlines()]
    return {row["ngram"]: row["count"] for row in rows}


def test_words_are_counted_as_counter_would(tmp_path: Path, book: Path) -> None:
    assert table_of(run(tmp_path, book)) == Counter(TEXT.split())


def test_the_table_is_ranked_and_ties_go_by_name(tmp_path: Path, book: Path) -> None:
    assert list(table_of(run(tmp_path, book))) == ["the", "Mat", "cat", "end", "on", "sat"]


def test_lower_case_folds_as_str_lower(tmp_path: Path) -> None:
    path = tmp_path / "greek.txt"
    path.write_text("ΟΔΟΣ ΟΔΟΣ\nİstanbul ẞ", encoding="utf-8")
    assert table_of(run(tmp_path, path, lower=True)) == Counter(
        path.read_text(encoding="utf-8").lower().split()
    )


def test_character_trigrams_do_not_cross_lines(tmp_path: Path, book: Path) -> None:
    lines = ["the cat sat", "on the Mat", "the end"]
    expected = Counter(line[i : i + 3] for line in lines for i in range(len(line) - 2))
    assert table_of(run(tmp_path, book, unit="char", n=3)) == expected


def test_the_summary_adds_up(tmp_path: Path) -> None:
    path = tmp_path / "mixed.txt"
    path.write_bytes(b"good line\n\n\xff bad line\nlast")
    output = tmp_path / "out"
    config = CountConfig(inputs=(str(path),))
    samebits.run("count", config, output=output, options=RunOptions(max_bad="1"))
    summary = json.loads((output / "summary.json").read_bytes())
    assert summary["lines"] == {"read": 4, "used": 2, "blank": 1, "bad": 1}
    [bad] = [json.loads(line) for line in (output / "bad_rows.jsonl").read_text().splitlines()]
    assert (bad["source"], bad["line"], bad["offset"]) == ("mixed.txt", 3, 11)


def test_too_many_bad_rows_stop_the_run_and_name_the_first(tmp_path: Path) -> None:
    path = tmp_path / "mixed.txt"
    path.write_bytes(b"good\n\xff\n\xfe\n")
    with pytest.raises(TooManyBadRows, match=r"2 of 3 rows .* first: mixed.txt, line 2, byte 5") as caught:
        run(tmp_path, path)
    assert caught.value.hint == "fix them, or allow more: --max-bad 2"
    assert not (tmp_path / "out").exists()
    assert len((tmp_path / "out.journal" / "bad_rows.jsonl").read_text().splitlines()) == 2


def test_allowing_more_continues_the_same_run(tmp_path: Path) -> None:
    path = tmp_path / "mixed.txt"
    path.write_bytes(b"good\n\xff\n")
    with pytest.raises(TooManyBadRows):
        run(tmp_path, path)
    config = CountConfig(inputs=(str(path),))
    record = samebits.run("count", config, output=tmp_path / "out", options=RunOptions(max_bad="50%"))
    assert record.stages["count"]["shards_resumed"] == 1
    assert not (tmp_path / "out.journal").exists()


def test_min_count_and_top_shorten_the_table(tmp_path: Path, book: Path) -> None:
    output = run(tmp_path, book, min_count=2, top=1)
    assert table_of(output) == {"the": 3}
    summary = json.loads((output / "summary.json").read_bytes())
    assert summary["top"] == [{"ngram": "the", "count": 3}]
    assert summary["ngrams"] == {"counted": 8, "distinct": 6, "in_table": 1}


def test_the_table_as_parquet_holds_the_same(tmp_path: Path, book: Path) -> None:
    import pyarrow.parquet as pq

    table = pq.read_table(run(tmp_path, book, table="parquet") / "counts.parquet")
    assert dict(zip(table["ngram"].to_pylist(), table["count"].to_pylist(), strict=True)) == Counter(
        TEXT.split()
    )


def test_several_files_are_one_corpus(tmp_path: Path, book: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("the dog\n")
    assert table_of(run(tmp_path, book, other)) == Counter(TEXT.split()) + Counter(["the", "dog"])


def test_an_empty_file_gives_an_empty_table(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    path.touch()
    assert table_of(run(tmp_path, path)) == {}


@pytest.mark.parametrize("settings", [{"n": 0}, {"top": 0}, {"min_count": -1}])
def test_settings_below_one_are_refused(settings: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="use 1 or more"):
        CountConfig(inputs=("x.txt",), **settings)  # type: ignore[arg-type]  # parametrized


def test_an_existing_output_is_not_overwritten_unless_asked(tmp_path: Path, book: Path) -> None:
    first = run(tmp_path, book)
    before = samebits.verify(first).digest
    with pytest.raises(OutputExists, match="already exists"):
        run(tmp_path, book)
    config = CountConfig(inputs=(str(book),), n=2)
    samebits.run("count", config, output=first, options=RunOptions(overwrite=True))
    assert samebits.verify(first).digest != before


def test_a_folder_of_somebody_else_is_never_replaced(tmp_path: Path, book: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    config = CountConfig(inputs=(str(book),))
    with pytest.raises(OutputExists, match="not an artifact"):
        samebits.run("count", config, output=tmp_path / "out", options=RunOptions(overwrite=True))
    assert (tmp_path / "out" / "thesis.txt").read_text() == "mine"


def test_an_unknown_job_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(SamebitsError, match="did you mean 'count'"):
        samebits.run("cuont", None, output="x")
