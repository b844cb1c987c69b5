from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.charset.naive import Result, naive_counts

from samebits.charset.block import block_of
from samebits.charset.recipes.recipe import PLACEHOLDER, Recipe
from samebits.charset.training.count import count_block
from samebits.charset.training.images import ImageTable
from samebits.charset.training.project import PairCounts, project_language
from samebits.charset.training.tables import LanguageCounts, add_counts

#: Whitespace, zero width, doubled marks, combining marks (also those JIS X 0213 and HKSCS codecs pair), NUL.
NASTY = "\x00 \t\n\r\x1c\x85\u00a0\u2003\u3000\u2028[]{}|'\"\u200b\u200d\ufeff\u2026\u2014\u20ac\u309a\u0300\u0304\u030cÊêかカæ"
ORDINARY = "abcdefgh äöüßéèñçøžšđțşабвгдЖїקשתابتني中文字日本한국어กข😀"
CODECS = [
    "ascii", "cp1252", "iso8859-1", "cp1251", "cp1255", "cp1258", "cp500", "koi8-r", "mac-roman", "utf-8", "utf-16",
    "gb18030", "big5hkscs", "cp932", "euc_jis_2004", "shift_jis_2004", "euc_kr", "johab", "hz", "iso2022_jp_2", "iso2022_kr", "utf-7",
]  # fmt: skip

texts = st.lists(
    st.text(st.sampled_from(NASTY) | st.sampled_from(ORDINARY), max_size=40)
    | st.text(st.sampled_from(ORDINARY), min_size=5, max_size=80),
    max_size=6,
)
images = st.dictionaries(
    st.sampled_from(NASTY + ORDINARY), st.sampled_from(["", " ", "  ", "a", "ab", "é b", "\n"]), max_size=8
)


def counted(recipes: Sequence[Recipe], slices: Sequence[Sequence[str]]) -> dict[str, PairCounts]:
    tables = [ImageTable(recipe) for recipe in recipes]
    parts = [count_block(tables, block_of(texts)) for texts in slices]
    return project_language(add_counts(parts), tables)


def as_result(pair: PairCounts) -> Result:
    counts = dict(zip(pair.index.tolist(), pair.counts.tolist(), strict=True))
    return counts, pair.samples, pair.num_bytes, pair.letters_kept, pair.letters


@settings(max_examples=150, deadline=None)
@given(
    texts=texts,
    changes=images,
    codecs=st.lists(st.sampled_from(CODECS), min_size=1, max_size=5, unique=True),
    collapse=st.sampled_from(["", "[]'"]),
    every=st.booleans(),
    cut=st.integers(1, 6),
)
def test_projection_equals_encoding_every_text(
    texts: list[str], changes: dict[str, str], codecs: list[str], collapse: str, every: bool, cut: int
) -> None:
    recipes = [
        Recipe(
            language="xx", encoding=codec, codec=codec, collapse=collapse, substitutes_all=every,
            substitute=lambda char: changes.get(char, char),
        )
        for codec in codecs
    ]  # fmt: skip
    out = counted(recipes, [texts[i : i + cut] for i in range(0, len(texts), cut)])
    assert {recipe.encoding: as_result(out[recipe.encoding]) for recipe in recipes if texts} == {
        recipe.encoding: naive_counts(recipe, texts) for recipe in recipes if texts
    }


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_equals_the_naive_count_on_hostile_text(codec: str) -> None:
    hostile = [
        NASTY * 3,
        ORDINARY * 4,
        *(a + b for a in NASTY for b in ("ê", " c", "か")),
        "x" * 10,
        "y" * 11,
        "",
    ]
    recipe = Recipe(language="xx", encoding=codec, codec=codec, substitute=lambda char: char)
    assert as_result(counted([recipe], [hostile])[codec]) == naive_counts(recipe, hostile)


def test_context_steps_visual_order_and_shaping_equal_the_naive_count() -> None:
    texts = [
        "abc def ghi jkl mno",
        "Љубав и мир, свима нама",
        "e\u0301 e\u0301 e\u0301 e\u0301 abcdefg",
        "short",
    ]
    recipes = [
        Recipe(language="xx", encoding="plain", codec="cp1252", substitute=str),
        Recipe(language="xx", encoding="before", codec="cp1252", substitute=str, before=str.swapcase),
        Recipe(
            language="xx", encoding="after", codec="cp1252", substitute=str, after=lambda t: unicodedata.normalize("NFC", t)
        ),
        Recipe(
            language="xx", encoding="both", codec="cp1252", substitute=str, orders=("logical", "visual"), visual=lambda t: t[::-1]
        ),
        Recipe(
            language="xx", encoding="shaped", codec="cp1252", substitute=str, orders=("visual",), visual=lambda t: t[::-1],
            shape=lambda t: t.replace("ab", "ß"), glyph=lambda c: "ss" if c == "ß" else c,
        ),
    ]  # fmt: skip
    out = counted(recipes, [texts[:2], texts[2:]])
    assert {name: as_result(pair) for name, pair in out.items()} == {
        recipe.encoding: naive_counts(recipe, texts) for recipe in recipes
    }


def test_the_placeholder_becomes_the_name_of_the_encoding() -> None:
    text = f'<meta charset="{PLACEHOLDER}">'
    recipes = [
        Recipe(language="xx", encoding=name, codec=name, substitute=str) for name in ("cp1252", "utf-8", "hz")
    ]
    out = counted(recipes, [[text]])
    for recipe in recipes:
        assert as_result(out[recipe.encoding]) == naive_counts(recipe, [text])


def test_dropped_characters_are_reported_by_how_common_they_are() -> None:
    recipe = Recipe(language="xx", encoding="ascii", codec="ascii", substitute=str)
    pair = counted([recipe], [["naïve café äää plus some ascii"]])["ascii"]
    assert pair.dropped == (("ä", 3), ("é", 1), ("ï", 1))
    assert pair.num_dropped == 5
    assert pair.retention == 20 / 25


def test_parts_survive_the_trip_through_plain_data() -> None:
    recipe = Recipe(language="xx", encoding="hz", codec="hz", substitute=str)
    other = Recipe(language="xx", encoding="cp1252", codec="cp1252", substitute=str)
    tables = [ImageTable(recipe), ImageTable(other)]
    counts = count_block(tables, block_of(["a 中 b \u200b c and more text", "tiny"]))
    again = LanguageCounts.from_part(counts.to_part())
    first, second = project_language(counts, tables), project_language(again, tables)
    assert {k: as_result(v) for k, v in first.items()} == {k: as_result(v) for k, v in second.items()}
