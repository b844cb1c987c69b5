from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import samebits
from samebits.charset.config import CharsetConfig
from samebits.charset.detection.model import CharsetModel, train_in_memory
from samebits.charset.pairs import builtin_pairs
from samebits.core.observing.events import Event, Warned
from samebits.core.observing.record import RunRecord
from samebits.core.options import RunOptions
from samebits.data.artifact import open_artifact
from samebits.errors import ArtifactCorrupt, ConfigError, InputError, TooManyBadRows
from samebits.testing import ShuffledExecutor

SAMPLES = Path(samebits.__file__).parent / "samples"
LANGUAGES = ("de", "ru", "ja", "he", "sr", "vi", "ar")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder a language, one file a sentence."""
    root = tmp_path_factory.mktemp("corpus")
    for language in LANGUAGES:
        (root / language).mkdir()
        for number, line in enumerate((SAMPLES / f"{language}.txt").read_text("utf-8").splitlines()[:40]):
            (root / language / f"{number:03d}.txt").write_text(line, "utf-8")
    return root


def train(output: Path, *inputs: Path, options: RunOptions | None = None, **config: Any) -> RunRecord:
    asked = CharsetConfig(inputs=tuple(map(str, inputs)), **config)
    return samebits.run("charset", asked, output=output, options=options)


def rows_of(folder: Path) -> dict[str, dict[str, Any]]:
    lines = open_artifact(folder, job="charset").path("pairs.jsonl").read_text("utf-8").splitlines()
    return {row["pair"]: row for row in map(json.loads, lines)}


def test_every_worker_count_and_executor_gives_the_same_digest(corpus: Path, tmp_path: Path) -> None:
    digests = {
        train(tmp_path / f"{executor}{workers}", corpus, options=RunOptions(workers=str(workers), executor=executor)).artifact_digest
        for executor, workers in (("serial", 1), ("threads", 1), ("threads", 3), ("threads", 7), ("processes", 2))
    }  # fmt: skip
    config = CharsetConfig(inputs=(str(corpus),))
    for seed in range(3):
        record = samebits.run(
            "charset", config, output=tmp_path / f"s{seed}", executor=ShuffledExecutor(seed=seed)
        )
        digests.add(record.artifact_digest)
    assert len(digests) == 1


def test_the_job_counts_what_counting_in_memory_counts(corpus: Path, tmp_path: Path) -> None:
    train(tmp_path / "out", corpus)
    model = CharsetModel.load(tmp_path / "out")
    texts = {
        language: [path.read_text("utf-8") for path in sorted((corpus / language).iterdir())]
        for language in LANGUAGES
    }
    expected = train_in_memory(texts, [pair for pair in builtin_pairs() if pair.language in LANGUAGES])
    assert model.pairs == expected.pairs
    assert np.array_equal(model.ptr, expected.ptr)
    assert np.array_equal(model.index, expected.index)
    assert np.array_equal(model.counts, expected.counts)


def test_json_lines_with_a_language_column_give_the_same_models(corpus: Path, tmp_path: Path) -> None:
    with (tmp_path / "rows.jsonl").open("w", encoding="utf-8") as file:
        for number in range(40):
            for language in LANGUAGES:
                text = (corpus / language / f"{number:03d}.txt").read_text("utf-8")
                file.write(json.dumps({"lang": language, "text": text}, ensure_ascii=False) + "\n")
            file.write('{"lang": "xx", "text": "a language without pairs"}\n')
    train(tmp_path / "a", corpus)
    record = train(tmp_path / "b", tmp_path / "rows.jsonl")
    a, b = (open_artifact(tmp_path / name).files for name in "ab")
    assert {name: a[name] for name in a if name.startswith("counts")} == {
        name: b[name] for name in b if name.startswith("counts")
    }
    assert record.metrics["other_languages"] == {"xx": 40}


@pytest.mark.parametrize("unit", ["file", "line"])
def test_max_samples_takes_the_first_texts_of_each_language(corpus: Path, tmp_path: Path, unit: Any) -> None:
    record = train(tmp_path / "out", corpus, max_samples=7, unit=unit)
    assert record.metrics["languages"] == dict.fromkeys(sorted(LANGUAGES), 7)


def test_texts_add_up_and_undecodable_files_are_named(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "c" / "de").mkdir(parents=True)
    (tmp_path / "c" / "de" / "bad.txt").write_bytes(b"Gr\xfc\xdfe")
    (tmp_path / "c" / "de" / "good.txt").write_text("Schöne Grüße aus dem Süden, liebe Leute", "utf-8")
    with pytest.raises(TooManyBadRows, match=r"bad\.txt"):
        train(tmp_path / "out", tmp_path / "c")
    record = train(tmp_path / "out", tmp_path / "c", options=RunOptions(max_bad="1"))
    assert record.metrics["texts"] == {
        "read": 2, "used": 1, "blank": 0, "bad": 1, "over_max_samples": 0, "other_languages": 0,
    }  # fmt: skip
    row = json.loads((tmp_path / "out" / "bad_rows.jsonl").read_text())
    assert (row["source"], row["offset"], row["reason"]) == ("de/bad.txt", 2, "invalid UTF-8: byte 0xfc")


def test_bom_and_line_ends_do_not_reach_the_models(tmp_path: Path) -> None:
    for name, data in (
        ("a", b"eins zwei\ndrei vier"),
        ("b", b"\xef\xbb\xbfeins zwei\r\ndrei vier"),
        ("c", b"eins zwei\rdrei vier"),
    ):
        (tmp_path / name / "de").mkdir(parents=True)
        (tmp_path / name / "de" / "t.txt").write_bytes(data)
        train(tmp_path / f"out-{name}", tmp_path / name)
    tables = {(tmp_path / f"out-{name}" / "counts_val.npy").read_bytes() for name in "abc"}
    assert len(tables) == 1


def test_pairs_that_were_asked_for_and_have_no_text_fail(corpus: Path, tmp_path: Path) -> None:
    record = train(tmp_path / "out", corpus, languages=("de", "mt"))
    assert sorted(record.metrics["failed"]) == ["mt/iso8859-3", "mt/utf-8"]
    assert {row["status"] for key, row in rows_of(tmp_path / "out").items() if key.startswith("de/")} == {
        "trained"
    }


def test_a_language_that_has_no_pair_is_named(tmp_path: Path) -> None:
    for language in ("de", "hi"):
        (tmp_path / "corpus" / language).mkdir(parents=True)
        text = (SAMPLES / f"{language}.txt").read_text("utf-8")
        (tmp_path / "corpus" / language / "a.txt").write_text(text, "utf-8")
    told: list[Event] = []
    config = CharsetConfig(inputs=(str(tmp_path / "corpus"),))
    samebits.run("charset", config, output=tmp_path / "out", observer=told.append)
    assert Warned("skipped hi: no encoding pair for this language") in told


def test_a_pair_that_keeps_too_few_letters_is_refused(corpus: Path, tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(
        '[{"lang": "ru", "encoding": "cp1252"}, {"lang": "ru", "encoding": "koi8-r"}]'
    )
    record = train(tmp_path / "out", corpus, pairs=str(tmp_path / "p.json"))
    assert record.metrics["trained"] == 1
    assert "of its letters, less than 70%" in record.metrics["failed"]["ru/cp1252"]


@pytest.mark.parametrize("text", ["x", "\n", "1", "é"])
def test_a_language_with_one_character_fails_by_name_and_costs_no_other(
    corpus: Path, tmp_path: Path, text: str
) -> None:
    (tmp_path / "c" / "de").mkdir(parents=True)
    (tmp_path / "c" / "de" / "t.txt").write_text(text, "utf-8")
    record = train(tmp_path / "out", corpus / "ru", tmp_path / "c", html_samples=False)
    assert record.metrics["failed"]["de/cp1252"] == "no text is long enough"
    assert record.metrics["trained"] == 0 or all(key.startswith("de/") for key in record.metrics["failed"])


def test_an_empty_corpus_and_unknown_names_are_answered_with_a_hint(corpus: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no encoding named 'cp12522'"):
        train(tmp_path / "out", corpus, encodings=("cp12522",))
    with pytest.raises(ConfigError, match="no recipe book named 'defualt'"):
        train(tmp_path / "out", corpus, recipe="defualt")
    (tmp_path / "xx").mkdir()
    (tmp_path / "xx" / "t.txt").write_text("text")
    with pytest.raises(InputError, match="no text of any of the chosen languages"):
        train(tmp_path / "out", tmp_path / "xx")


def test_a_flipped_byte_in_any_file_is_refused(corpus: Path, tmp_path: Path) -> None:
    train(tmp_path / "out", corpus, languages=("de",))
    for name in ("counts_ptr.npy", "counts_idx.npy", "counts_val.npy", "pairs.jsonl", "summary.json"):
        path = tmp_path / "out" / name
        data = path.read_bytes()
        path.write_bytes(data[:-3] + bytes([data[-3] ^ 1]) + data[-2:])
        with pytest.raises(ArtifactCorrupt, match=name):
            CharsetModel.load(tmp_path / "out")
        path.write_bytes(data)


def broken_book() -> Any:
    from samebits.charset.recipes.default_book import DefaultBook

    class Broken:
        identity = "broken"
        markup = DefaultBook().markup

        def recipe(self, language: str, encoding: str, codec: str) -> Any:
            import dataclasses

            def fail(text: str) -> str:
                raise ValueError("no such luck")

            recipe = DefaultBook().recipe(language, encoding, codec)
            return dataclasses.replace(recipe, before=fail) if encoding == "cp1252" else recipe

    return Broken()


def test_a_recipe_that_raises_costs_its_own_pair_only(corpus: Path, tmp_path: Path) -> None:
    record = train(tmp_path / "out", corpus, languages=("de",), recipe=f"{__name__}:broken_book")
    assert record.metrics["failed"] == {"de/cp1252": "its recipe raised ValueError: no such luck"}
    assert record.metrics["trained"] == 11
