"""Every family of tokenizers gives the ids of the library that defines them; so do the files that are turned into another."""

from __future__ import annotations

import json
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.tokens_families import Family, families

from samebits.api import run
from samebits.core.options import RunOptions
from samebits.data.token_store import TokenStore
from samebits.errors import ConfigError, InputError
from samebits.tokens.config import TokensConfig
from samebits.tokens.encoders.interface import column_of
from samebits.tokens.encoders.probe import probe_texts
from samebits.tokens.tokenizers.file_tokenizer import FileTokenizer
from samebits.tokens.tokenizers.open_tokenizer import load_tokenizer, looks_like_sentencepiece, open_tokenizer
from samebits.tokens.tokenizers.tiktoken_file import looks_like_tiktoken

TITLES = (
    ".model, bpe like Llama 2",
    ".model, bpe with nmt_nfkc",
    ".model, unigram like T5",
    ".model, unigram, bytes",
    ".model, unigram, own symbols",
    ".model, unigram across words",
    "pieces like Llama 2",
    "pieces like Gemma",
    "pieces like Mistral",
    "pieces like Metaspace",
    "WordPiece like BERT, uncased",
    "WordPiece like BERT, cased",
    "Unigram, no normalizer",
    "Unigram, NFKC, spaces collapsed",
    "Unigram, lower case",
    "Unigram, like T5",
    "Unigram, like XLM-R",
    ".tiktoken, gpt2",
    ".tiktoken, cl100k",
    ".tiktoken, qwen2",
    ".tiktoken, o200k",
)


def english() -> list[str]:
    words = [
        "the",
        "then",
        "other",
        "mother",
        "re-do",
        "undoing",
        "x1",
        "(a,b)",
        "Été",
        "über",
        "ещё",
        "中文",
        "…",
    ]
    rng = np.random.default_rng(4)
    return [" ".join(words[k] for k in rng.integers(0, len(words), 60)) for _ in range(150)]


@cache
def made() -> dict[str, Family]:
    pytest.importorskip("sentencepiece", reason="pip install sentencepiece")
    pytest.importorskip("tiktoken", reason="pip install tiktoken")
    return {family.title: family for family in families(english(), vocab_size=500)}


def opened(family: Family) -> FileTokenizer:
    tokenizer = load_tokenizer(family.document, name=family.name)
    assert isinstance(tokenizer, FileTokenizer)
    return tokenizer


def rows_of(tokenizer: FileTokenizer, texts: list[str]) -> list[list[int]]:
    ids, offsets, _ = tokenizer.encode(column_of(texts))
    return [ids[a:b].tolist() for a, b in pairwise(offsets)]


@pytest.mark.parametrize("title", TITLES)
def test_ids_are_those_of_the_library_that_defines_them(title: str) -> None:
    family = made()[title]
    tokenizer = opened(family)
    assert tokenizer.library == family.library
    texts = [*probe_texts(1200, seed=31), *english(), "  two  spaces ", "a<s>b</s>", "[SEP] x [UNK]"]
    assert rows_of(tokenizer, texts) == family.reference(texts)


def test_the_list_of_families_is_complete() -> None:
    assert sorted(made()) == sorted(TITLES)


@pytest.mark.parametrize("title", TITLES)
def test_a_file_survives_its_store(title: str, tmp_path: Path) -> None:
    """A store holds a tokenizer.json, whatever was given; opened again it gives the same ids."""
    family = made()[title]
    first = opened(family)
    again = load_tokenizer(first.dump(), name="tokenizer.json")
    assert isinstance(again, FileTokenizer)
    texts = probe_texts(100, seed=8)
    assert rows_of(again, texts) == rows_of(first, texts)
    assert again.vocab_size == first.vocab_size


@pytest.mark.parametrize("title", [title for title in TITLES if title.startswith(".model, unigram")])
def test_sums_of_long_texts_are_rounded_as_sentencepiece_rounds_them(title: str) -> None:
    """Nearly equal ways are decided by the rounding of everything before them; beyond 100,000 counting begins anew."""
    family = made()[title]
    rng = np.random.default_rng(9)
    texts = ["".join("ohtermn. <"[k] for k in rng.integers(0, 10, size)) for size in (3000, 30_000, 100_000)]
    assert rows_of(opened(family), texts) == family.reference(texts)


def test_text_comes_back_from_a_sentencepiece_model() -> None:
    tokenizer = opened(made()[".model, bpe like Llama 2"])
    assert tokenizer.decode(rows_of(tokenizer, ["the mother, 中文 🙂"])[0]) == "the mother, 中文 🙂"


@pytest.mark.parametrize(
    "title", [".model, unigram like T5", ".tiktoken, cl100k", "WordPiece like BERT, cased"]
)
def test_a_build_stores_the_ids_of_the_reference(title: str, tmp_path: Path) -> None:
    family = made()[title]
    file = tmp_path / family.name
    plain = tmp_path / family.name.partition("@")[0]
    plain.write_bytes(family.document)
    texts = english()
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    digests = []
    for workers, executor in (("1", "serial"), ("2", "threads"), ("2", "processes")):
        config = TokensConfig(
            inputs=(str(tmp_path / "in.jsonl"),), tokenizer=str(file), add_eos=False, cell_mb=0.01
        )
        output = tmp_path / f"out-{workers}-{executor}"
        options = RunOptions(workers=workers, executor=executor)
        digests.append(run("tokens", config, output=output, options=options).artifact_digest)
    assert len(set(digests)) == 1
    store = TokenStore.open(output)
    assert [store[i].tolist() for i in range(len(store))] == family.reference(texts)


def test_a_tiktoken_file_without_its_pattern_is_refused_with_the_way_to_say_it(tmp_path: Path) -> None:
    family = made()[".tiktoken, gpt2"]
    (tmp_path / "some.tiktoken").write_bytes(family.document)
    with pytest.raises(ConfigError, match="how texts are cut") as caught:
        open_tokenizer(str(tmp_path / "some.tiktoken"))
    assert "some.tiktoken@cl100k" in caught.value.hint
    assert open_tokenizer(str(tmp_path / "some.tiktoken@gpt2")).specials.eos is not None


def test_damaged_files_are_refused_by_name() -> None:
    model = made()[".model, unigram like T5"].document
    ranks = made()[".tiktoken, gpt2"].document
    assert looks_like_sentencepiece(model)
    assert looks_like_tiktoken(ranks)
    for damaged in (model[:2000], ranks + b"!! x\n", ranks[:40]):
        with pytest.raises((InputError, ConfigError), match=r"some\.file"):
            load_tokenizer(damaged, name="some.file@gpt2")


def test_special_tokens_as_ids_or_as_an_error(tmp_path: Path, tokenizer_file: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text('{"text": "plain"}\n{"text": "a <|endoftext|> b"}\n')

    def stored(**settings: Any) -> list[int]:
        config = TokensConfig(inputs=(str(path),), tokenizer=str(tokenizer_file), add_eos=False, **settings)
        run("tokens", config, output=tmp_path / "out", options=RunOptions(overwrite=True))
        return [int(i) for i in TokenStore.open(tmp_path / "out")[1]]

    eos = open_tokenizer(str(tokenizer_file)).specials.eos
    assert eos not in stored()
    assert stored() == stored(special_tokens="text")
    assert [i == eos for i in stored(special_tokens="ids")].count(True) == 1
    with pytest.raises(InputError, match=r"special token <\|endoftext\|>") as caught:
        stored(special_tokens="error")
    assert (caught.value.line, caught.value.offset) == (2, 18)
    with pytest.raises(ConfigError, match="byte tokenizer finds no special tokens"):
        TokensConfig(inputs=(str(path),), special_tokens="ids")
