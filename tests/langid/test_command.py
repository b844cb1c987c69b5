"""The langid commands: what they print and how they end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.command_line import Run

ROWS = [("en", "good morning"), ("en", "the old house"), ("de", "guten Morgen"), ("de", "das alte Haus")]


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": text, "lang": lang}) + "\n" for lang, text in ROWS))
    return path


@pytest.fixture
def model(rows: Path, samebits: Run, tmp_path: Path) -> Path:
    assert samebits("langid", "train", rows, "-o", tmp_path / "model").code == 0
    return tmp_path / "model"


def test_training_says_how_the_rows_add_up(rows: Path, samebits: Run, tmp_path: Path) -> None:
    ended = samebits("langid", "train", rows, "-o", tmp_path / "m", "--mode", "exact")
    assert (ended.code, ended.out) == (0, "")
    assert "4 rows = 4 kept + 0 dropped" in ended.err
    assert "cycle 1: accuracy 1.0000" in ended.err


def test_predictions_are_lines_in_order(model: Path, samebits: Run, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("Morgen\n123\nmorning\n")
    ended = samebits("langid", "predict", texts, "-m", model)
    assert ended.code == 0
    assert [(line.split("\t")[0], line.split("\t")[-1]) for line in ended.out.splitlines()] == [
        ("de", "Morgen"),
        ("und", "123"),
        ("en", "morning"),
    ]
    as_json = [
        json.loads(line)
        for line in samebits("langid", "predict", texts, "-m", model, "--json").out.splitlines()
    ]
    assert [line["lang"] for line in as_json] == ["de", "und", "en"]


def test_an_explanation_names_the_features(model: Path, samebits: Run, tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("Morgen\n")
    found = json.loads(samebits("langid", "predict", texts, "-m", model, "--explain").out)
    assert (found["lang"], found["against"]) == ("de", "en")
    assert {"feature": "morgen", "kind": "word"}.items() <= next(
        item for item in found["features"] if item["kind"] == "word"
    ).items()


def test_eval_prints_the_measures(model: Path, rows: Path, samebits: Run) -> None:
    ended = samebits("langid", "eval", rows, "-m", model)
    assert "accuracy\t1.0000" in ended.out
    assert json.loads(samebits("langid", "eval", rows, "-m", model, "--json").out)["rows"] == 4


def test_eval_takes_the_mean_over_the_languages_that_occur(
    model: Path, samebits: Run, tmp_path: Path
) -> None:
    path = tmp_path / "german.jsonl"
    path.write_text(json.dumps({"text": "guten Morgen", "lang": "de"}) + "\n")
    found = json.loads(samebits("langid", "eval", path, "-m", model, "--json").out)
    assert (found["accuracy"], found["precision"], found["recall"], found["f1"]) == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("mode", ["exact", "backoff"])
def test_rows_without_any_letter_cannot_be_trained_on(mode: str, samebits: Run, tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"text": "...", "lang": "en"}\n{"text": "", "lang": "de"}\n')
    ended = samebits("langid", "train", path, "-o", tmp_path / "model", "--mode", mode)
    assert (ended.code, ended.out) == (1, "")
    assert "all 2 rows are empty after cleaning" in ended.err
    assert not (tmp_path / "model").exists()


def test_clean_keeps_rows_the_model_agrees_with(model: Path, samebits: Run, tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    path.write_text('{"text": "good morning", "lang": "en"}\n{"text": "good morning", "lang": "de"}\n')
    ended = samebits("langid", "clean", path, "-m", model, "-o", tmp_path / "c", "--min-confidence", "0")
    assert ended.code == 0
    kept = (tmp_path / "c" / "kept.jsonl").read_text()
    assert [json.loads(line)["lang"] for line in kept.splitlines()] == ["en"]
    (line,) = (tmp_path / "c" / "dropped.jsonl").read_text().splitlines()
    dropped = json.loads(line)
    assert (dropped["line"], dropped["reason"], dropped["top"]) == (2, "label_mismatch", "en")


def test_clean_writes_label_lines_that_training_reads(model: Path, samebits: Run, tmp_path: Path) -> None:
    path = tmp_path / "more.jsonl"
    path.write_text('{"text": "good\\nmorning", "lang": "en"}\n{"text": "guten Morgen", "lang": "de"}\n')
    ended = samebits(
        "langid",
        "clean",
        path,
        "-m",
        model,
        "-o",
        tmp_path / "c",
        "--min-confidence",
        "0",
        "--table",
        "labels",
    )
    assert ended.code == 0
    kept = tmp_path / "c" / "kept.txt"
    assert kept.read_text() == "__label__en good morning\n__label__de guten Morgen\n"
    assert samebits("langid", "train", kept, "-o", tmp_path / "again", "--max-bad", "0").code == 0


@pytest.mark.parametrize("form", ["vocabulous", "labels"])
def test_an_exported_model_comes_back_and_predicts_the_same(
    form: str, samebits: Run, rows: Path, tmp_path: Path
) -> None:
    assert samebits("langid", "train", rows, "-o", tmp_path / "a", "--mode", "exact").code == 0
    exported = samebits("langid", "export", "-m", tmp_path / "a", "--format", form)
    (tmp_path / "exported").write_text(exported.out)
    assert samebits("langid", "import", tmp_path / "exported", "-o", tmp_path / "b").code == 0
    (tmp_path / "t.txt").write_text("the old Morgen\n")
    first, second = (
        samebits("langid", "predict", tmp_path / "t.txt", "-m", tmp_path / name).out for name in "ab"
    )
    assert first == second != ""
    assert samebits("langid", "export", "-m", tmp_path / "b", "--format", form).out == exported.out


def test_label_lines_without_a_label_and_labels_with_spaces_are_named(samebits: Run, tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("__label__en one\ntwo words\n")
    done = samebits("langid", "import", tmp_path / "bad", "-o", tmp_path / "m")
    assert done.code == 1
    assert "line 2 does not start with __label__" in done.err
    (tmp_path / "rows.json").write_text('{"a b": ["one"], "c": ["two"]}')
    assert samebits("langid", "train", tmp_path / "rows.json", "-o", tmp_path / "s").code == 0
    refused = samebits("langid", "export", "-m", tmp_path / "s", "--format", "labels")
    assert refused.code == 2
    assert "'a b' holds white space" in refused.err


def test_overlap_is_a_matrix_with_ones_on_the_diagonal(model: Path, samebits: Run) -> None:
    for metric in ("cosine", "jaccard"):
        found = json.loads(samebits("langid", "overlap", "-m", model, "--metric", metric, "--json").out)
        assert [found["matrix"][i][i] for i in range(2)] == [1.0, 1.0]
        assert found["matrix"][0][1] == found["matrix"][1][0]


def test_models_of_two_modes_are_not_merged(model: Path, rows: Path, samebits: Run, tmp_path: Path) -> None:
    samebits("langid", "train", rows, "-o", tmp_path / "exact", "--mode", "exact")
    ended = samebits("langid", "merge", model, tmp_path / "exact", "-o", tmp_path / "both")
    assert ended.code == 2
    assert "different modes" in ended.err


def test_a_folder_that_is_no_model_is_refused(rows: Path, samebits: Run, tmp_path: Path) -> None:
    samebits("count", rows, "-o", tmp_path / "counts")
    ended = samebits("langid", "eval", rows, "-m", tmp_path / "counts")
    assert ended.code == 1
    assert "not a langid model" in ended.err


def test_a_flipped_byte_in_any_file_is_named(model: Path, rows: Path, samebits: Run) -> None:
    for path in sorted(model.glob("*.npy")):
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
        ended = samebits("langid", "eval", rows, "-m", model)
        assert ended.code == 3
        assert path.name in ended.err
        path.write_bytes(data)


def test_the_default_model_names_languages_spans_and_tables(samebits: Run, tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    table.write_text("id,text\n007,Guten Morgen zusammen\n008,Dobro jutro svima\n")
    ended = samebits("langid", "predict", table, "-o", tmp_path / "out.csv", "--languages", "deu,hbs")
    assert ended.code == 0
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert lines[0] == "id,text,lang,confidence"
    assert lines[1].startswith("007,Guten Morgen zusammen,de,")
    assert lines[2].split(",")[2] in ("bs", "hr", "sr")
    mixed = tmp_path / "mixed.txt"
    mixed.write_text("Guten Morgen zusammen, how are you all today?\n")
    spans = samebits("langid", "spans", mixed).out.splitlines()
    assert [line.split("\t")[:3] for line in spans] == [["0", "23", "de"], ["23", "45", "en"]]
    unknown = samebits("langid", "predict", mixed, "--languages", "xx")
    assert (unknown.code, "no language 'xx'" in unknown.err) == (2, True)


def test_a_warning_says_when_most_of_the_text_is_no_letters(samebits: Run, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text(
        "".join(json.dumps({"text": "x7391 4482 9917 a5520", "lang": lang}) + "\n" for lang in "ab")
    )
    assert "of the text is letters" in samebits("langid", "train", rows, "-o", tmp_path / "m").err
    rows.write_text("".join(json.dumps({"text": "plain words here", "lang": lang}) + "\n" for lang in "ab"))
    assert "of the text is letters" not in samebits("langid", "train", rows, "-o", tmp_path / "n").err


def test_an_unknown_language_is_answered_with_the_nearest_and_not_with_all(rows: Path, samebits: Run) -> None:
    ended = samebits("langid", "predict", rows, "--languages", "german")
    assert ended.code == 2
    assert ended.err == (
        "error: the model has no language 'german'\n"
        "hint: did you mean de (German)? 'samebits langid languages' lists all of them\n"
    )


def test_languages_lists_every_label_with_its_english_name(model: Path, samebits: Run) -> None:
    lines = samebits("langid", "languages").out.splitlines()
    assert "de\tGerman" in lines
    assert all(line.split("\t")[1] for line in lines)
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    assert all("{1} (`{0}`)".format(*line.split("\t")) in " ".join(page.split()) for line in lines[:-1])
    assert samebits("langid", "languages", "-m", model, "--json").out == '{"de": "German", "en": "English"}\n'
