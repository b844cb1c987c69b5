"""Training of byte pairs, WordPiece and Unigram: against the libraries that define them, and for any number of workers."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samebits import tokens
from samebits.core.options import RunOptions
from samebits.core.seeds import rng_for
from samebits.errors import ConfigError, SamebitsError
from samebits.kernels.tokens.merges import learn_merges
from samebits.kernels.tokens.pretokens import PretokenCounts
from samebits.tokens.character_classes import character_classes
from samebits.tokens.encoders.interface import column_of
from samebits.tokens.encoders.probe import probe_texts
from samebits.tokens.tokenizers.open_tokenizer import open_tokenizer
from samebits.tokens.training.byte_pairs import SPECIALS, learn_byte_pairs
from samebits.tokens.training.pretokens import Counted
from samebits.tokens.training.settings import LearnSettings

library: Any = pytest.importorskip("tokenizers", reason="pip install 'samebits[tokens]'")
SAMPLES = Path(__file__).resolve().parents[2] / "src" / "samebits" / "samples"


def prose() -> list[str]:
    """Lines of the package's samples."""
    return [line for path in sorted(SAMPLES.glob("*.txt")) for line in path.read_text("utf-8").splitlines()]


def counted(texts: list[str]) -> Counted:
    """Pre-tokens by the kernel."""
    table, column = PretokenCounts(), column_of(texts)
    table.add_rows(column.buffer, column.starts, column.stops, character_classes())
    return Counted(*table.counted())


def by_tokenizers(texts: list[str], vocab_size: int, min_count: int) -> bytes:
    """The file that ``BpeTrainer`` makes."""
    level = library.pre_tokenizers.ByteLevel
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = level(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = library.decoders.ByteLevel()
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_count,
        special_tokens=SPECIALS,
        initial_alphabet=sorted(level.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return bytes(tokenizer.to_str(pretty=True).encode())


def test_pretokens_are_those_of_tokenizers() -> None:
    """Fuzzed strings are cut like ``ByteLevel`` cuts them, and counted."""
    texts = [*probe_texts(3000, seed=11), *prose()]
    level = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    split = (text for text, _ in (piece for line in texts for piece in level.pre_tokenize_str(line)))
    from samebits.tokens.encoders.allow_list import byte_alphabet

    byte_of = {char: byte for byte, char in enumerate(byte_alphabet())}
    expected = Counter(bytes(byte_of[char] for char in text) for text in split)
    keys, offsets, counts = counted(texts)
    data = keys.tobytes()
    ours = {data[a:b]: n for a, b, n in zip(offsets, offsets[1:], counts.tolist(), strict=False)}
    assert ours == expected


def test_classes_of_characters_are_those_of_tokenizers() -> None:
    """At both ends of every run of the table, the installed library has the same class."""
    classes = np.frombuffer(character_classes(), np.uint8)
    level = library.pre_tokenizers.ByteLevel(add_prefix_space=False)
    ends = np.flatnonzero(np.diff(classes))
    for code in np.unique(np.concatenate([ends, ends + 1])).tolist():
        if 0xD800 <= code < 0xE000:
            continue
        found = [
            k
            for lead, k in (("a", 1), ("1", 2), ("!", 0))
            if len(level.pre_tokenize_str(lead + chr(code))) == 1
        ]
        assert (found or [3]) == [int(classes[code])], hex(code)


@pytest.mark.parametrize(("vocab_size", "min_count"), [(300, 1), (1500, 1), (4000, 3), (100_000, 2)])
def test_byte_pairs_are_the_file_of_tokenizers(vocab_size: int, min_count: int) -> None:
    """The same bytes as ``BpeTrainer``, also when it runs out of pairs."""
    texts = [*probe_texts(500, seed=3), *prose()]
    settings = LearnSettings("bpe", vocab_size, ("text",), min_count=min_count)
    assert learn_byte_pairs(counted(texts), settings) == by_tokenizers(texts, vocab_size, min_count)


@pytest.mark.parametrize("case", range(40))
def test_ties_and_tokens_made_twice_are_as_in_tokenizers(case: int) -> None:
    """Few letters, so that most pairs are equally common and many tokens are spelled in several ways."""
    rng = rng_for(case, "tokens", "ties")
    letters = "ab" if case % 2 else "abc"
    texts = [
        "".join(letters[i] for i in rng.integers(0, len(letters), rng.integers(1, 30))) for _ in range(60)
    ]
    settings = LearnSettings("bpe", 2000, ("text",))
    assert learn_byte_pairs(counted(texts), settings) == by_tokenizers(texts, 2000, 1)


def test_merges_are_those_of_rustbpe() -> None:
    """With the bytes numbered as rustbpe numbers them, the merges are the same."""
    rustbpe = pytest.importorskip("rustbpe", reason="pip install rustbpe")
    from samebits.tokens.encoders.allow_list import PATTERNS

    texts = prose()
    found = counted(texts)
    merges, spelled = learn_merges(
        found.keys.astype(np.int32), found.offsets, found.counts, [bytes((b,)) for b in range(256)], 1000, 1
    )
    assert len(spelled) == len(merges) + 256
    theirs = rustbpe.Tokenizer()
    theirs.train_from_iterator(iter(texts), vocab_size=1000, pattern=PATTERNS["gpt2"])
    assert [(bytes(token), rank) for token, rank in theirs.get_mergeable_ranks()] == [
        (token, i) for i, token in enumerate(spelled)
    ]


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram"])
def test_a_learned_tokenizer_does_not_depend_on_workers(kind: str, tmp_path: Path) -> None:
    """One worker and three, one file and two: the same tokenizer, and it encodes."""
    if kind == "unigram":
        pytest.importorskip("sentencepiece", reason="pip install 'samebits[tokens]'")
    lines = [json.dumps({"text": text}) for text in prose() * 3]
    whole, halves = tmp_path / "all.jsonl", [tmp_path / f"{i}.jsonl" for i in range(2)]
    whole.write_text("\n".join(lines) + "\n")
    for path, part in zip(halves, (lines[:50], lines[50:]), strict=True):
        path.write_text("\n".join(part) + "\n")
    made = [
        tokens.train_tokenizer(
            inputs,
            output=tmp_path / f"out-{workers}",
            kind=kind,
            vocab_size=3000,
            options=RunOptions(workers=workers),
        ).read_bytes()
        for workers, inputs in ((1, whole), (3, halves))
    ]
    assert made[0] == made[1]
    store = tokens.build(whole, output=tmp_path / "store", tokenizer=str(tmp_path / "out-1"), add_eos=False)
    shown = open_tokenizer(str(tmp_path / "out-1")).decode(store[0])
    assert shown == (prose()[0] if kind != "wordpiece" else shown.lower())


def test_unigram_is_learned_from_text_without_spaces(tmp_path: Path) -> None:
    """A long line of Chinese is one word; it counts all the same."""
    pytest.importorskip("sentencepiece", reason="pip install 'samebits[tokens]'")
    path = tmp_path / "text.txt"
    path.write_text("天地玄黄宇宙洪荒" * 1000 + "\n")
    made = tokens.train_tokenizer(path, output=tmp_path / "out", kind="unigram", vocab_size=100)
    assert "宇宙" in made.read_text("utf-8")


def test_a_vocabulary_smaller_than_the_alphabet_is_refused(tmp_path: Path) -> None:
    """The sentence says how many characters there are."""
    pytest.importorskip("sentencepiece", reason="pip install 'samebits[tokens]'")
    path = tmp_path / "text.txt"
    path.write_text("\n".join(prose()))
    with pytest.raises(ConfigError, match=r"required_chars\. 150 vs"):
        tokens.train_tokenizer(path, output=tmp_path / "out", kind="unigram", vocab_size=150)
    with pytest.raises(ConfigError, match="--vocab-size is 50"):
        tokens.train_tokenizer(path, output=tmp_path / "other", kind="wordpiece", vocab_size=50)


def test_a_column_that_no_row_has_is_named(tmp_path: Path) -> None:
    """The bad rows are the reason that there is no text."""
    path = tmp_path / "text.jsonl"
    path.write_text(json.dumps({"text": "one"}) + "\n")
    for kind in ("bpe", "word"):
        with pytest.raises(SamebitsError, match="txt"):
            tokens.train_tokenizer(path, output=tmp_path / kind, kind=kind, columns=("txt",), vocab_size=300)


def test_a_small_vocabulary_of_word_pieces_holds_what_it_may(tmp_path: Path) -> None:
    """Characters of many scripts take at most half of it."""
    path = tmp_path / "text.txt"
    path.write_text("\n".join(prose()))
    made = tokens.train_tokenizer(path, output=tmp_path / "out", kind="wordpiece", vocab_size=400)
    vocabulary = json.loads(made.read_bytes())["model"]["vocab"]
    assert len(vocabulary) == 400
    assert sum(len(token.removeprefix("##")) == 1 for token in vocabulary) <= 200


def naive_word_pieces(words: Counter[str], num_merges: int) -> list[str]:
    """Count all pairs anew for every merge."""
    chars = {char for word in words for char in word}
    spelled = [*sorted(chars), *sorted({"##" + char for word in words for char in word[1:]})]
    cut = {word: [spelled.index(("##" if i else "") + char) for i, char in enumerate(word)] for word in words}
    for _ in range(num_merges):
        pairs: Counter[tuple[int, int]] = Counter()
        for word, ids in cut.items():
            for pair in pairwise(ids):
                pairs[pair] += words[word]
        left, right = min(pairs, key=lambda pair: (-pairs[pair], pair))
        token = spelled[left] + spelled[right].removeprefix("##")
        if token not in spelled:
            spelled.append(token)
        for word, ids in cut.items():
            done: list[int] = []
            for symbol in ids:
                if done and (done[-1], symbol) == (left, right):
                    done[-1] = spelled.index(token)
                else:
                    done.append(symbol)
            cut[word] = done
    return spelled


def test_word_pieces_are_those_of_a_plain_loop(tmp_path: Path) -> None:
    """The first 150 merges of the samples in ASCII, with the special tokens before them."""
    lines = [line.lower() for line in prose() if line.isascii()]
    path = tmp_path / "text.txt"
    path.write_text("\n".join(lines))
    cutter = library.pre_tokenizers.BertPreTokenizer()
    words = Counter(word for line in lines for word, _ in cutter.pre_tokenize_str(line))
    expected = naive_word_pieces(words, 150)
    size = len(expected) + 5
    made = tokens.train_tokenizer(path, output=tmp_path / "out", kind="wordpiece", vocab_size=size)
    vocabulary = json.loads(made.read_bytes())["model"]["vocab"]
    assert sorted(vocabulary, key=vocabulary.__getitem__)[5:] == expected
