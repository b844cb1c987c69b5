"""The kernel of WordPiece against ``tokenizers``: plain words, words that it leaves to the library, and both mixed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from samebits.core.seeds import rng_for
from samebits.tokens.encoders.interface import column_of
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder
from samebits.tokens.encoders.words.remembered_words import make_remembering
from samebits.tokens.encoders.words.word_pieces import PiecesOfWords, has_plain_words

library: Any = pytest.importorskip("tokenizers", reason="pip install 'samebits[tokens]'")


def document(*, lowercase: bool = False, **model: Any) -> bytes:
    """A vocabulary with pieces of every length over a few letters, some missing."""
    rng = rng_for(7, "tokens", "pieces")
    pieces = {"".join(rng.choice(list("abcAB12"), int(n))) for n in rng.integers(1, 6, 300)} - {"c", "2"}
    names = [
        "[UNK]",
        *sorted(pieces),
        *(f"##{piece}" for piece in sorted(pieces)),
        "!",
        "_",
        "\u00e9",
        "##\u00e9",
    ]
    words: dict[str, Any] = {"vocab": {name: i for i, name in enumerate(names)}, "unk_token": "[UNK]"}
    words |= {"continuing_subword_prefix": "##", "max_input_chars_per_word": 20, "type": "WordPiece"}
    normalizer = {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": lowercase,
    }
    file = {"model": words | model, "normalizer": normalizer, "pre_tokenizer": {"type": "BertPreTokenizer"}}
    return json.dumps({"version": "1.0", "added_tokens": [], **file}).encode()


@pytest.mark.parametrize("lowercase", [False, True])
def test_words_and_texts_get_the_ids_of_tokenizers(lowercase: bool) -> None:
    """Letters that only make up whole words sometimes, words over the limit, signs, accents, control characters."""
    file = document(lowercase=lowercase)
    rng = rng_for(8, "tokens", "words")
    letters = list("aaabbbcAB12!_ \u00e9\u4e2d\x01\u00a0 ")
    texts = ["".join(rng.choice(letters, int(n))) for n in rng.integers(0, 60, 3000)]
    texts += ["a" * n for n in (19, 20, 21, 127, 128, 129, 300)] + ["", "!", "_a", "a_b"]
    column = column_of(texts)
    ours, theirs = make_remembering(file, "text"), ReferenceEncoder(file, "text")
    for _ in range(2):
        (ids, offsets), (same_ids, same_offsets) = ours.encode_texts(column), theirs.encode_texts(column)
        assert offsets.tolist() == same_offsets.tolist()
        assert np.array_equal(ids, same_ids)


def test_plain_words_do_not_need_the_library() -> None:
    words = PiecesOfWords(document(), "text")
    expected = ReferenceEncoder(document()).encode_strings(["ab1", "cab", "!"])
    assert words.encode_strings(["ab1", "cab", "!"])[0].tolist() == expected[0].tolist()
    assert "_reference" not in vars(words)
    assert [len(part) for part in words.encode_strings([])] == [0, 1]


@pytest.mark.parametrize(
    "changes",
    [{"continuing_subword_prefix": ""}, {"unk_token": "<none>"}, {"type": "BPE"}],
    ids=["no mark", "no unknown piece", "another model"],
)
def test_files_that_mean_something_else_are_left_to_the_library(changes: dict[str, Any]) -> None:
    assert has_plain_words(json.loads(document()), "text")
    assert not has_plain_words(json.loads(document(**changes)), "text")
    assert not has_plain_words(json.loads(document()), "ids")
