"""Near languages are compared like with like: by the sources they share, never by what one of them has more text of."""

from __future__ import annotations

import hashlib
import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from samebits import langid
from samebits.core.digest import canonical_json
from samebits.core.options import RunOptions
from samebits.data.artifact import manifest_digest
from samebits.errors import ArtifactCorrupt, ConfigError, InputError
from samebits.kernels.langid.spans import words_of
from samebits.langid.model.ranking import SENTENCE, column_of, near_weights, settle_scores
from samebits.langid.training import large
from samebits.langid.training.on_workers.training import WorkerTraining

MENU = {
    "nb": [
        "jeg vet ikke hva de vil",
        "en dag fra oss",
        "hvor er et hus",
        "de kom ikke fra byen",
        "hva gjør en hund",
    ],
    "nn": [
        "eg veit ikkje kva dei vil",
        "ein dag frå oss",
        "kor er eit hus",
        "dei kom ikkje frå byen",
        "kva gjer ein hund",
    ],
    "de": [
        "ich weiß nicht was sie wollen",
        "ein Tag von uns",
        "wo ist ein Haus",
        "der Hund kam nicht aus der Stadt",
    ],
}
SHARED = [
    "minister",
    "parlament",
    "statsråd",
    "avtale",
    "budsjett",
    "nasjonal",
    "reform",
    "president",
    "kommisjon",
    "militær",
    "generell",
    "union",
]
NEWS = [" ".join(words) for words in itertools.permutations(SHARED, 3)][::3]


def rows(*, sources: bool = True) -> list[dict[str, str]]:
    """Menus in three languages, and much news in one of them."""
    found = [
        {"text": f"{text} {word}", "lang": name, "source": "menu"}
        for name, texts in MENU.items()
        for text in texts
        for word in SHARED
        for _ in range(10)
    ]
    found = [{**row, "text": f"{row['text']} {i}x"} for i, row in enumerate(found)]  # no row twice
    found += [{"text": text, "lang": "nb", "source": "news"} for text in NEWS]
    return found if sources else [{"text": row["text"], "lang": row["lang"]} for row in found]


def write(path: Path, lines: list[dict[str, str]]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def train(
    folder: Path, lines: list[dict[str, str]], name: str = "model", **settings: Any
) -> langid.LangidModel:
    source = write(folder / f"{name}.jsonl", lines)
    return langid.train(source, output=folder / name, mode="compact", megabytes=1, ledger="none", **settings)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("near")
    train(place, rows(), source_column="source")
    return place / "model"


def test_a_source_that_one_language_alone_has_does_not_decide(tmp_path: Path, folder: Path) -> None:
    """The news is in Bokmål alone, so a Nynorsk text about news was taken for Bokmål."""
    near, plain = langid.LangidModel.load(folder), train(tmp_path, rows(sources=False))
    text = " ".join(["ikkje", *SHARED])
    assert plain.predict(text) == "nb"
    assert near.predict(text) == "nn"
    assert near.predict(text.replace("ikkje", "ikke")) == "nb"
    assert near.predict(MENU["de"]) == ["de"] * len(MENU["de"])


def test_workers_executors_and_order_of_rows_change_no_byte(tmp_path: Path, folder: Path) -> None:
    train(tmp_path, rows()[::-1], "other", source_column="source", options=RunOptions(workers="2"))
    for name in ("buckets.npy", "long_buckets.npy", "stream.npy", "floors.npy", "biases.npy", "model.json"):
        assert (tmp_path / "other" / name).read_bytes() == (folder / name).read_bytes()


def test_rows_in_memory_keep_the_column_of_sources(tmp_path: Path, folder: Path) -> None:
    """Only text and language were written to the file that training reads."""
    settings: dict[str, Any] = {"mode": "compact", "megabytes": 1, "ledger": "none"}
    langid.train(rows(), output=tmp_path / "model", source_column="source", **settings)
    assert (tmp_path / "model" / "stream.npy").read_bytes() == (folder / "stream.npy").read_bytes()


def test_allowed_languages_spans_and_explanations_know_groups(folder: Path) -> None:
    model = langid.LangidModel.load(folder)
    text = "eg veit ikkje kva dei vil ministeren"
    assert model.predict(text, languages=["nb", "de"]) == "nb"
    assert [span.label for span in model.spans(f"ich weiß nicht was sie wollen. {text}")] == ["de", "nn"]
    found = model.explain(" ".join(["ikkje", *SHARED[:4]]))
    assert (found["label"], found["against"]) == ("nn", "nb")
    assert sum(feature.bits for feature in found["features"]) == pytest.approx(found["lead_bits"])
    assert max(found["features"], key=lambda one: one.bits).feature == "ikkje"
    other = model.explain("ich weiß nicht")
    assert other["label"] == "de"
    assert sum(feature.bits for feature in other["features"]) == pytest.approx(other["lead_bits"])


def test_the_best_of_a_group_keeps_the_score_of_the_group(folder: Path) -> None:
    """What is settled among near languages changes nothing against others."""
    model = langid.LangidModel.load(folder)
    column = column_of(["eg veit ikkje", "ein hund"])
    columns, letters, _ = model.ranker.scorer.score(column.buffer, column.starts, column.stops, 4096)
    scores = settle_scores(model.ranker.files, columns, letters, model.ranker.groups)
    names = model.languages
    group = [names.index("nb"), names.index("nn")]
    before = columns[:, : len(names)] + model.ranker.files.biases
    assert columns.shape[1] == len(names) + 2
    assert (scores[:, group].max(axis=1) == before[:, group].max(axis=1)).all()
    others = [i for i in range(len(names)) if i not in group]
    assert (scores[:, others] == before[:, others]).all()


def test_the_longer_a_text_the_less_the_model_itself_says_between_near_languages() -> None:
    """Its errors of source add up letter by letter: in a sentence it counts by its mean letter."""
    of_model, of_near = (weights.astype(int) for weights in near_weights())
    share = of_model / of_near
    assert (share[1:] <= share[:-1]).all()
    assert 3.9 < share[SENTENCE] / share[4 * SENTENCE] < 4.1
    assert 1.9 < share[9] / share[39] < 2.1  # one over the root below


def test_a_column_with_too_many_sources_is_refused(tmp_path: Path) -> None:
    many = [{**row, "source": str(i)} for i, row in enumerate(rows())]
    with pytest.raises(ConfigError, match="more than 256 different values"):
        train(tmp_path, many, source_column="source")


def test_a_column_that_will_not_do_is_refused_before_words_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where workers train, near languages are counted last."""
    monkeypatch.setattr(large, "LEAST_BYTES", {"compact": 0})
    monkeypatch.setattr(WorkerTraining, "count", lambda *_, **__: pytest.fail("counted"))
    many = [{**row, "source": str(i)} for i, row in enumerate(rows())]
    with pytest.raises(ConfigError, match="more than 256 different values"):
        train(tmp_path, many, "many", source_column="source")
    with pytest.raises(InputError, match="collection"):
        train(tmp_path, rows(), source_column="collection")


def test_a_missing_column_and_rows_without_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="collection"):
        train(tmp_path, rows(), source_column="collection")
    lines = tmp_path / "rows.txt"
    lines.write_text("__label__nb jeg vet ikke\n__label__nn eg veit ikkje\n" * 3, encoding="utf-8")
    with pytest.raises(ConfigError, match="needs rows with columns"):
        langid.train(lines, output=tmp_path / "out", mode="compact", source_column="source")


@pytest.mark.parametrize(
    "near", [None, [["nb"]], [["nb", "xx"]], [["nb", "nb"]], [["nb", "nn"], ["nb", "de"]], [[1, 2]]]
)
def test_forged_groups_are_refused(tmp_path: Path, folder: Path, near: Any) -> None:
    target = tmp_path / "forged"
    shutil.copytree(folder, target)
    described = json.loads((target / "model.json").read_bytes())
    described["near"] = near
    data = canonical_json(described)
    (target / "model.json").write_bytes(data)
    manifest = json.loads((target / "manifest.json").read_bytes())
    manifest["files"]["model.json"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    manifest["digest"] = manifest_digest(manifest)
    (target / "manifest.json").write_bytes(canonical_json(manifest))
    with pytest.raises(ArtifactCorrupt):
        langid.LangidModel.load(target)


def test_serbian_in_cyrillic_speaks_for_serbian_in_latin_letters(tmp_path: Path) -> None:
    lines = [
        {"text": f"{text} {i}x", "lang": name, "source": "menu"}
        for name, texts in {
            "sr": [
                "где је време",
                "лепо млеко",
                "увек цео дан",
                "где је лепо време",
                "dobar dan svima",
                "volim vas puno",
            ],
            "hr": [
                "gdje je vrijeme",
                "lijepo mlijeko",
                "uvijek cijeli dan",
                "gdje je lijepo vrijeme",
                "dobar dan svima",
                "volim vas puno",
            ],
            "en": ["where is the time", "nice milk", "always all day", "where is nice time"],
        }.items()
        for text in texts
        for i in range(150)
    ]
    model = train(tmp_path, lines, source_column="source")
    columns = model.ranker.near_columns
    ((_, features),) = words_of(model.ranker.scorer, b"lepo", 4096)
    values = dict(features[-1][2])
    assert features[-1][:2] == (0, 0), "the word itself is last"
    serbian, croatian = (values.get(columns[model.languages.index(name)], 0) for name in ("sr", "hr"))
    assert serbian > croatian
    assert model.ranker.files.near == (("hr", "sr"),)
