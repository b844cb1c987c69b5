"""Templates and tables."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.api import plan
from samebits.data.readers.rowblock import RowBlock
from samebits.errors import ConfigError, InputError
from samebits.tokens.config import TokensConfig
from samebits.tokens.encoders.interface import column_of
from samebits.tokens.template import parse_template, run_texts, template_of
from samebits.tokens.tokenizers.open_tokenizer import load_tokenizer, open_tokenizer
from samebits.tokens.tokenizers.vocab import ByteTokenizer, CharTokenizer, Tokenizer, WordTokenizer


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return [int(i) for i in tokenizer.encode(column_of([text])).ids]


def test_a_template_joins_touching_text_into_one_run() -> None:
    template = parse_template("{bos}Q: {question} {{x}}{sep}{answer}{eos}")
    assert template.pieces == ("bos", 0, "sep", 1, "eos")
    assert template.runs[0] == (("text", "Q: "), ("column", "question"), ("text", " {"), ("text", "x}"))
    assert template.columns == ("question", "answer")


def test_columns_are_joined_by_separators() -> None:
    assert template_of(template=None, columns=("a", "b"), add_bos=True, add_eos=True).pieces == (
        *("bos", 0, "sep", 1, "eos"),
    )


@pytest.mark.parametrize("text", ["{", "{}", "{a!r}", "{a:3}", "{bos}{eos}", ""])
def test_a_template_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="template"):
        parse_template(text)


def test_a_run_of_columns_and_literals_is_joined_row_by_row() -> None:
    a, b = column_of(["x", "", "é"]), column_of(["1", "22", ""])
    lines = np.arange(3)
    block = RowBlock({"a": a, "b": b}, lines, lines, 3, 0, [])
    run = parse_template("<{a}|{b}>").runs[0]
    assert list(run_texts(run, block).texts()) == ["<x|1>", "<|22>", "<é|>"]


@given(st.text())
def test_bytes_decode_to_the_text_they_came_from(text: str) -> None:
    assert ByteTokenizer().decode(encode(ByteTokenizer(), text)) == text


@given(st.text("abc é中🙂", max_size=30))
def test_chars_decode_to_the_text_they_came_from(text: str) -> None:
    tokenizer = CharTokenizer(tuple("abc é中🙂"))
    assert tokenizer.decode(encode(tokenizer, text)) == text


def test_words_split_at_ascii_white_space_and_punctuation() -> None:
    tokenizer = WordTokenizer(("don't", "(", ")", "a\u2003b"))
    assert encode(tokenizer, "don't(a\u2003b)\tzzz") == [5, 6, 8, 7, 1]
    assert tokenizer.decode([5, 6, 1, 4]) == "don't ( <|unk|> <|endoftext|>"


@pytest.mark.parametrize(
    "tokenizer", [ByteTokenizer(), CharTokenizer(("é", "\n")), WordTokenizer(("a", "b"))]
)
def test_table_tokenizers_survive_their_file_and_pickle(tokenizer: Tokenizer) -> None:
    encode(tokenizer, "aé")
    assert load_tokenizer(tokenizer.dump(), name="x") == tokenizer
    assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer


@pytest.mark.parametrize(
    "document",
    [
        b"{",
        b"[]",
        b'{"samebits_tokenizer": "word.v1"}',
        b'{"samebits_tokenizer": "word.v9", "vocabulary": []}',
        b'{"samebits_tokenizer": "char.v1", "vocabulary": ["ab"]}',
        b'{"samebits_tokenizer": "word.v1", "vocabulary": ["a", "a"]}',
    ],
)
def test_files_that_are_no_tokenizer_are_refused_by_name(document: bytes) -> None:
    with pytest.raises((InputError, ConfigError), match=r"some\.json"):
        load_tokenizer(document, name="some.json")


def test_an_unknown_tokenizer_name_gets_a_hint() -> None:
    with pytest.raises(InputError) as caught:
        open_tokenizer("wrod")
    assert "did you mean 'word'" in caught.value.hint


@pytest.mark.parametrize("name", ["byte", "char", "word", "bpe"])
def test_a_built_in_name_that_is_also_a_path_is_refused_with_both_ways_to_say_it(
    name: str, dirty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan("tokens", TokensConfig(inputs=(str(dirty),), tokenizer=name))
    (tmp_path / name).mkdir()
    with pytest.raises(ConfigError, match="could be") as caught:
        plan("tokens", TokensConfig(inputs=(str(dirty),), tokenizer=name))
    assert f"--tokenizer built-in:{name}" in caught.value.hint
    assert f"--tokenizer ./{name}" in caught.value.hint
    plan("tokens", TokensConfig(inputs=(str(dirty),), tokenizer=f"built-in:{name}"))
