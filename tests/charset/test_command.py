from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.command_line import Run

import samebits as package

SAMPLES = Path(package.__file__).parent / "samples"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for language in ("de", "ru"):
        folder = tmp_path / "corpus" / language
        folder.mkdir(parents=True)
        (folder / "all.txt").write_bytes((SAMPLES / f"{language}.txt").read_bytes())
    return tmp_path / "corpus"


@pytest.fixture
def model(samebits: Run, corpus: Path, tmp_path: Path) -> Path:
    ended = samebits("charset", "train", corpus, "-o", tmp_path / "model", "--unit", "line", "--no-progress")
    assert ended.code == 0, ended.err
    return tmp_path / "model"


def test_train_prints_a_line_a_pair_and_how_the_texts_add_up(
    samebits: Run, corpus: Path, tmp_path: Path
) -> None:
    ended = samebits(
        "charset", "train", corpus, "-o", tmp_path / "m", "--encodings", "cp1252,koi8-r", "--unit", "line"
    )
    assert ended.code == 0
    assert [line.split("\t")[0] for line in ended.out.splitlines()] == ["de/cp1252", "ru/koi8-r"]
    assert "texts read = " in ended.err
    assert "2 pairs trained, 0 failed" in ended.err


def test_a_missing_pair_ends_with_1_unless_it_is_allowed(samebits: Run, corpus: Path, tmp_path: Path) -> None:
    asked = ("charset", "train", corpus, "--languages", "de,ja", "--encodings", "cp1252,cp932")
    ended = samebits(*asked, "-o", tmp_path / "a")
    assert ended.code == 1
    assert "failed: ja/cp932: no text of the language 'ja'" in ended.err
    assert "1 of 2 pairs have no model" in ended.err
    assert (tmp_path / "a" / "manifest.json").exists()
    assert samebits(*asked, "-o", tmp_path / "b", "--allow-missing").code == 0


def test_detect_prints_lines_or_json_for_many_files(samebits: Run, model: Path, tmp_path: Path) -> None:
    texts = {
        "a.txt": ("Schöne Grüße aus München an alle", "cp1252"),
        "b.txt": ("Сегодня мы гуляли в парке", "koi8-r"),
    }
    for name, (text, encoding) in texts.items():
        (tmp_path / name).write_bytes(text.encode(encoding))
    paths = [tmp_path / name for name in texts]
    ended = samebits("charset", "detect", *paths, "-m", model)
    assert [line.split("\t")[1::2][:2] for line in ended.out.splitlines()] == [
        ["cp1252", "de"],
        ["koi8-r", "ru"],
    ]
    ended = samebits("charset", "detect", *paths, "-m", model, "--json", "--top", "2")
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert [row["encoding"] for row in found] == ["cp1252", "koi8-r"]
    assert all(len(row["candidates"]) <= 2 for row in found)


def test_detect_without_a_model_uses_the_shipped_ones(samebits: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Příliš žluťoučký kůň úpěl ďábelské ódy".encode("cp1250"))
    ended = samebits("charset", "detect", tmp_path / "a.txt")
    assert ended.code == 0
    assert ended.out.strip().split("\t")[1::2] == ["cp1250", "cs"]
    assert ended.err == ""
    assert samebits("charset", "detect", tmp_path / "a.txt", "--minimal").out == "cp1250\n"


def test_detect_walks_a_folder_and_names_what_it_cannot_read(samebits: Run, tmp_path: Path) -> None:
    (tmp_path / "f" / "deep").mkdir(parents=True)
    (tmp_path / "f" / "deep" / "b.txt").write_bytes("Сегодня мы гуляли в парке".encode("koi8-r"))
    (tmp_path / "f" / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(20))
    ended = samebits("charset", "detect", tmp_path / "f")
    assert [line.split("\t")[1] for line in ended.out.splitlines()] == ["none", "koi8-r"]
    assert "image/png" in ended.out
    ended = samebits("charset", "detect", tmp_path / "f", tmp_path / "nothing")
    assert ended.code == 1
    assert len(ended.out.splitlines()) == 2
    assert "1 of 3 files could not be read" in ended.err
    assert samebits("charset", "detect", tmp_path / "nothing").code == 1


def test_detect_takes_what_the_caller_knows(samebits: Run, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Schöne Grüße aus München an alle".encode("cp1252"))
    ask = ("charset", "detect", tmp_path / "a.txt", "--minimal")
    assert samebits(*ask, "--include", "iso-8859-15,utf-8").out == "iso8859-15\n"
    assert samebits(*ask, "--exclude", "cp1252").out == "iso8859-1\n"
    assert samebits(*ask, "--era", "mac").out.startswith("mac-")
    assert samebits(*ask, "--exclude", "cp1252", "--prefer-superset").out == "iso8859-1\n"
    assert samebits(*ask, "--era", "msdos").code == 2
    assert samebits(*ask, "--include", "nonsense").code == 2


def test_convert_writes_utf8(samebits: Run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_bytes("Schöne Grüße aus München an alle".encode("cp1252"))
    ended = samebits("charset", "convert", tmp_path / "old.txt", "-m", model, "-o", tmp_path / "new")
    assert ended.code == 0
    assert (tmp_path / "new" / "old.txt").read_text("utf-8") == "Schöne Grüße aus München an alle"
    assert samebits("charset", "convert", tmp_path / "old.txt", "-m", model, "-o", tmp_path / "new").code == 1
    ended = samebits("charset", "convert", tmp_path / "old.txt", "--from", "utf-8", "-o", tmp_path / "bad")
    assert ended.code == 1
    assert "byte 3" in ended.err


def test_pairs_lists_the_table(samebits: Run) -> None:
    ended = samebits("charset", "pairs", "--languages", "th")
    assert ended.out.splitlines() == ["th\tcp874", "th\ttis-620", "th\tutf-8"]
    assert len(json.loads(samebits("charset", "pairs", "--json").out)) >= 233


def test_an_unknown_encoding_is_answered_with_what_was_meant(
    samebits: Run, corpus: Path, tmp_path: Path
) -> None:
    ended = samebits("charset", "train", corpus, "-o", tmp_path / "m", "--encodings", "koi8-rr")
    assert ended.code == 2
    assert "hint: did you mean 'koi8_r'?" in ended.err


def test_eval_export_and_diff(samebits: Run, model: Path, corpus: Path, tmp_path: Path) -> None:
    ended = samebits("charset", "eval", corpus, "-m", model, "--unit", "line", "--per-pair", "3", "--json")
    assert json.loads(ended.out)["all"]["share"] > 0.9
    ended = samebits("charset", "export", "-m", model, "-o", tmp_path / "export", "--json")
    assert json.loads(ended.out)["models"] == 19
    assert sorted(path.name for path in (tmp_path / "export").iterdir()) == [
        "idf.bin",
        "langnorm.bin",
        "models.bin",
        "rowmax.bin",
    ]
    samebits(
        "charset",
        "train",
        corpus,
        "-o",
        tmp_path / "half",
        "--unit",
        "line",
        "--languages",
        "de",
        "--max-samples",
        "40",
    )
    ended = samebits("charset", "diff", model, tmp_path / "half", "--json")
    found = json.loads(ended.out)
    assert len(found["lost"]) == 7
    assert found["added"] == []
    assert len(found["changed"]) == 12


@pytest.mark.parametrize("name", ["train", "pairs", "learn", "detect", "convert", "eval", "export", "diff"])
def test_every_command_of_the_group_has_help_with_an_example(samebits: Run, name: str) -> None:
    ended = samebits("charset", name, "--help")
    assert ended.code == 0
    assert f"samebits charset {name}" in ended.out.split("Example")[1]


def test_verify_rerun_runs_no_code_that_an_artifact_names_unless_told_to(
    samebits: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recipe book is a module: whoever gives away an artifact must not choose what is imported here."""
    (tmp_path / "planted_book.py").write_text(
        "from pathlib import Path\n"
        "from samebits.charset.recipes.default_book import DefaultBook\n"
        "Path(__file__).with_name('ran').touch()\n"
        "make = DefaultBook\n"
    )
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(tmp_path))
        made = samebits("charset", "train", corpus, "-o", tmp_path / "out", "--recipe", "planted_book:make")
        assert made.code == 0, made.err
        (tmp_path / "ran").unlink()
        sys.modules.pop("planted_book")
        refused = samebits("verify", tmp_path / "out", "--rerun", "1")
        assert (refused.code, (tmp_path / "ran").exists()) == (2, False)
        assert "--allow-code" in refused.err
        allowed = samebits("verify", tmp_path / "out", "--rerun", "1", "--allow-code")
        assert (allowed.code, (tmp_path / "ran").exists()) == (0, True), allowed.err
        sys.modules.pop("planted_book")
