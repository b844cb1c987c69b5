"""Templates, tables and the choice of a BPE library."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.data.readers.rowblock import RowBlock, TextColumn
from samebits.errors import ConfigError, InputError
from samebits.tokens.encoders import bpe
from samebits.tokens.encoders.bpe import BpeTokenizer, FastEncoder, ReferenceEncoder, choose_library
from samebits.tokens.encoders.bpe_probe import probe_texts
from samebits.tokens.encoders.bpe_rules import NORMALIZERS, PRE_TOKENIZERS, byte_alphabet, why_slow
from samebits.tokens.encoders.open_tokenizer import load_tokenizer, open_tokenizer
from samebits.tokens.encoders.vocab import ByteTokenizer, CharTokenizer, Tokenizer, WordTokenizer
from samebits.tokens.template import parse_template, run_texts, template_of


def column(texts: list[str]) -> TextColumn:
    data = [text.encode() for text in texts]
    stops = np.cumsum([len(d) for d in data], dtype=np.int64)
    starts = stops - np.array([len(d) for d in data], np.int64)
    return TextColumn(np.frombuffer(b"".join(data), np.uint8), starts, stops)


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return [int(i) for i in tokenizer.encode(column([text])).ids]


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
    a, b = column(["x", "", "é"]), column(["1", "22", ""])
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


def variant(document: bytes, **changes: Any) -> bytes:
    return json.dumps({**json.loads(document), **changes}).encode()


def combinations() -> list[tuple[str, str]]:
    return [(n, p) for n in NORMALIZERS for p in PRE_TOKENIZERS]


@pytest.mark.parametrize(("normalizer", "pre_tokenizer"), combinations())
def test_every_allowed_combination_gives_the_ids_of_tokenizers(
    tokenizer_file: Path, normalizer: str, pre_tokenizer: str
) -> None:
    document = variant(
        tokenizer_file.read_bytes(),
        normalizer=NORMALIZERS[normalizer],
        pre_tokenizer=PRE_TOKENIZERS[pre_tokenizer],
    )
    assert why_slow(json.loads(document)) == ""
    texts = probe_texts(1000, seed=11)
    (ours, starts), (theirs, same_starts) = (
        make(document).encode_strings(texts) for make in (FastEncoder, ReferenceEncoder)
    )
    assert starts.tolist() == same_starts.tolist()
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": {"type": "Unigram"}}, "the model is Unigram"),
        ({"normalizer": {"type": "NFKC"}}, "normalizer NFKC"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre-tokenizer Whitespace"),
        ({"pre_tokenizer": None}, "pre-tokenizer None"),
        ({"added_tokens": [{"content": "x", "special": False}]}, "added token 'x'"),
        ({"added_tokens": [{"content": "x", "special": True, "lstrip": True}]}, "added token 'x'"),
    ],
)
def test_what_is_not_on_the_allow_list_goes_to_tokenizers(
    tokenizer_file: Path, changes: dict[str, Any], reason: str
) -> None:
    library, note = choose_library(variant(tokenizer_file.read_bytes(), **changes))
    assert library == "tokenizers"
    assert reason in note


@pytest.mark.parametrize("switch", ["byte_fallback", "ignore_merges", "fuse_unk"])
def test_model_switches_that_change_ids_go_to_tokenizers(tokenizer_file: Path, switch: str) -> None:
    model = {**json.loads(tokenizer_file.read_bytes())["model"], switch: True}
    assert (
        why_slow(json.loads(variant(tokenizer_file.read_bytes(), model=model))) == f"the model sets {switch}"
    )


def test_a_vocabulary_without_all_bytes_goes_to_tokenizers(tokenizer_file: Path) -> None:
    model = json.loads(tokenizer_file.read_bytes())["model"]
    del model["vocab"][byte_alphabet()[7]]
    document = variant(tokenizer_file.read_bytes(), model=model)
    assert why_slow(json.loads(document)) == "the vocabulary lacks 1 of the 256 bytes"


def test_a_probe_that_differs_goes_to_tokenizers(
    tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Wrong(FastEncoder):
        def encode_strings(self, texts: list[str]) -> Any:
            ids, offsets = super().encode_strings(texts)
            return ids + np.uint32(1), offsets

    monkeypatch.setattr(bpe, "FastEncoder", Wrong)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    library, note = choose_library(tokenizer_file.read_bytes())
    assert (library, "other ids" in note) == ("tokenizers", True)
    assert list(tmp_path.rglob("probes/*")) == []


def test_a_probe_that_passed_is_remembered(
    tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, again = (choose_library(tokenizer_file.read_bytes()) for _ in range(2))
    assert (first[0], again[0]) == ("fastokens", "fastokens")
    assert "1508 probe texts" in first[1]
    assert "before" in again[1]


@pytest.mark.parametrize("library", ["fastokens", "tokenizers"])
def test_special_tokens_in_a_text_stay_plain_text(tokenizer_file: Path, library: str) -> None:
    opened = open_tokenizer(str(tokenizer_file))
    assert isinstance(opened, BpeTokenizer)
    tokenizer = BpeTokenizer(opened.document, opened.specials, opened.vocab_size, library, "")
    ids = encode(tokenizer, "a<|endoftext|>b")
    assert tokenizer.specials.eos not in ids
    assert tokenizer.decode(ids) == "a<|endoftext|>b"


def test_an_encoder_is_replaced_when_memory_is_short(
    tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bpe, "MIN_BYTES_PER_ENCODER", 0)
    opened = open_tokenizer(str(tokenizer_file), memory_bytes=1)
    assert isinstance(opened, BpeTokenizer)
    first = opened._encoder(10)
    assert opened._encoder(10) is not first
    roomy = BpeTokenizer(opened.document, opened.specials, opened.vocab_size, opened.library, "", 1 << 50)
    assert roomy._encoder(10) is roomy._encoder(10)


@pytest.mark.parametrize("setting", ["truncation", "padding"])
def test_truncation_and_padding_in_the_file_are_refused(tokenizer_file: Path, setting: str) -> None:
    document = variant(tokenizer_file.read_bytes(), **{setting: {"max_length": 5}})
    with pytest.raises(ConfigError, match=f"sets {setting}"):
        load_tokenizer(document, name="some.json")


def test_a_bpe_tokenizer_is_pickled_without_its_library(tokenizer_file: Path) -> None:
    tokenizer = open_tokenizer(str(tokenizer_file))
    assert tokenizer.decode(encode(tokenizer, "quick brown")) == "quick brown"
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy == tokenizer
    assert encode(copy, "quick") == encode(tokenizer, "quick")


def test_one_worker_is_one_thread(tokenizer_file: Path) -> None:
    """fastokens would start a pool as wide as the machine; workers could then not be counted."""
    encoder = FastEncoder(tokenizer_file.read_bytes())
    before = len(list(Path("/proc/self/task").iterdir()))
    encoder.encode_strings(["some text to encode "] * 5000)
    assert len(list(Path("/proc/self/task").iterdir())) == before
