"""The kernel of byte pairs against ``tokenizers``: windows of 64 bytes, long pre-tokens, ties, many threads."""

from __future__ import annotations

import json
import threading
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from samebits.core.seeds import rng_for
from samebits.kernels.tokens.byte_pairs.pair_memory import PairMemory
from samebits.kernels.tokens.byte_pairs.pair_merges import PairMerges
from samebits.kernels.tokens.byte_pairs.token_table import TokenTable
from samebits.tokens.character_classes import character_classes
from samebits.tokens.encoders.allow_list import PRE_TOKENIZERS
from samebits.tokens.encoders.byte_pairs_encoder import ALLOWED_PRE_TOKENIZERS, BytePairsEncoder
from samebits.tokens.encoders.interface import Ids, column_of
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder

ALPHABET = "abtdmslreveLLVE''' \n\t.,!?0123456789_\u00df\u00e9\u65e5\u0663\u00a0"


@pytest.fixture(scope="module", params=ALLOWED_PRE_TOKENIZERS)
def document(request: pytest.FixtureRequest, tokenizer_file: Path) -> bytes:
    file = json.loads(tokenizer_file.read_bytes())
    return json.dumps({**file, "pre_tokenizer": PRE_TOKENIZERS[request.param]}).encode()


def assert_same(ours: Ids, theirs: Ids) -> None:
    assert ours[1].tolist() == theirs[1].tolist()
    assert np.array_equal(ours[0], theirs[0])


@pytest.mark.parametrize("foreign", [False, True])
def test_texts_of_every_length_around_a_window(document: bytes, foreign: bool) -> None:
    """Contractions, runs of spaces and letters that are not ASCII fall on every place of the 64 bytes."""
    rng = rng_for(3, "tokens", "windows")
    letters = list(ALPHABET if foreign else "".join(c for c in ALPHABET if c.isascii()))
    texts = ["".join(rng.choice(letters, int(size))) for size in rng.integers(0, 300, 3000)]
    texts += ["".join(rng.choice(list(" \n\r\t.'sx1"), int(size))) for size in rng.integers(0, 200, 3000)]
    column = column_of(texts)
    assert_same(
        BytePairsEncoder(document).encode_texts(column), ReferenceEncoder(document).encode_texts(column)
    )


@pytest.mark.parametrize(
    "end",
    ["", "'", "'l", "'ll", "'Re", "'\u017fx", " ", "  x", "\n", "\n\t \r", ".\n\n x", "12345", "é", "\u3000"],
)
def test_what_stands_at_the_end_of_a_window_and_of_a_text(document: bytes, end: str) -> None:
    column = column_of(["x" * (before - 1) + " " + end for before in range(1, 70)])
    assert_same(
        BytePairsEncoder(document).encode_texts(column), ReferenceEncoder(document).encode_texts(column)
    )


@pytest.mark.parametrize("size", [16, 17, 48, 49, 200, 1024, 1025, 5000])
def test_long_pre_tokens(document: bytes, size: int) -> None:
    """In place, in the pool, merged with a heap, not remembered: each of them twice."""
    rng = rng_for(size, "tokens", "long")
    texts = ["".join(rng.choice(list("thequickbrown"), size)) for _ in range(5)] + ["e" * size, "=" * size]
    column = column_of(texts + texts)
    assert_same(
        BytePairsEncoder(document).encode_texts(column), ReferenceEncoder(document).encode_texts(column)
    )


def test_equal_ranks_are_merged_from_the_left() -> None:
    """With a single merge, aaa is aa + a, also where a heap is used."""
    one = np.array([97], np.uint32)
    merges = PairMerges(one, one, np.array([300], np.uint32), np.arange(256, dtype=np.uint32))
    for size in (3, 47, 49, 101):
        column = column_of(["a" * size])
        ids, _ = PairMemory(merges).encode(column.buffer, column.starts, column.stops, character_classes())
        assert ids.tolist() == [300] * (size // 2) + [97] * (size % 2)


def test_threads_do_not_disturb_one_another(document: bytes) -> None:
    rng = rng_for(5, "tokens", "threads")
    words = [f"word{i}" for i in range(5000)]
    columns = [column_of([" ".join(rng.choice(words, 300)) for _ in range(40)]) for _ in range(8)]
    encoder = BytePairsEncoder(document)
    expected = [BytePairsEncoder(document).encode_texts(column) for column in columns]
    found: dict[int, Ids] = {}

    def work(i: int) -> None:
        found[i] = encoder.encode_texts(columns[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(columns))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, ids in enumerate(expected):
        assert_same(found[i], ids)


def test_a_memory_that_is_full_is_begun_anew(document: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("samebits.tokens.encoders.byte_pairs_encoder.MAX_BYTES", 0)
    column = column_of(["the quick brown fox", "jumps"])
    encoder, reference = BytePairsEncoder(document), ReferenceEncoder(document)
    for _ in range(2):
        assert_same(encoder.encode_texts(column), reference.encode_texts(column))


def test_merges_written_as_strings_or_as_pairs_are_the_same(document: bytes) -> None:
    file = json.loads(document)
    pairs = [pair.split(" ") if isinstance(pair, str) else pair for pair in file["model"]["merges"]]
    column = column_of(["the quick brown fox's 12 tails"])
    made = []
    for merges in (pairs, [" ".join(pair) for pair in pairs]):
        changed = json.dumps({**file, "model": {**file["model"], "merges": merges}}).encode()
        made.append(BytePairsEncoder(changed).encode_texts(column)[0].tolist())
    assert made[0] == made[1]


def test_a_merge_without_an_id_is_refused(document: bytes) -> None:
    file = json.loads(document)
    file["model"]["merges"].append(["zzzz", "yyyy"])
    with pytest.raises(ValueError, match="has no id"):
        BytePairsEncoder(json.dumps(file).encode())


def test_a_token_of_the_vocabulary_is_not_merged_where_the_file_says_so(document: bytes) -> None:
    """Llama 3's files: a pre-token that is a token is that token, whatever its merges would make of it."""
    file = json.loads(document)
    names = ["zq", "the", "Ġquickly", "x" * 40, "\u4e2d"]  # the last one spells no bytes
    vocab = file["model"]["vocab"]
    vocab |= {name: 60000 + i for i, name in enumerate(names) if name not in vocab}
    changed = json.dumps({**file, "model": {**file["model"], "ignore_merges": True}}).encode()
    column = column_of(["zq the zqs quickly", "x" * 40, "x" * 41, "\u4e2d", " quickly", "the"])
    ours = BytePairsEncoder(changed).encode_texts(column)
    assert_same(ours, ReferenceEncoder(changed).encode_texts(column))
    assert 60000 in ours[0]


def test_wrong_arguments_are_refused() -> None:
    none = np.zeros(0, np.uint32)
    with pytest.raises(ValueError, match="0 bytes"):
        PairMerges(none, none, none, none)
    merges = PairMerges(none, none, none, np.arange(256, dtype=np.uint32))
    with pytest.raises(ValueError, match="2 digits"):
        PairMemory(merges, 2)
    memory = PairMemory(merges)
    with pytest.raises(ValueError, match="pre-token 0 has 2000 bytes"):
        memory.know(b"x" * 2000, np.array([0, 2000]), np.array([5], np.uint32))
    column = column_of(["abc"])
    with pytest.raises(ValueError, match="3 classes"):
        memory.encode(column.buffer, column.starts, column.stops, np.zeros(3, np.uint8))
    with pytest.raises(ValueError, match="row 0"):
        memory.encode(column.buffer, column.starts, column.stops + 1, character_classes())


def test_a_vocabulary_and_its_merges_are_read_as_json_reads_them() -> None:
    """Escapes, pairs of surrogates, both ways to write a pair, white space, a token that is there twice."""
    tokens = [
        "a",
        "b",
        "ab",
        '"',
        "\\",
        '"\\',
        "\u0120",
        "\u0120\U0001f600",
        "\U0001f600",
        "",
        "/",
        "\n",
        "/\n",
        "x" * 70,
    ]
    vocabulary = {token: 3 * i for i, token in enumerate(tokens)}
    pairs = [["a", "b"], ['"', "\\"], ["\u0120", "\U0001f600"], ["/", "\n"], ["", "ab"]]
    for ascii_only, indent in ((True, None), (False, 2)):
        text = json.dumps(vocabulary, ensure_ascii=ascii_only, indent=indent).replace("/", "\\/")
        table = TokenTable(text.encode().replace(b"{", b'{"b": 77, ', 1))
        assert table.ids([token.encode() for token in tokens]).tolist() == list(vocabulary.values())
        assert table.num_ids == 3 * len(tokens) - 2
        for listed in (pairs, [" ".join(pair) for pair in pairs]):
            found = table.pairs(json.dumps(listed, ensure_ascii=ascii_only, indent=indent).encode())
            wanted = [[vocabulary[a], vocabulary[b], vocabulary[a + b]] for a, b in pairs]
            assert np.transpose(found).tolist() == wanted
    assert TokenTable(b" { } ").num_ids == 0
    assert [len(column) for column in table.pairs(b"[ ]")] == [0, 0, 0]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"a"}',
        '{"a": }',
        '{"a": -1}',
        '{"a": 1.5}',
        '{"a": 4294967295}',
        '{"a": 1',
        '{"a": 1,}',
        '{"a',
        '{"a\\',
        '{"\\x": 1}',
        '{"\\ud800": 1}',
        '{"\\udc00": 1}',
        '{"\\ud800\\u0041": 1}',
        '{"\\u00g0": 1}',
    ],
)
def test_what_is_no_vocabulary_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the vocabulary is not an object of tokens and ids"):
        TokenTable(text.encode())


@pytest.mark.parametrize(
    "text", ["", "{}", "[", '["a"]', '["a b a"]', '[["a", "b", "a"]]', '[["a"]]', "[1]", '["a b",]']
)
def test_what_is_no_list_of_pairs_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the merges are not a list of pairs"):
        TokenTable(b'{"a": 0, "b": 1, "ab": 2}').pairs(text.encode())


@pytest.mark.parametrize(("text", "missing"), [('["a c"]', "c"), ('["c a"]', "c"), ('[["b", "a"]]', "ba")])
def test_a_merge_without_an_id_is_named(text: str, missing: str) -> None:
    with pytest.raises(KeyError, match=f"'{missing}'"):
        TokenTable(b'{"a": 0, "b": 1, "ab": 2}').pairs(text.encode())


@pytest.mark.parametrize(("before", "after"), [([], []), ([7], [0]), ([], [1, 2, 3])])
def test_rows_of_16_bits_are_the_same_ids_between_others(
    document: bytes, before: list[int], after: list[int]
) -> None:
    encoder = BytePairsEncoder(document)
    texts = ["", "a", "don't we'll", "é" * 90, " ", "x" * 3000, "the quick brown fox " * 40, ""]
    ids, offsets = encoder.encode_texts(column_of(texts))
    rows = [[*before, *ids[a:b].tolist(), *after] for a, b in pairwise(offsets.tolist())]
    found, lengths = encoder.encode_rows(column_of(texts), before, after)
    assert found.dtype == np.uint16
    assert found.tolist() == [i for row in rows for i in row]
    assert lengths.tolist() == [len(row) for row in rows]
    assert [len(x) for x in encoder.encode_rows(column_of([]), before, after)] == [0, 0]
