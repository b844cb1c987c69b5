"""Longer texts are read in part: from all over them, until the answer stands, and never another one than it was."""

from __future__ import annotations

from importlib import resources

import numpy as np
import pytest

from samebits import langid
from samebits.errors import ArtifactCorrupt
from samebits.kernels.langid.enough import Enough
from samebits.kernels.langid.spans import words_of
from samebits.langid.model import ranking
from samebits.langid.model.compact_files import CompactFiles
from samebits.langid.model.ranking import column_of, settle_scores

WORDS = 60
ENGLISH = "The old woman who has lived in this house for many years told them about her childhood"
GERMAN = (
    "und dann ging die ganze Familie am Nachmittag durch den Wald nach Hause, weil es bald regnen sollte, "
)


@pytest.fixture(scope="module")
def world() -> langid.LangidModel:
    return langid.load_default()


@pytest.fixture(scope="module")
def texts() -> list[str]:
    """Ten texts of sixty words in each language of the samples."""
    found = []
    folder = resources.files("samebits").joinpath("samples")
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.name.endswith(".txt"):
            words = item.read_text(encoding="utf-8").split()
            found += [" ".join(words[i : i + WORDS]) for i in range(0, 10 * WORDS, WORDS)]
    return found


def read(world: langid.LangidModel, texts: list[str], enough: Enough | None) -> tuple[np.ndarray, np.ndarray]:
    """Best languages and known letters."""
    column, ranker = column_of(texts), world.ranker
    scores, letters, _ = ranker.scorer.score(column.buffer, column.starts, column.stops, 4096, None, enough)
    return settle_scores(ranker.files, scores, letters, ranker.groups).argmax(axis=1), letters


def enough_of(world: langid.LangidModel) -> Enough:
    return world.ranker.enough(np.ones(len(world.languages), np.uint8))


def test_a_part_of_a_text_says_what_the_whole_says(world: langid.LangidModel, texts: list[str]) -> None:
    best, letters = read(world, texts, None)
    again, some = read(world, texts, enough_of(world))
    assert again.tolist() == best.tolist()
    assert int(some.sum()) < int(letters.sum()) // 2
    assert (some <= letters).all()


def test_words_are_read_from_all_over_a_text(world: langid.LangidModel) -> None:
    """Read from its beginning, the first sentence would be enough."""
    text = f"{ENGLISH}, {GERMAN * 3}"
    assert read(world, [f"{ENGLISH} {ENGLISH}"], enough_of(world))[1][0] < len(ENGLISH.replace(" ", ""))
    assert world.predict([ENGLISH, text]) == ["en", "de"]


def test_near_languages_are_read_on(world: langid.LangidModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lead that is never reached among near languages stops nobody else."""
    danish = "Jeg ved ikke, hvad jeg skal sige om de nye regler, som regeringen har fremlagt i dag for alle borgere"
    greek = (
        "Δεν ξέρω τι να πω για τους νέους κανόνες που παρουσίασε σήμερα η κυβέρνηση για όλους τους πολίτες"
    )
    whole = read(world, [danish, greek], None)[1]
    monkeypatch.setattr(ranking, "LEADS", (ranking.LEADS[0], 1_000_000))
    part = read(world, [danish, greek], enough_of(world))[1]
    assert part[0] == whole[0]
    assert part[1] < whole[1]


def test_only_allowed_languages_need_be_led(world: langid.LangidModel) -> None:
    """English and Scots are hard to tell apart, English and Greek are not: less is read."""
    text = "The winter was cold and the wind was strong over the hills when they came home at night again"
    mask = np.isin(np.array(world.languages), ["en", "el"]).astype(np.uint8)
    free, limited = (read(world, [text], one)[1][0] for one in (enough_of(world), world.ranker.enough(mask)))
    assert limited < free


def test_explanations_are_of_what_was_read(world: langid.LangidModel) -> None:
    text = GERMAN * 3
    found = world.explain(text)
    whole = words_of(world.ranker.scorer, text.encode(), 4096)
    read_words = words_of(world.ranker.scorer, text.encode(), 4096, enough_of(world))
    assert len(read_words) < len(whole)
    assert found["label"] == "de"
    assert sum(one.bits for one in found["features"]) == pytest.approx(found["lead_bits"])


def test_the_table_finds_what_is_in_the_stream(world: langid.LangidModel, texts: list[str]) -> None:
    """Dense rows, short lists and long ones: sums of the kernel are those of the features, searched one by one."""
    scorer, files = world.ranker.scorer, world.ranker.files
    chosen = texts[::7]
    column = column_of(chosen)
    scores, letters, _ = scorer.score(column.buffer, column.starts, column.stops, 4096)
    for text, found, known in zip(chosen, scores, letters, strict=True):
        sums = -int(known) * files.all_floors()
        for _, features in words_of(scorer, text.encode(), 4096):
            for _, _, entries in features:
                for column_number, value in entries:
                    sums[column_number] += value
        assert sums.tolist() == found.tolist()


def test_features_that_crowd_in_a_bucket_are_refused() -> None:
    stream = np.empty(10_000, np.uint16)
    stream[::2], stream[1::2] = np.arange(5_000), 1 << 15
    buckets = np.array([0, 10_000, 10_000], np.uint32)
    none = np.zeros(1, np.int32)
    with pytest.raises(ArtifactCorrupt, match="not spread"):
        CompactFiles(["de"], buckets, stream, none, none).scorer()
