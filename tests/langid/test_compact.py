"""Compact mode: a small, mapped model; allowed languages, noise, spans, and files nobody can break it with."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib import format as npy

from samebits import langid
from samebits.core.digest import canonical_json
from samebits.core.options import RunOptions
from samebits.data.artifact import manifest_digest
from samebits.errors import ArtifactCorrupt, ConfigError
from samebits.langid.training.compact import ngram_counts
from samebits.langid.training.tasks import WordCounts

TEXTS = {
    "de": "Die alte Frau wohnt seit vielen Jahren in diesem Haus",
    "en": "The old woman has lived in this house for many years",
    "fr": "La vieille femme habite cette maison depuis longtemps",
    "ru": "Старая женщина живёт в этом доме много лет",
}


def sample_rows() -> list[dict[str, str]]:
    folder = resources.files("samebits").joinpath("samples")
    files = sorted(
        (item for item in folder.iterdir() if item.name.endswith(".txt")), key=lambda item: item.name
    )
    return [
        {"text": line, "lang": item.name.removesuffix(".txt")}
        for item in files
        for line in item.read_text(encoding="utf-8").splitlines()
        if line.strip()
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("compact") / "model"
    langid.train(sample_rows(), output=target, mode="compact", megabytes=2)
    return target


@pytest.fixture(scope="module")
def model(folder: Path) -> langid.LangidModel:
    return langid.LangidModel.load(folder)


def test_it_names_languages_and_knows_one_string_from_many(model: langid.LangidModel) -> None:
    assert model.predict(list(TEXTS.values())) == list(TEXTS)
    assert model.predict(TEXTS["de"]) == "de"
    assert model.predict(TEXTS["de"], scripts=True) == "deu_Latn"
    assert model.predict(["", "12 34"]) == ["und", "und"]


def test_a_model_in_use_can_be_saved_and_pickled(model: langid.LangidModel, tmp_path: Path) -> None:
    model.save(tmp_path / "again")
    again = langid.LangidModel.load(tmp_path / "again")
    copied = pickle.loads(pickle.dumps(model))  # our own bytes
    for other in (again, copied):
        assert list(other.predict_full(TEXTS.values(), top=3)) == list(
            model.predict_full(TEXTS.values(), top=3)
        )


def test_size_is_what_was_asked_for(folder: Path) -> None:
    held = sum((folder / name).stat().st_size for name in ("buckets.npy", "stream.npy"))
    assert held <= 2_000_000 + 512


def test_workers_executors_and_order_of_rows_change_no_byte(tmp_path: Path, folder: Path) -> None:
    """Rows from the other end, on two threads: the numbers of words change, the model does not."""
    rows = sample_rows()[::-1]
    other = langid.train(
        rows, output=tmp_path / "other", options=RunOptions(workers="2"), mode="compact", megabytes=2
    )
    assert other.languages[-1] == "zxx"
    for name in ("buckets.npy", "long_buckets.npy", "stream.npy", "floors.npy", "biases.npy"):
        assert (tmp_path / "other" / name).read_bytes() == (folder / name).read_bytes()


def test_only_allowed_languages_are_named(model: langid.LangidModel) -> None:
    assert model.predict([TEXTS["de"]], languages=["nld", "fr"]) != ["de"]
    assert model.predict([TEXTS["de"]], languages=["deu", "fr"]) == ["de"]
    (full,) = model.predict_full([TEXTS["de"]], top=9, languages=["de", "fr"])
    assert {name for name, _ in full.ranking} == {"de", "fr"}
    with pytest.raises(ConfigError, match="no language 'dee'"):
        model.predict(["x"], languages=["dee"])


@pytest.mark.parametrize(
    "text",
    [
        "https://example.org/a/b?c=d",
        "aGVsbG8gd29ybGQhIHRoaXMgaXMgYQ==",
        "d41d8cd98f00b204e9800998ecf8427e",
        "if (x == 0) { return foo(bar[i]); }",
        "sdfkjh sdkfjhsdf kjsdhfk sdjfh",
        "xxxxxxxxxxxxxxxx",
    ],
)
def test_noise_has_no_language(model: langid.LangidModel, text: str) -> None:
    assert model.predict(text) == "zxx"


def test_explanations_add_up_to_the_lead(model: langid.LangidModel) -> None:
    found = model.explain(TEXTS["en"])
    assert found["label"] == "en"
    assert sum(feature.bits for feature in found["features"]) == pytest.approx(found["lead_bits"])
    scores = (
        model.ranker.scorer.score(
            np.frombuffer(TEXTS["en"].encode() + b"\0", np.uint8),
            np.array([0]),
            np.array([len(TEXTS["en"])]),
            4096,
            None,
            model.ranker.enough(np.ones(len(model.languages), np.uint8)),
        )[0][0]
        + model.ranker.files.biases
    )
    first, second = np.sort(scores)[::-1][:2]
    assert (first - second) / 64 == found["lead_bits"]


def test_spans_cover_the_text_with_offsets_of_characters(model: langid.LangidModel) -> None:
    text = f"😀 {TEXTS['ru']}. {TEXTS['de']}! {TEXTS['fr']}"
    spans = model.spans(text)
    assert [span.label for span in spans] == ["ru", "de", "fr"]
    assert "".join(text[span.start : span.stop] for span in spans) == text
    assert text[spans[1].start : spans[1].stop] == TEXTS["de"] + "! "
    assert model.spans("") == []
    assert model.spans("123") == [langid.Span(0, 3, "und")]


def test_a_decomposed_text_is_the_same_text(model: langid.LangidModel) -> None:
    composed, decomposed = "été à la plage où", "e\u0301te\u0301 a\u0300 la plage ou\u0300"
    full = list(model.predict_full([composed, decomposed], top=3))
    assert full[0] == full[1]
    assert model.spans(decomposed)[-1].stop == len(decomposed)


def _forge(folder: Path, target: Path, name: str, array: Any) -> Path:
    """A copy with another array, and a manifest that fits it."""
    shutil.copytree(folder, target)
    with (target / name).open("wb") as file:
        npy.write_array(file, array, version=(1, 0), allow_pickle=False)
    manifest = json.loads((target / "manifest.json").read_bytes())
    data = (target / name).read_bytes()
    manifest["files"][name] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest["digest"] = manifest_digest(manifest)
    (target / "manifest.json").write_bytes(canonical_json(manifest))
    return target


@pytest.mark.parametrize("case", range(8))
def test_a_forged_model_is_refused(tmp_path: Path, folder: Path, case: int) -> None:
    """Whatever the numbers say, loading ends in an error of ours and never reads beyond the arrays."""
    buckets, stream = np.load(folder / "buckets.npy"), np.load(folder / "stream.npy")
    floors = np.load(folder / "floors.npy")
    far, long = buckets.copy(), np.load(folder / "long_buckets.npy")
    far[int(np.flatnonzero(buckets < 200)[0])] += 1
    wide = np.append(buckets[:-1], np.uint8(255))
    open_end = stream.copy()
    open_end[-1] &= 0x7FFF
    forged = [
        ("buckets.npy", far),
        ("long_buckets.npy", np.append(long, np.uint32(1 << 31))),
        ("buckets.npy", wide),
        ("buckets.npy", buckets[:-2]),
        ("buckets.npy", buckets.astype(np.int64)),
        ("stream.npy", open_end),
        ("stream.npy", np.full_like(stream, 0xFFFF)),
        ("floors.npy", floors + (1 << 30)),
    ][case]
    with pytest.raises(ArtifactCorrupt):
        langid.LangidModel.load(_forge(folder, tmp_path / "forged", *forged))


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
def test_text_of_languages_is_added_up_in_parts(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(ngram_counts, "AT_ONCE", at_once)
    # Five words of 2, 1, 4, 3 and 2 bytes; no language has the second.
    counted = WordCounts(
        np.array([2, 2, 3, 5, 6]),
        np.array([0, 2, 2, 1, 0, 2], np.int32),
        np.array([5, 1, 2, 7, 3, 4], np.uint32),
    )
    words = ngram_counts.NgramVocabulary(np.zeros(12, np.uint8), np.array([2, 3, 7, 10, 12]), counted, 4)
    assert ngram_counts.text_per_language(words, in_bytes=False).tolist() == [8, 7, 7, 0]
    assert ngram_counts.text_per_language(words, in_bytes=True).tolist() == [19, 21, 18, 0]
