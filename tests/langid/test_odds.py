"""Odds of languages before a letter is read: given with ``--odds``, built in, and found for the model of the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from release.langid_odds import Sample, Texts, expect, fit, sample
from release.langid_packages import chosen_forms, emoji_texts
from tests.langid.test_compact import sample_rows

from samebits import langid
from samebits.data.artifact import open_artifact
from samebits.errors import ConfigError
from samebits.langid.model.compact_files import CompactFiles, read_compact
from samebits.langid.model.default import default_folder
from samebits.langid.training.compact.train import thinned

REPO = Path(__file__).resolve().parents[2]


def trained(folder: Path, odds: tuple[str, ...]) -> CompactFiles:
    rows = [row for row in sample_rows() if row["lang"] in ("cs", "de", "fi", "fr", "sv")]
    langid.train(rows, output=folder, mode="compact", megabytes=1, odds=odds)
    return read_compact(open_artifact(folder))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> CompactFiles:
    return trained(tmp_path_factory.mktemp("odds") / "plain", ())


def test_given_odds_move_languages_by_their_bits_and_nothing_else(
    plain: CompactFiles, tmp_path: Path
) -> None:
    moved = trained(tmp_path / "moved", ("de=3", "sv=-1.5", "xx=7"))
    by = dict(zip(moved.languages, (moved.biases - plain.biases).tolist(), strict=True))
    assert by == {"cs": 0, "de": 192, "fi": 0, "fr": 0, "sv": -96, "zxx": 0}
    assert np.array_equal(moved.stream, plain.stream)


def test_odds_are_saved_where_they_are_given(plain: CompactFiles, tmp_path: Path) -> None:
    trained(tmp_path / "given", ("de=3",))
    assert open_artifact(tmp_path / "given").config["odds"] == ["de=3"]
    assert (
        langid.train(sample_rows()[:400], output=tmp_path / "none", mode="compact", megabytes=1) is not None
    )
    assert "odds" not in open_artifact(tmp_path / "none").config


@pytest.mark.parametrize("odds", [("hr",), ("=3",), ("hr=much",), ("hr=nan",), ("hr=1e9",), ("hr=1", "hr=2")])
def test_odds_that_say_nothing_are_refused(odds: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--odds has"):
        langid.train(sample_rows()[:100], output=tmp_path / "model", mode="compact", odds=odds)


def test_found_odds_make_each_language_as_frequent_as_it_is(plain: CompactFiles) -> None:
    """A model that has been pushed towards German expects it too often; the odds that are found take that back."""
    pushed = plain._replace(biases=plain.biases + np.array([0, 760, 0, 0, 0, 0], np.int32))
    texts: Texts = {kind: [] for kind in ("sentences", "pairs", "words")}
    for row in sample_rows():
        if row["lang"] in plain.languages:
            texts["words"] += [(row["lang"], word) for word in row["text"].split()[:2] if len(word) > 3]
    one: Sample = sample(pushed, texts)
    there = np.bincount(one.labels, one.weights, len(plain.languages))
    german = plain.languages.index("de")
    assert expect(one, np.zeros(6, np.int32))[german] > 1.5 * there[german]
    odds = fit([one])
    assert max(odds[name] for name in plain.languages[:5]) - odds["de"] > 480
    moved = np.array([odds[name] for name in plain.languages], np.int32)
    found = expect(one, moved)[:5]  # the rest is of the class without a language, which no text is of
    assert np.allclose(found / found.sum(), there[:5], rtol=0.1)


def test_the_model_of_the_package_has_the_odds_of_the_repository() -> None:
    written = (REPO / "release" / "langid_odds.txt").read_text(encoding="utf-8").strip()
    assert ",".join(open_artifact(default_folder()).config["odds"]) == written


def test_counts_are_thinned_out_where_there_are_many() -> None:
    few = np.array([1, 2, 4, 5, 20], np.uint32)
    assert thinned(few).tolist() == few.tolist()
    many = np.append(few, np.uint32(4_000_000_000))
    assert thinned(many).tolist() == [1, 1, 1, 2, 7, 1_400_000_000]


def test_latin_forms_are_a_fixed_choice_of_plain_words() -> None:
    assert sorted(chosen_forms(["amo", "amare", "XII", "a.", "et", "amo"])) == ["amare", "amo"]


def test_an_emoji_is_one_row_of_keywords_and_name() -> None:
    data = '{"annotations": {"identity": {}, "annotations": {"🐈": {"default": ["katt"], "tts": ["katt"]}}}}'
    assert list(emoji_texts(data.encode())) == ["katt katt"]
