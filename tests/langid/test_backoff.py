"""Backoff mode: accuracy, explanations, odd sets of labels, and every input format."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from math import isqrt
from pathlib import Path

import numpy as np
import pytest
from tests.langid.helpers import golden_rows, train, write_rows

from samebits import langid
from samebits.core.engine import Engine
from samebits.data.artifact import ArtifactWriter
from samebits.data.bad_rows import BadRows
from samebits.data.readers.rows import TextColumn
from samebits.errors import ConfigError, InputError, TooManyBadRows
from samebits.executors.serial import SerialExecutor
from samebits.langid import constants
from samebits.langid.config import LangidConfig
from samebits.langid.job import JOB
from samebits.langid.training import backoff
from samebits.langid.training.backoff import (
    RefineSample,
    WordBytes,
    refine,
    roots_of_shares,
    take_rows,
    train_backoff,
)
from samebits.langid.training.gather import gather
from samebits.langid.training.ledger import Ledger
from samebits.langid.training.tasks import TokenRows

TEXTS = {"en": ["good morning", "the house by the river"], "de": ["guten Morgen", "das Haus am Fluss"]}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> langid.LangidModel:
    return langid.train(golden_rows(), output=tmp_path_factory.mktemp("langid") / "model")


def test_it_learns_the_golden_languages(model: langid.LangidModel) -> None:
    assert model.predict(["the old house", "die alten Kinder", "каждый день", "كل يوم", "42"]) == [
        "en",
        "de",
        "ru",
        "ar",
        "und",
    ]


def test_contributions_add_up_to_the_lead(model: langid.LangidModel) -> None:
    text = "das alte Haus"
    found = model.explain(text)
    scores, _ = next(model._scores(langid_column(text)))
    names = model.languages
    lead = int(scores[0, names.index(found["label"])]) - int(scores[0, names.index(found["against"])])
    assert found["lead_bits"] * constants.UNITS_PER_BIT == lead
    assert sum(item.bits for item in found["features"]) == found["lead_bits"]


def langid_column(text: str) -> TextColumn:
    from samebits.langid.model.model import column_of

    return column_of([text])


def test_batches_and_threads_give_the_same_predictions(model: langid.LangidModel) -> None:
    texts = [row["text"] for row in golden_rows()] * 20
    assert model.predict(texts, n_jobs=3) == model.predict(texts)
    full = list(model.predict_full(texts[:5], top=3))
    assert [p.label for p in full] == model.predict(texts[:5])
    assert all(sum(share for _, share in p.ranking) <= 1.0 for p in full)


def test_the_order_of_rows_changes_no_value(tmp_path: Path) -> None:
    one = langid.train(golden_rows(), output=tmp_path / "one")
    two = langid.train(golden_rows()[::-1], output=tmp_path / "two")
    assert one.files.features is not None
    assert two.files.features is not None
    assert one.files.features.keys.tolist() == two.files.features.keys.tolist()
    assert one.files.features.values.tolist() == two.files.features.values.tolist()


def test_merging_two_models_is_training_on_both(tmp_path: Path) -> None:
    import samebits
    from samebits.langid.derived import MergeConfig

    rows = [{"text": text, "lang": lang} for lang, texts in TEXTS.items() for text in texts]
    for name, part in (("a", rows[::2]), ("b", rows[1::2]), ("both", rows[::2] + rows[1::2])):
        langid.train(part, output=tmp_path / name, refine=0)
    config = MergeConfig(inputs=(str(tmp_path / "a"), str(tmp_path / "b")))
    samebits.run("langid_merge", config, output=tmp_path / "merged")
    for name in ("words", "entry_languages", "entry_counts", "keys", "value_languages", "values", "floors"):
        merged, both = ((tmp_path / folder / f"{name}.npy").read_bytes() for folder in ("merged", "both"))
        assert merged == both


@pytest.mark.parametrize(
    "name", ["rows.jsonl", "rows.csv", "rows.parquet", "rows.txt", "rows.json", "rows.jsonl.gz"]
)
def test_every_format_gives_the_same_model(name: str, tmp_path: Path) -> None:
    pairs = [(lang, text) for lang, texts in TEXTS.items() for text in texts]
    path = tmp_path / name
    lines = "".join(json.dumps({"text": text, "lang": lang}) + "\n" for lang, text in pairs)
    if name.endswith("parquet"):
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table({"text": [t for _, t in pairs], "lang": [lang for lang, _ in pairs]}), path)
    elif name.endswith("gz"):
        path.write_bytes(gzip.compress(lines.encode()))
    else:
        label_lines = "".join(f"__label__{lang} {text}\n" for lang, text in pairs)
        csv = "text,lang\n" + "".join(f"{text},{lang}\n" for lang, text in pairs)
        forms = {
            "rows.jsonl": lines,
            "rows.csv": csv,
            "rows.txt": label_lines,
            "rows.json": json.dumps(TEXTS),
        }
        path.write_text(forms[name], encoding="utf-8")
    expected = langid.train(TEXTS)
    found = langid.train(path)
    assert found.languages == ["de", "en"]
    assert found.files.words.tolist() == expected.files.words.tolist()
    assert found.predict(["guten", "morning"]) == ["de", "en"]


def test_one_language_and_empty_texts_are_no_problem(tmp_path: Path) -> None:
    rows = [{"text": "hello", "lang": "en"}, {"text": "", "lang": "en"}, {"text": "123", "lang": "en"}]
    for mode in ("backoff", "exact"):
        record = train(write_rows(tmp_path / "rows.jsonl", rows), tmp_path / mode, mode=mode)
        counted = record.metrics["rows"]
        assert counted["kept"] + counted["dropped"] + record.metrics["lines"]["blank"] >= 2
        assert langid.LangidModel.load(tmp_path / mode).predict(["hello"]) == ["en"]


def test_ten_thousand_labels_train_and_predict(tmp_path: Path) -> None:
    letters = "abcdefghijklmnopqrst"
    words = [
        f"{a}{b}{c}{d}"
        for a in letters[:10]
        for b in letters[:10]
        for c in letters[:10]
        for d in letters[:10]
    ]
    rows = [{"text": f"{word} {word}{word}", "lang": f"l{i:05}"} for i, word in enumerate(words)]
    path = write_rows(tmp_path / "rows.jsonl", rows)
    for mode in ("exact", "backoff"):
        record = train(path, tmp_path / mode, mode=mode)
        assert record.metrics["languages"] == 10_000
    found = langid.LangidModel.load(tmp_path / "exact").predict([rows[77]["text"]])
    assert found == ["l00077"]


def test_labels_may_hold_spaces_and_slashes(tmp_path: Path) -> None:
    rows = [{"text": "hello there", "lang": "a/b c"}, {"text": "guten Tag", "lang": "../x"}]
    train(write_rows(tmp_path / "rows.jsonl", rows), tmp_path / "model")
    assert langid.LangidModel.load(tmp_path / "model").predict(["hello"]) == ["a/b c"]


def test_rows_without_a_label_are_bad_rows(tmp_path: Path) -> None:
    rows = [{"text": "hello", "lang": ""}, {"text": "hello", "lang": "en"}]
    with pytest.raises(TooManyBadRows, match="empty label"):
        train(write_rows(tmp_path / "rows.jsonl", rows), tmp_path / "model")


def test_no_rows_is_an_error_with_a_hint(tmp_path: Path) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [])
    with pytest.raises(InputError, match="no labelled row"):
        train(path, tmp_path / "model")


def test_a_json_object_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text('{"en": "not a list"}')
    with pytest.raises(InputError, match="language -> list"):
        train(path, tmp_path / "model")


def test_unknown_settings_are_named() -> None:
    with pytest.raises(ConfigError, match="cycle"):
        langid.train(TEXTS, cycle=2)


def test_the_estimator_fits_predicts_and_scores() -> None:
    texts, labels = zip(*[(text, lang) for lang, many in TEXTS.items() for text in many], strict=True)
    estimator = langid.LangidClassifier(n_jobs=2).fit(texts, labels)
    assert estimator.classes_.tolist() == ["de", "en"]
    assert estimator.predict(["guten Morgen"]).tolist() == ["de"]
    assert estimator.score(texts, labels) == 1.0
    (row,) = estimator.predict_proba(["guten Morgen"])
    assert row[0] > 0.5
    assert (
        langid.LangidClassifier().set_params(**estimator.get_params()).get_params() == estimator.get_params()
    )


def test_the_ledger_can_hold_the_texts(tmp_path: Path) -> None:
    rows = [{"text": "hello", "lang": "en"}, {"text": "Hello!", "lang": "en"}, {"text": "12", "lang": "en"}]
    train(write_rows(tmp_path / "rows.jsonl", rows), tmp_path / "model", ledger_text=True)
    lines = [json.loads(line) for line in (tmp_path / "model" / "dropped.jsonl").read_text().splitlines()]
    assert [(line["reason"], line["text"], line["of"]) for line in lines] == [
        ("duplicate", "Hello!", 0),
        ("empty", "12", None),
    ]


@pytest.mark.slow
def test_accuracy_on_86_languages_is_at_least_that_of_the_record(shared_data: Path, tmp_path: Path) -> None:
    with gzip.open(shared_data / "ui-strings-86.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    given = [row for row in rows if row["split"] == "train"]
    tests = [row for row in rows if row["split"] == "test"]
    found = langid.train(given, output=tmp_path / "model").predict([row["text"] for row in tests])
    right = sum(label == row["lang"] for label, row in zip(found, tests, strict=True))
    assert right >= 0.85 * len(tests)


@pytest.mark.parametrize("whole", [1, 7, 65_536, 13_000_000_000, 1 << 47])
@pytest.mark.parametrize("part", [0, 1, 65_535, 65_536])
def test_roots_are_those_of_whole_numbers_to_the_last_one(part: int, whole: int) -> None:
    squares = [n * n * whole // max(1, part) for n in (1, 2, 1000, 65_537)]
    near = {square + step for square in squares for step in (-1, 0, 1)} | {0, 1, 2**31, 2**32 - 1, 2**40}
    counts = sorted(count for count in near if 0 <= count < 1 << 50)
    expected = [isqrt((count << 16) * part // whole) for count in counts]
    assert roots_of_shares(np.array(counts, np.int64), part, whole).tolist() == expected


def test_a_large_model_is_refined_as_a_small_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample that lacks most words: values of the others stay what they are, and their own change alike."""
    path = write_rows(tmp_path / "rows.jsonl", golden_rows())
    config = LangidConfig(inputs=(str(path),), refine=0)
    plan, engine = JOB.plan(config), Engine(SerialExecutor())
    rows = gather(plan, config, engine, ArtifactWriter(tmp_path / "out", BadRows()))
    found = train_backoff(rows, config, engine, Ledger(rows.num_train)).features
    for chosen in (np.arange(3, 40, 5), np.arange(0)):
        tokens = take_rows(TokenRows(rows.tokens, rows.stops), chosen)
        words = WordBytes(rows.words, rows.word_stops)
        sample = RefineSample(tokens, words, rows.labels[chosen], rows.num_train)
        whole = refine(engine, sample, found, 3)
        monkeypatch.setattr(backoff, "MOST_FEATURES", 0)
        assert (refine(engine, sample, found, 3).master == whole.master).all()
        monkeypatch.undo()
        moved = float((whole.master != found.master).mean())
        assert (0 < moved < 0.5) is bool(len(chosen))


def test_a_step_of_refinement_does_not_depend_on_how_many_rows_the_sample_stands_for(tmp_path: Path) -> None:
    """Four times as many rows have every feature four times as often; the sample of both is the same."""
    path = write_rows(tmp_path / "rows.jsonl", golden_rows())
    config = LangidConfig(inputs=(str(path),), refine=0)
    plan, engine = JOB.plan(config), Engine(SerialExecutor())
    rows = gather(plan, config, engine, ArtifactWriter(tmp_path / "out", BadRows()))
    found = train_backoff(rows, config, engine, Ledger(rows.num_train)).features
    tokens = TokenRows(rows.tokens, rows.stops)
    sample = RefineSample(tokens, WordBytes(rows.words, rows.word_stops), rows.labels, rows.num_train)
    once = refine(engine, sample, found, 3)
    more = replace(found, counts=4 * found.counts)
    again = refine(engine, sample._replace(num_rows=4 * rows.num_train), more, 3)
    assert (once.master == again.master).all()
    assert (once.master != found.master).any()
