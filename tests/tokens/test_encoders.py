"""The choice of an encoder for a tokenizer file, and that every allowed one gives the ids of ``tokenizers``."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samebits.errors import ConfigError
from samebits.tokens.encoders import byte_pairs_encoder, fastokens_encoder, gigatoken_encoder, table
from samebits.tokens.encoders.allow_list import NORMALIZERS, PRE_TOKENIZERS, byte_alphabet
from samebits.tokens.encoders.fastokens_encoder import FastEncoder
from samebits.tokens.encoders.gigatoken_encoder import GigaEncoder
from samebits.tokens.encoders.interface import column_of
from samebits.tokens.encoders.probe import probe_texts
from samebits.tokens.encoders.table import ENCODERS, choose_encoder, make_encoder
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder
from samebits.tokens.tokenizers import file_tokenizer
from samebits.tokens.tokenizers.file_tokenizer import FileTokenizer
from samebits.tokens.tokenizers.open_tokenizer import load_tokenizer, open_tokenizer
from samebits.tokens.tokenizers.vocab import Tokenizer


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return [int(i) for i in tokenizer.encode(column_of([text])).ids]


def opened(path: Path, **settings: Any) -> FileTokenizer:
    tokenizer = open_tokenizer(str(path), **settings)
    assert isinstance(tokenizer, FileTokenizer)
    return tokenizer


def variant(document: bytes, **changes: Any) -> bytes:
    return json.dumps({**json.loads(document), **changes}).encode()


def combinations() -> list[tuple[str, str, str]]:
    """Every (encoder, normalizer, pre-tokenizer) of the allow-lists."""
    fast = [("fastokens", n, p) for n in NORMALIZERS for p in fastokens_encoder.ALLOWED_PRE_TOKENIZERS]
    own = [("byte pairs", "none", p) for p in byte_pairs_encoder.ALLOWED_PRE_TOKENIZERS]
    return fast + own + [("gigatoken", "none", p) for p in gigatoken_encoder.ALLOWED_PRE_TOKENIZERS]


@pytest.mark.parametrize(("name", "normalizer", "pre_tokenizer"), combinations())
def test_every_allowed_combination_gives_the_ids_of_tokenizers(
    tokenizer_file: Path, name: str, normalizer: str, pre_tokenizer: str
) -> None:
    document = variant(
        tokenizer_file.read_bytes(),
        normalizer=NORMALIZERS[normalizer],
        pre_tokenizer=PRE_TOKENIZERS[pre_tokenizer],
    )
    assert ENCODERS[name].why_not(json.loads(document), "text") == ""
    texts = column_of(probe_texts(1000, seed=11))
    (ours, starts), (theirs, same_starts) = (
        make_encoder(library, document, "text").encode_texts(texts) for library in (name, "tokenizers")
    )
    assert starts.tolist() == same_starts.tolist()
    assert np.array_equal(ours, theirs)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}}, "the model is WordLevel"),
        ({"normalizer": {"type": "NFKC"}}, "normalizer NFKC"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre-tokenizer Whitespace"),
        ({"pre_tokenizer": None}, "pre-tokenizer None"),
        ({"added_tokens": [{"content": "x", "special": False, "lstrip": True}]}, "added token 'x'"),
    ],
)
def test_what_is_on_no_allow_list_goes_to_tokenizers(
    tokenizer_file: Path, changes: dict[str, Any], reason: str
) -> None:
    choice = choose_encoder(variant(tokenizer_file.read_bytes(), **changes))
    assert choice.name == "tokenizers"
    assert reason in choice.note


def test_a_rule_of_a_special_token_matters_only_where_it_becomes_an_id(tokenizer_file: Path) -> None:
    """RoBERTa's mask takes the space before it away, unless it stays text."""
    flags = {"single_word": False, "lstrip": True, "rstrip": False, "normalized": False, "special": True}
    added = [
        *json.loads(tokenizer_file.read_bytes())["added_tokens"],
        {"id": 5000, "content": "<mask>", **flags},
    ]
    document = variant(tokenizer_file.read_bytes(), added_tokens=added)
    assert choose_encoder(document, "text").name == "byte pairs"
    assert choose_encoder(document, "ids").name == "tokenizers"
    texts = column_of(["a <mask> b", "  <mask><mask>", "x<mask>\n"])
    ours, theirs = (
        make_encoder(n, document, "text").encode_texts(texts) for n in ("byte pairs", "tokenizers")
    )
    assert ours[0].tolist() == theirs[0].tolist()
    assert 5000 not in ours[0]


@pytest.mark.parametrize("switch", ["byte_fallback", "ignore_merges", "fuse_unk"])
def test_model_switches_that_change_ids_are_not_for_fastokens(tokenizer_file: Path, switch: str) -> None:
    model = {**json.loads(tokenizer_file.read_bytes())["model"], switch: True}
    document = json.loads(variant(tokenizer_file.read_bytes(), model=model))
    assert fastokens_encoder.why_not(document, "text") == f"the model sets {switch}"


def test_a_vocabulary_without_all_bytes_goes_to_tokenizers(tokenizer_file: Path) -> None:
    model = json.loads(tokenizer_file.read_bytes())["model"]
    del model["vocab"][byte_alphabet()[7]]
    document = variant(tokenizer_file.read_bytes(), model=model)
    for module in (byte_pairs_encoder, fastokens_encoder, gigatoken_encoder):
        assert module.why_not(json.loads(document), "text") == "the vocabulary lacks 1 of the 256 bytes"


@pytest.mark.parametrize("pre_tokenizer", gigatoken_encoder.ALLOWED_PRE_TOKENIZERS)
def test_letters_that_only_one_library_knows_are_cut_as_the_reference_does(
    tokenizer_file: Path, pre_tokenizer: str
) -> None:
    document = variant(tokenizer_file.read_bytes(), pre_tokenizer=PRE_TOKENIZERS[pre_tokenizer])
    edges = [chr(code) for pair in gigatoken_encoder.NEW_LETTERS for code in pair]
    made = [text for char in edges for text in (f"the{char}'s fox", f"12{char}34", f"{char}quick")]
    texts = column_of([*made, "plain", ""])
    ours, theirs = (
        make_encoder(name, document, "text").encode_texts(texts) for name in ("gigatoken", "tokenizers")
    )
    assert ours[0].tolist() == theirs[0].tolist()
    assert ours[1].tolist() == theirs[1].tolist()


def test_a_probe_that_differs_goes_to_the_next_encoder(
    tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Wrong(GigaEncoder):
        def encode_texts(self, texts: Any) -> Any:
            ids, offsets = super().encode_texts(texts)
            return ids + np.uint32(1), offsets

    for name in ("byte pairs", "gigatoken", "fastokens", "remembered words"):
        monkeypatch.setitem(table.ENCODERS, name, ENCODERS[name]._replace(make=Wrong))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    choice = choose_encoder(tokenizer_file.read_bytes())
    assert choice.name == "tokenizers"
    assert choice.note.count("gave other ids") == 3
    assert list(tmp_path.rglob("probes/*")) == []


def test_a_probe_that_passed_is_remembered(
    tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    first, again = (choose_encoder(tokenizer_file.read_bytes()) for _ in range(2))
    assert (first.name, again.name) == ("byte pairs", "byte pairs")
    assert "1520 probe texts" in first.note  # three for each special token
    assert "before" in again.note


@pytest.mark.parametrize("library", ["gigatoken", "fastokens", "tokenizers"])
@pytest.mark.parametrize(("special_tokens", "found"), [("text", False), ("ids", True)])
def test_special_tokens_in_a_text_are_text_or_ids_as_asked(
    tokenizer_file: Path, library: str, special_tokens: Any, found: bool
) -> None:
    document = tokenizer_file.read_bytes()
    eos = opened(tokenizer_file).specials.eos
    encoder = make_encoder(library, document, special_tokens)
    texts = ["a<|endoftext|>b", "<|endoftext|><|endoftext|>", "no", " <|endoftext|> x"]
    ids, offsets = encoder.encode_texts(column_of(texts))
    theirs, same = ReferenceEncoder(document, special_tokens).encode_texts(column_of(texts))
    assert (ids.tolist(), offsets.tolist()) == (theirs.tolist(), same.tolist())
    assert (eos in ids[: offsets[1]].tolist()) is found


def test_an_encoder_is_replaced_when_memory_is_short(
    tokenizer_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_tokenizer, "MIN_BYTES_PER_ENCODER", 0)
    short = opened(tokenizer_file, memory_bytes=1)
    first = short._encoder(10)
    assert short._encoder(10) is not first
    roomy = opened(tokenizer_file, memory_bytes=1 << 50)
    assert roomy._encoder(10) is roomy._encoder(10)


@pytest.mark.parametrize("setting", ["truncation", "padding"])
def test_truncation_and_padding_in_the_file_are_refused(tokenizer_file: Path, setting: str) -> None:
    document = variant(tokenizer_file.read_bytes(), **{setting: {"max_length": 5}})
    with pytest.raises(ConfigError, match=f"sets {setting}"):
        load_tokenizer(document, name="some.json")


def test_a_file_tokenizer_is_pickled_without_its_library(tokenizer_file: Path) -> None:
    tokenizer = open_tokenizer(str(tokenizer_file))
    assert tokenizer.decode(encode(tokenizer, "quick brown")) == "quick brown"
    copy = pickle.loads(pickle.dumps(tokenizer))
    assert copy == tokenizer
    assert encode(copy, "quick") == encode(tokenizer, "quick")


@pytest.mark.parametrize("make", [GigaEncoder, FastEncoder])
def test_one_worker_is_one_thread(tokenizer_file: Path, make: Any) -> None:
    """The libraries would start a pool as wide as the machine; workers could then not be counted."""
    encoder = make(tokenizer_file.read_bytes())
    before = len(list(Path("/proc/self/task").iterdir()))
    encoder.encode_texts(column_of(["some text to encode "] * 5000))
    assert len(list(Path("/proc/self/task").iterdir())) == before
