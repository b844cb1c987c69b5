"""Tables, files, verdicts and comparisons say what is in the artifacts."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest
from tests.serve.conftest import trained

from samebits.serve.runs.about import About, Abouts
from samebits.serve.runs.artifacts import FileNotListed, Verifier, files_of, path_of
from samebits.serve.runs.compare import compare, settings_that_differ
from samebits.serve.runs.places import FolderPlace, Places
from samebits.serve.runs.tables import read_page


def runs(folder: Path) -> dict[str, tuple[FolderPlace, About]]:
    abouts = Abouts()
    return {place.name: (place, abouts.get(place)) for place in Places(folder).all()}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rows = [{"n": k, "label": "de" if k % 3 else "en", "text": f"Zeile {k} größer"} for k in range(1000)]
    path = tmp_path / "rows.jsonl"
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=k % 2 == 0) + "\n" for k, row in enumerate(rows)) + "broken\n"
    )
    return path


def test_a_page_holds_the_rows_of_its_number(table: Path) -> None:
    page = read_page(table, page=3)
    assert [row["n"] for _, row in page.rows] == list(range(150, 200))
    assert [line for line, _ in page.rows] == list(range(151, 201))
    assert page.columns == ["n", "label", "text"]
    assert page.more
    last = read_page(table, page=19)
    assert ([row["n"] for _, row in last.rows][-1], last.more, last.bad) == (999, False, 1)
    assert read_page(table, page=20).rows == []


@pytest.mark.parametrize("search", ["zeile 77 ", "ZEILE 77 GRÖSSER", "77 größer"])
def test_a_search_finds_a_row_whatever_its_case_and_escapes(table: Path, search: str) -> None:
    found = read_page(table, page=0, search=search)
    expected = [77] if search != "77 größer" else [77, 177, 277, 377, 477, 577, 677, 777, 877, 977]
    assert [row["n"] for _, row in found.rows] == expected


def test_columns_can_be_asked_for_together_with_a_search(table: Path) -> None:
    found = read_page(table, page=1, where={"label": "en"}, search="größer")
    assert [row["n"] for _, row in found.rows] == [3 * k for k in range(50, 100)]
    assert read_page(table, page=0, where={"label": "en", "n": "3"}).rows == [
        (4, {"n": 3, "label": "en", "text": "Zeile 3 größer"})
    ]


def test_only_listed_files_are_given(tmp_path: Path) -> None:
    trained(tmp_path / "model")
    secret = tmp_path / "secret"
    secret.write_text("x")
    place, about = runs(tmp_path)["model"]
    assert path_of(place, about, "steps.jsonl").is_file()
    (place.output / "extra.txt").write_text("x")
    for name in (
        "extra.txt",
        "record.json",
        "../secret",
        str(secret),
        "",
        ".",
        "steps.jsonl/../steps.jsonl",
        "a\0b",
    ):
        with pytest.raises(FileNotListed):
            path_of(place, about, name)


def test_a_listed_name_that_became_a_link_is_refused(tmp_path: Path) -> None:
    trained(tmp_path / "model")
    place, about = runs(tmp_path)["model"]
    target = tmp_path / "copy"
    (place.output / "steps.jsonl").rename(target)
    (place.output / "steps.jsonl").symlink_to(target)
    with pytest.raises(FileNotListed):
        path_of(place, about, "steps.jsonl")


def test_a_manifest_that_names_a_file_outside_opens_nothing(tmp_path: Path) -> None:
    trained(tmp_path / "model")
    (tmp_path / "secret").write_text("x")
    path = tmp_path / "model" / "manifest.json"
    manifest = json.loads(path.read_bytes())
    manifest["files"]["../secret"] = {"size": 1, "sha256": "0" * 64}
    path.write_text(json.dumps(manifest))
    place, about = runs(tmp_path)["model"]
    assert "../secret" in {file.name for file in files_of(about)}
    with pytest.raises(FileNotListed):
        path_of(place, about, "../secret")


def verdict_of(place: FolderPlace, about: About) -> tuple[str, str]:
    async def ask() -> tuple[str, str]:
        verifier = Verifier()
        found = verifier.verdict(place, about)
        while found.state == "checking":
            await asyncio.sleep(0.01)
            found = verifier.verdict(place, about)
        return found.state, found.sentence

    return asyncio.run(ask())


def test_a_whole_artifact_is_verified_and_a_changed_byte_is_named(tmp_path: Path) -> None:
    trained(tmp_path / "model")
    pair = runs(tmp_path)["model"]
    assert verdict_of(*pair)[0] == "verified"
    path = pair[0].output / "steps.jsonl"
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    state, sentence = verdict_of(*pair)
    assert state == "damaged"
    assert sentence.startswith("steps.jsonl: expected sha256")


def test_an_extra_file_is_named(tmp_path: Path) -> None:
    trained(tmp_path / "model")
    (tmp_path / "model" / "more.txt").write_text("x")
    assert verdict_of(*runs(tmp_path)["model"]) == ("damaged", "more.txt is not listed in the manifest")


def test_equal_runs_are_the_same_and_others_part_at_their_first_step(folder: Path) -> None:
    found = runs(folder)
    assert compare(found["first"], found["deep/again"]).verdict == "same"
    other = compare(found["first"], found["other"])
    assert other.verdict == "different"
    step, byte = other.differences
    lines = [(folder / name / "steps.jsonl").read_bytes().splitlines() for name in ("first", "other")]
    first = next(k for k, (a, b) in enumerate(zip(*lines, strict=True)) if a != b)
    assert (step.kind, step.place) == ("step", first)
    assert (step.left, step.right) == (lines[0][first].decode(), lines[1][first].decode())
    datas = [(folder / name / byte.file).read_bytes() for name in ("first", "other")]
    assert byte.kind == "byte"
    assert byte.place == next(k for k, (a, b) in enumerate(zip(*datas, strict=False)) if a != b)
    assert f"[{datas[0][byte.place]:02x}]" in byte.left
    settings, how = settings_that_differ([found["first"][1], found["other"][1]])
    assert [(setting.name, setting.values) for setting in settings] == [("seed", ("0", "1"))]
    assert "seed" not in {setting.name for setting in how}


def test_a_longer_run_differs_where_the_shorter_one_ends(tmp_path: Path) -> None:
    trained(tmp_path / "a", steps=60)
    found = runs(tmp_path)["a"]
    longer = tmp_path / "b"
    trained(longer, steps=60)
    manifest = json.loads((longer / "manifest.json").read_bytes())
    data = (longer / "steps.jsonl").read_bytes() + b'{"step": 60}\n'
    (longer / "steps.jsonl").write_bytes(data)
    manifest["files"]["steps.jsonl"] = {"size": len(data), "sha256": "0" * 64}
    manifest["digest"] = "1" * 64
    (longer / "manifest.json").write_text(json.dumps(manifest))
    step = compare(found, runs(tmp_path)["b"]).differences[0]
    assert (step.kind, step.place, step.left, step.right) == ("step", 60, "", '{"step": 60}')


def test_unfinished_and_unlike_runs_are_said_to_be_so(tmp_path: Path, folder: Path) -> None:
    found = runs(folder)["first"]
    plain = About("lm", {}, {}, {})
    assert compare(found, (found[0], plain)).verdict == "unfinished"
    assert compare(found, (found[0], About("count", {}, {}, {}))).verdict == "unlike"
