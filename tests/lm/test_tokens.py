"""Tokens of a run: text, stores, .bin files; which windows a step takes; and what is refused, with its numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits import api
from samebits.core.config import make_config
from samebits.data.readers.rows import TextColumn
from samebits.errors import ConfigError, InputError
from samebits.lm.config import LmConfig
from samebits.lm.job import JOB
from samebits.lm.run_settings import resolve
from samebits.lm.text.sources import Tokens, open_source
from samebits.lm.text.token_text import open_token_text
from samebits.lm.text.vocab import Vocabulary, learn_chars
from samebits.lm.training.batches import Batches, check_lengths
from samebits.tokens.config import TokensConfig
from samebits.tokens.tokenizers.vocab import ByteTokenizer, CharTokenizer, Tokenizer, WordTokenizer
from samebits.tokens.training.tokenizer_job import TokenizerConfig


def test_text_is_encoded_by_its_sorted_characters_and_cut_at_ninety_percent(text_file: Path) -> None:
    text = text_file.read_text()
    source = open_source([str(text_file)])
    tokens = source.load()
    assert source.vocabulary.chars == "".join(sorted(set(text)))
    assert source.vocabulary.decode(np.concatenate([tokens.train, tokens.val])) == text
    assert len(tokens.train) == int(len(text) * 0.9)


def test_the_level_of_bytes_keeps_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "mixed.txt"
    path.write_bytes(b"abc\xff\xfe" * 20)
    tokens = open_source([str(path)], level="byte").load()
    assert np.concatenate([tokens.train, tokens.val]).tobytes() == path.read_bytes()
    with pytest.raises(InputError, match="byte 3: not UTF-8"):
        open_source([str(path)])


def test_compressed_text_is_the_text(tmp_path: Path, text_file: Path) -> None:
    import gzip

    packed = tmp_path / "mill.txt.gz"
    packed.write_bytes(gzip.compress(text_file.read_bytes()))
    plain, other = open_source([str(text_file)]).load(), open_source([str(packed)]).load()
    assert plain.train.tolist() == other.train.tolist()


def test_a_bin_file_is_mapped_and_its_vocabulary_is_the_largest_id_and_one(tmp_path: Path) -> None:
    ids = np.arange(200, dtype="<u2") % 50
    ids.tofile(tmp_path / "train.bin")
    ids[:80].tofile(tmp_path / "val.bin")
    for inputs in ([str(tmp_path)], [str(tmp_path / "train.bin"), str(tmp_path / "val.bin")]):
        source = open_source(inputs)
        assert (source.kind, source.vocabulary.size) == ("bin", 50)
        assert source.load().train.tolist() == ids.tolist()
        assert source.load().val.tolist() == ids[:80].tolist()


def test_an_id_outside_the_vocabulary_of_a_bin_file_is_named_with_its_byte(tmp_path: Path) -> None:
    ids = np.zeros(100, "<u2")
    ids[42] = 9
    ids.tofile(tmp_path / "train.bin")
    with pytest.raises(InputError, match=r"train.bin, byte 84: token id 9 is outside the vocabulary of 9"):
        open_source([str(tmp_path / "train.bin")], vocab_size=9)


def test_half_an_id_at_the_end_of_a_bin_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.bin").write_bytes(b"\1\0\2\0\3")
    with pytest.raises(InputError, match=r"train.bin, byte 4: 5 bytes is not a whole number of 16-bit ids"):
        open_source([str(tmp_path / "train.bin")])


@pytest.mark.parametrize("layout", ["packed", "rows"])
def test_a_token_store_is_read_with_its_own_validation_part(
    tmp_path: Path, text_file: Path, layout: str
) -> None:
    config = TokensConfig(
        inputs=(str(text_file),),
        tokenizer="char",
        layout=layout,  # type: ignore[arg-type]
        val_ratio=0.2,
        max_length=64,
    )
    api.run("tokens", config, output=tmp_path / "store")
    source = open_source([str(tmp_path / "store")])
    tokens = source.load()
    assert source.kind == "store"
    assert len(tokens.train) > len(tokens.val) > 0
    assert int(max(tokens.train.max(), tokens.val.max())) < source.vocabulary.size
    assert source.tokenizer.startswith(b"{")
    shown = source.vocabulary.decode(tokens.train[:200])
    assert "mill" in shown
    assert source.vocabulary.encode("The mill").tolist() == [
        source.vocabulary.text.pieces.index(char.encode())  # type: ignore[union-attr]
        for char in "The mill"
    ]


def test_the_windows_of_a_step_depend_on_seed_and_step_alone() -> None:
    tokens = Tokens(np.arange(1000), np.arange(100))
    whole = Batches(tokens, block=8, batch=12, seed=5).shard(3, 0, 1)
    for num_shards in (2, 3, 4, 6, 12):
        batches = Batches(tokens, block=8, batch=12, seed=5)
        parts = [batches.shard(3, g, num_shards) for g in reversed(range(num_shards))]
        assert np.concatenate(parts[::-1]).tolist() == whole.tolist()
    assert (np.diff(whole, axis=1) == 1).all()
    assert Batches(tokens, block=8, batch=12, seed=5).shard(4, 0, 1).tolist() != whole.tolist()
    assert Batches(tokens, block=8, batch=12, seed=6).shard(3, 0, 1).tolist() != whole.tolist()


def test_the_last_window_of_the_text_can_be_drawn() -> None:
    batches = Batches(Tokens(np.arange(9), np.arange(9)), block=8, batch=4, seed=0)
    assert batches.shard(0, 0, 1).tolist() == [list(range(9))] * 4
    drawn = Batches(Tokens(np.arange(12), np.arange(9)), block=8, batch=400, seed=0).starts(0)
    assert (drawn.min(), drawn.max()) == (0, 3)


def test_validation_takes_every_window_of_the_last_part_once() -> None:
    batches = Batches(Tokens(np.arange(50), np.arange(100, 150)), block=8, batch=4, seed=0)
    found = batches.val_windows(0, 100)
    assert batches.num_val_windows == len(found) == 6
    assert found[:, :-1].reshape(-1).tolist() == list(range(100, 148))


def test_a_text_that_fills_no_window_is_refused_with_its_length(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("ab" * 20)
    with pytest.raises(InputError, match="the training part has 36 tokens and a window needs 129"):
        JOB.plan(LmConfig(inputs=(str(path),)))
    with pytest.raises(InputError, match="the validation part has 4 tokens and a window needs 9"):
        JOB.plan(LmConfig(inputs=(str(path),), block=8))
    assert len(JOB.plan(LmConfig(inputs=(str(path),), block=8, val_ratio=0.0)).shards) == 4


@pytest.mark.parametrize("content", ["", "aaaaaaaaaaaaaaaaaaaa"])
def test_a_text_that_teaches_nothing_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "poor.txt"
    path.write_text(content)
    with pytest.raises(InputError, match="too short to train on"):
        open_source([str(path)])


def test_an_unknown_character_is_named_with_its_position() -> None:
    vocabulary = learn_chars("hello")
    with pytest.raises(
        InputError, match=r"character 'z' at position 3 is not in the model's vocabulary \(2 of 6"
    ):
        vocabulary.encode("holzoz", name="prompt")
    assert vocabulary.decode(vocabulary.encode("holzoz", unknown="skip")) == "holo"


def test_ids_without_a_tokenizer_are_shown_as_numbers() -> None:
    vocabulary = Vocabulary("ids", 10)
    assert vocabulary.decode([3, 1]) == "3 1"
    with pytest.raises(ConfigError, match="has no characters"):
        vocabulary.encode("3 1")


def test_lengths_are_checked_for_what_is_needed() -> None:
    source = type("Named", (), {"names": ("x",)})()
    tokens = Tokens(np.arange(20), np.arange(0))
    check_lengths(source, tokens, block=8, need_val=False)
    with pytest.raises(InputError, match="validation part has 0 tokens"):
        check_lengths(source, tokens, block=8, need_val=True)


def test_the_dial_sets_layers_width_and_heads_and_flags_win_over_it() -> None:
    arch = resolve(LmConfig(depth=4), 65).arch
    assert (arch.layers, arch.dim, arch.heads) == (4, 128, 4)
    arch = resolve(LmConfig(depth=6, heads=12), 65).arch
    assert (arch.layers, arch.dim, arch.heads) == (6, 192, 12)


def test_the_preset_is_the_size_people_compare_on() -> None:
    recipe = resolve(LmConfig(), 65)
    arch = recipe.arch
    assert (arch.layers, arch.heads, arch.dim, arch.block, recipe.batch, recipe.fit.steps) == (
        4,
        4,
        128,
        128,
        16,
        1200,
    )
    assert arch.num_parameters == 803_072 + (65**2 + 2 * 8192) * 128  # and rows by 2, 3 and 4 tokens
    assert resolve(LmConfig(kind="classic"), 65).arch.num_parameters == 812_288


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"batch": 30}, "--batch 30 cannot be split into --shards 4 equal parts"),
        ({"width": 100, "heads": 8}, "a width of 100 cannot be split into 8 heads"),
        ({"sample_every": 70}, "--sample-every 70 is not a multiple of --validate-every 120"),
        ({"positions": "learned", "qk_norm": "on"}, "--qk-norm needs --positions rope"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused_with_their_numbers(
    settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        resolve(LmConfig(**settings), 65)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("layers", 0),
        ("ngrams", 5),
        ("ngram_rows", 0),
        ("steps", -1),
        ("dropout", 0.95),
        ("val_ratio", -0.1),
        ("shards", 0),
    ],
)
def test_values_out_of_range_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"--{name.replace('_', '-')} is {value}"):
        make_config(LmConfig, {name: value})


def test_words_and_bytes_of_a_store_are_shown_as_text() -> None:
    words = open_token_text(
        json.dumps(
            {
                "samebits_tokenizer": "word.v1",
                "specials": {"pad": "<|pad|>"},
                "vocabulary": ["the", "mill", "."],
            }
        ).encode()
    )
    vocabulary = Vocabulary("ids", 4, text=words)
    assert vocabulary.encode("the mill.").tolist() == [1, 2, 3]
    assert vocabulary.decode([1, 2, 3]) == "the mill ."
    with pytest.raises(InputError, match="word 'river', number 1, has no id"):
        vocabulary.encode("the river")
    single = Vocabulary("ids", 260, text=open_token_text(b'{"samebits_tokenizer": "byte.v1"}'))
    assert single.decode(single.encode("Mühle")) == "Mühle"
    assert single.decode([77, 256]) == "M<|endoftext|>"


PIECES = ["mill", "Mühle", "don't", "-", "_", "'", "٣", "水", "."]


@pytest.mark.parametrize(
    ("tokenizer", "texts"),
    [
        (ByteTokenizer(), st.text(max_size=30)),
        (CharTokenizer(tuple("aé水 .\n")), st.text("aé水 .\n", max_size=30)),
        (
            WordTokenizer(tuple(dict.fromkeys([*PIECES, *'!"#$%&()*+,/:;<=>?@[]']))),
            st.lists(st.sampled_from(PIECES), max_size=9).map(" ".join),
        ),
    ],
    ids=["byte", "char", "word"],
)
@given(data=st.data())
def test_ids_and_text_are_those_of_the_tokens_job(
    tokenizer: Tokenizer, texts: st.SearchStrategy[str], data: st.DataObject
) -> None:
    text = data.draw(texts)
    vocabulary = Vocabulary("ids", tokenizer.vocab_size, text=open_token_text(tokenizer.dump()))
    raw = np.frombuffer(text.encode() + b"\0", np.uint8)
    column = TextColumn(raw, np.zeros(1, np.int64), np.array([len(raw) - 1]))
    ids = vocabulary.encode(text).tolist()
    assert ids == tokenizer.encode(column).ids.tolist()
    every = [*ids, *(i for i in range(tokenizer.vocab_size) if i not in range(128, 256))]
    assert vocabulary.decode(every) == tokenizer.decode(every)


def test_byte_pairs_are_shown_without_a_library_as_the_library_shows_them(
    tmp_path: Path, text_file: Path
) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    config = make_config(TokenizerConfig, {"inputs": [str(text_file)], "vocab_size": 300})
    api.run("tokens_train", config, output=tmp_path / "tokenizer")
    document = (tmp_path / "tokenizer" / "tokenizer.json").read_bytes()
    text = open_token_text(document)
    assert text is not None
    vocabulary = Vocabulary("ids", len(text.pieces), text=text)
    library = tokenizers.Tokenizer.from_str(document.decode())
    line = "The müller counts 12 sacks – slowly."
    ids = vocabulary.encode(line).tolist()
    assert ids == library.encode(line).ids
    assert vocabulary.decode(ids) == library.decode(ids) == line
