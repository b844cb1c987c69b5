"""A tokenizer.json cut apart is the same file, however it is written; what cannot be cut is read whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from samebits.tokens.encoders import tokenizer_json
from samebits.tokens.encoders.tokenizer_json import added_tokens, num_ids, read_tokenizer_json

VOCAB = {"a": 0, "b": 1, "ab": 2, '"vocab":{': 3, '},"merges":[': 4, "]\\": 5, "\\": 6, "é\n": 7}
MERGES = [["a", "b"], ["]\\", '"vocab":{'], ["},", "]"]]
FILE: dict[str, Any] = {
    "truncation": None,
    "added_tokens": [{"id": 8, "content": "<|x|>", "special": True}, {"id": 9, "content": '"vocab": {'}],
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}]},
    "model": {"type": "BPE", "dropout": None, "vocab": VOCAB, "merges": MERGES},
}
WRITTEN = [
    {},
    {"indent": 2},
    {"separators": (",", ":")},
    {"ensure_ascii": False},
    {"sort_keys": True},  # the model is not the last key then, nor are the merges followed by brackets alone
]


def whole(document: bytes) -> tuple[dict[str, Any], Any, Any]:
    """As a reader without tricks has it."""
    rest = json.loads(document)
    model = rest["model"]
    return rest, model.pop("vocab"), model.pop("merges")


@pytest.mark.parametrize("how", WRITTEN, ids=str)
@pytest.mark.parametrize("first", [True, False])
def test_the_parts_are_those_of_the_file(how: dict[str, Any], first: bool) -> None:
    model = (
        dict(FILE["model"]) if first else {**FILE["model"], "ignore_merges": True, "last": [{"vocab": {}}]}
    )
    document = json.dumps({**FILE, "model": model, "decoder": {"decoders": [[]]}}, **how).encode()
    for read in (tokenizer_json._cut, tokenizer_json._read):
        found = read(document)
        if found is None:
            assert how.get("sort_keys")  # "merges" come before "vocab": left to the other one
            continue
        assert (found.rest, json.loads(bytes(found.vocab)), json.loads(bytes(found.merges))) == whole(
            document
        )


def test_a_file_as_tokenizers_writes_it_is_cut(tokenizer_file: Any) -> None:
    document = tokenizer_file.read_bytes()
    assert tokenizer_json._cut(document) is not None
    assert read_tokenizer_json(document).rest == whole(document)[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-1],
        lambda text: text + "]",
        lambda text: text.replace('"truncation": null', '"truncation": NaN'),
        lambda text: text.replace('"model"', '"modem"'),
        lambda text: text.replace(
            '"model": {', '"model": {"vocab": {"a": 1}, "merges": [], '
        ),  # twice: the last counts
    ],
)
def test_what_is_odd_is_left_to_the_other_reader(change: Any) -> None:
    assert tokenizer_json._cut(change(json.dumps(FILE)).encode()) is None


@pytest.mark.parametrize("document", [b"", b"[]", b"{}", b'{"model": 3}', b'{"model": {"vocab": {'])
def test_what_is_no_such_file_is_refused(document: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_tokenizer_json(document)


@pytest.mark.parametrize("token", [3, {}, {"id": "1", "content": "a"}, {"id": 1}, {"id": -1, "content": "a"}])
def test_added_tokens_of_another_shape_are_refused(token: Any) -> None:
    file = read_tokenizer_json(json.dumps({**FILE, "added_tokens": [token]}).encode())
    with pytest.raises(ValueError, match="no added token"):
        added_tokens(file)


def test_the_largest_id_is_that_of_a_token_or_of_an_added_one() -> None:
    assert num_ids(read_tokenizer_json(json.dumps(FILE).encode())) == 10
    assert num_ids(read_tokenizer_json(json.dumps({**FILE, "added_tokens": []}).encode())) == 8
    unigram = {"model": {"type": "Unigram", "vocab": [["a", 0.0], ["b", -1.0]]}}
    assert num_ids(read_tokenizer_json(json.dumps(unigram).encode())) == 2
