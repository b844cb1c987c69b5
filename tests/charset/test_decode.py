"""charset decode: unknown encodings to rows, nothing lost in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import samebits
from samebits.charset.conversion.decode import DecodeConfig
from samebits.core.options import RunOptions
from samebits.data.folding import shape
from samebits.errors import TooManyBadRows

TEXT = "Die Straße führt über den Fluss.\n\nGrüße aus Köln, schöne Tage!\r\nÄpfel und Öl für die Küche\n"


@pytest.fixture
def raw(tmp_path: Path) -> Path:
    folder = tmp_path / "raw"
    (folder / "de").mkdir(parents=True)
    (folder / "ru").mkdir()
    (folder / "de" / "a.txt").write_bytes(TEXT.encode("cp1252"))
    (folder / "de" / "empty.txt").write_bytes(b"")
    russian = "Сегодня хорошая погода, и мы идём гулять в парк.\nЗавтра обещают дождь.\n"
    (folder / "ru" / "b.dat").write_bytes(russian.encode("koi8-r"))
    return folder


def decode(raw: Path, output: Path, **settings: Any) -> samebits.RunRecord:
    options = settings.pop("options", RunOptions())
    config = DecodeConfig(inputs=(str(raw),), **settings)
    return samebits.run("charset_decode", config, output=output, options=options)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_rows_are_the_lines_that_are_not_blank_labelled_by_folder(raw: Path, tmp_path: Path) -> None:
    decode(raw, tmp_path / "out")
    rows = lines(tmp_path / "out" / "rows.jsonl")
    expected = [line for line in TEXT.splitlines() if line]
    assert [row["text"] for row in rows if row["lang"] == "de"] == expected
    assert rows[-1] == {"text": "Завтра обещают дождь.", "lang": "ru", "file": "ru/b.dat"}


def test_the_table_has_every_file_with_encoding_and_rows(raw: Path, tmp_path: Path) -> None:
    record = decode(raw, tmp_path / "out")
    table = {entry["file"]: entry for entry in lines(tmp_path / "out" / "files.jsonl")}
    assert set(table) == {"de/a.txt", "de/empty.txt", "ru/b.dat"}
    assert table["ru/b.dat"]["encoding"] == "koi8-r"
    assert table["de/empty.txt"]["rows"] == 0
    assert sum(entry["rows"] for entry in table.values()) == record.metrics["rows"] == 5
    assert record.metrics["encodings"]["empty"] == 1


@pytest.mark.parametrize("fewest_nodes", [64, 3], ids=["a file each", "several files each"])
def test_the_table_has_empty_files_in_their_place_whatever_the_nodes_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fewest_nodes: int
) -> None:
    monkeypatch.setattr(shape, "FEWEST_NODES", fewest_nodes)
    (tmp_path / "raw").mkdir()
    names = [f"{number:02}.txt" for number in range(24)]
    full = [name for number, name in enumerate(names) if number not in (0, 1, 7, 8, 15, 23)]
    for name in names:
        (tmp_path / "raw" / name).write_bytes(TEXT.encode("cp1252") if name in full else b"")
    record = decode(tmp_path / "raw", tmp_path / "out")
    table = lines(tmp_path / "out" / "files.jsonl")
    assert [entry["file"] for entry in table] == names
    assert [entry["file"] for entry in table if entry["rows"]] == full
    assert record.metrics["encodings"] == {"cp1252": len(full), "empty": 6}
    assert record.metrics["bytes"] == sum(entry["bytes"] for entry in table)


def test_a_table_of_empty_files_has_them_all(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "raw" / name).touch()
    decode(tmp_path / "raw", tmp_path / "out")
    assert [entry["file"] for entry in lines(tmp_path / "out" / "files.jsonl")] == ["a.txt", "b.txt"]
    assert (tmp_path / "out" / "rows.jsonl").read_bytes() == b""


def test_labels_come_from_the_model_or_from_nowhere(raw: Path, tmp_path: Path) -> None:
    decode(raw, tmp_path / "detected", label="detected")
    assert {row["lang"] for row in lines(tmp_path / "detected" / "rows.jsonl") if row["file"][0] == "r"} == {
        "ru"
    }
    decode(raw, tmp_path / "none", label="none")
    assert "lang" not in lines(tmp_path / "none" / "rows.jsonl")[0]


def test_bytes_that_the_encoding_cannot_read_are_replaced_and_counted(tmp_path: Path) -> None:
    folder = tmp_path / "raw" / "ja"
    folder.mkdir(parents=True)
    good = "今日は天気がいいので、公園まで散歩しました。\n".encode("cp932")
    # the detector looks at the first 16 KiB; what is broken lies behind them
    (folder / "a.txt").write_bytes(good * 500 + b"\x85 \x85 x\n" + good)
    record = decode(tmp_path / "raw", tmp_path / "out")
    assert record.metrics["undecodable_bytes"] == 2
    assert lines(tmp_path / "out" / "rows.jsonl")[500]["text"] == "\ufffd \ufffd x"


def test_a_file_of_no_encoding_is_a_bad_row_not_a_silent_loss(raw: Path, tmp_path: Path) -> None:
    (raw / "de" / "picture.bin").write_bytes(bytes(range(256)) * 4)
    with pytest.raises(TooManyBadRows, match="the encoding is unclear"):
        decode(raw, tmp_path / "out")
    decode(raw, tmp_path / "out", options=RunOptions(max_bad="1"))
    (bad,) = lines(tmp_path / "out" / "bad_rows.jsonl")
    assert bad["source"] == "de/picture.bin"


def test_half_a_gzip_is_a_bad_row(raw: Path, tmp_path: Path) -> None:
    import gzip

    (raw / "de" / "z.txt.gz").write_bytes(gzip.compress(TEXT.encode("cp1252") * 50)[:-20])
    decode(raw, tmp_path / "out", options=RunOptions(max_bad="1"))
    assert [row["source"] for row in lines(tmp_path / "out" / "bad_rows.jsonl")] == ["de/z.txt.gz"]


@pytest.mark.parametrize(("executor", "workers"), [("serial", "1"), ("threads", "7"), ("processes", "2")])
def test_one_digest_wherever_it_runs(raw: Path, tmp_path: Path, executor: str, workers: str) -> None:
    reference = decode(raw, tmp_path / "reference", options=RunOptions(executor="serial", workers="1"))
    again = decode(raw, tmp_path / "again", options=RunOptions(executor=executor, workers=workers))
    assert again.artifact_digest == reference.artifact_digest
