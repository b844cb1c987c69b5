"""Sentences by NLTK: cut where it cuts, whatever the bytes, and never silently without its data."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.langid.helpers import train, write_rows

from samebits.errors import ConfigError
from samebits.langid.model.model import column_of
from samebits.langid.training import punkt
from samebits.langid.training.punkt import split_by_punkt

nltk = pytest.importorskip("nltk", reason="the extra 'punkt' is not installed")

TEXTS = ["Dr. Ärmel came. He left! Why?", "", "   ", "no stop at all", "Größe 3.5 m. Übrig. "]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Punkt model that knows one abbreviation."""
    folder = tmp_path / "nltk_data" / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    for name in ("collocations.tab", "sent_starters.txt", "abbrev_types.txt", "ortho_context.tab"):
        (folder / name).write_text("dr" if name.startswith("abbrev") else "", encoding="utf-8")
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path / "nltk_data")])
    forget(monkeypatch)
    return folder


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    for found in (punkt._tokenizer, punkt.punkt_digest):
        found.cache_clear()
        monkeypatch.setattr(punkt, found.__name__, found)


def test_sentences_are_those_of_nltk(data: Path) -> None:
    column = column_of(TEXTS)
    rows, starts, stops = split_by_punkt(column)
    found = [
        (row, column.buffer[start:stop].tobytes().decode().strip())
        for row, start, stop in zip(rows.tolist(), starts.tolist(), stops.tolist(), strict=True)
    ]
    expected = [
        (row, sentence) for row, text in enumerate(TEXTS) for sentence in (nltk.sent_tokenize(text) or [""])
    ]
    assert found == expected
    assert [text for row, text in found if row == 0] == ["Dr. Ärmel came.", "He left!", "Why?"]


def test_another_punkt_model_is_another_plan(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_rows(tmp_path / "rows.jsonl", [{"text": "Dr. A. came. Then B.", "lang": "en"}])
    first = train(path, tmp_path / "a", mode="exact", sentences="punkt")
    (data / "abbrev_types.txt").write_text("dr\nthen", encoding="utf-8")
    forget(monkeypatch)
    second = train(path, tmp_path / "b", mode="exact", sentences="punkt")
    assert first.plan_digest != second.plan_digest
    assert first.metrics["rows"]["read"] == 2


def test_missing_data_are_an_error_with_the_command_that_gets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    forget(monkeypatch)
    path = write_rows(tmp_path / "rows.jsonl", [{"text": "one. two", "lang": "en"}])
    with pytest.raises(ConfigError, match="punkt_tab") as caught:
        train(path, tmp_path / "out", sentences="punkt")
    assert "nltk.downloader" in caught.value.hint
