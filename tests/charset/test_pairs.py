from __future__ import annotations

from pathlib import Path

import pytest

from samebits.charset.codec import canonical_name, is_per_character, known_codecs
from samebits.charset.pairs import Pair, builtin_pairs, choose_pairs, read_pairs
from samebits.errors import ConfigError, InputError


def test_the_built_in_table_is_large_and_every_codec_exists() -> None:
    pairs = builtin_pairs()
    assert len(pairs) >= 233
    assert len({pair.language for pair in pairs}) >= 48
    assert len({canonical_name(pair.codec) for pair in pairs}) >= 77
    assert len({pair.key for pair in pairs}) == len(pairs)
    assert list(pairs) == sorted(pairs)


def test_languages_and_encodings_choose_and_any_spelling_of_an_encoding_works() -> None:
    chosen = choose_pairs(builtin_pairs(), languages=["de", "ru"], encodings=["Windows-1252", "koi8_r"])
    assert [pair.key for pair in chosen] == ["de/cp1252", "ru/koi8-r"]


@pytest.mark.parametrize(
    ("languages", "encodings", "hint"),
    [
        (["ger"], [], "known: "),
        ([], ["cp12522"], "did you mean 'cp1252'?"),
        ([], ["utf-16"], "did you mean 'utf-8'?"),
        (["ja"], ["koi8-r"], "samebits charset pairs"),
    ],
)
def test_an_unknown_choice_says_what_was_probably_meant(
    languages: list[str], encodings: list[str], hint: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        choose_pairs(builtin_pairs(), languages=languages, encodings=encodings)
    assert hint in caught.value.hint


def test_pairs_are_read_from_toml_and_json(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[[pair]]\nlang = "de"\nencoding = "win"\ncodec = "cp1252"\n')
    (tmp_path / "a.json").write_text('[{"lang": "de", "encoding": "cp1252"}]')
    assert read_pairs(str(tmp_path / "a.toml")) == (Pair("de", "win", "cp1252"),)
    assert read_pairs(str(tmp_path / "a.json")) == (Pair("de", "cp1252", "cp1252"),)


@pytest.mark.parametrize("text", ['[{"lang": "de"}]', '{"a": 1}', "[[", '[["de"]]'])
def test_a_damaged_pairs_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "pairs.json"
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_pairs(str(path))
    assert caught.value.path == str(path)


def test_a_pair_given_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(
        '[{"lang": "de", "encoding": "cp1252"}, {"lang": "de", "encoding": "cp1252"}]'
    )
    with pytest.raises(ConfigError, match="twice"):
        read_pairs(str(tmp_path / "p.json"))


def test_per_character_codecs_give_the_bytes_of_their_characters_one_after_the_other() -> None:
    sample = "abcäöüßéñøžšđțґжїקשתابتـني中文字日本語かナ한국어กขค€„“–…½ﺏﺑ\n"
    for codec in filter(is_per_character, known_codecs()):
        whole = sample.encode(codec, "ignore")
        assert whole == b"".join(char.encode(codec, "ignore") for char in sample), codec
