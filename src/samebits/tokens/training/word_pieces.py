"""WordPiece as BERT has it, uncased: pairs of characters merged as in byte pairs, ``##`` before what continues a word.

``WordPieceTrainer`` of ``tokenizers`` does the same, but numbers the continuing characters in the order of a hash table, which
changes from run to run, and with it the order of ties. Here they are numbered by their code points.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, repeat

import numpy as np

from samebits.kernels.tokens.merges import learn_merges
from samebits.tokens.encoders.tokenizers_encoder import import_tokenizers
from samebits.tokens.training.pretokens import Counted
from samebits.tokens.training.settings import LearnSettings

__all__ = ["learn_word_pieces"]

UNKNOWN = "[UNK]"
SPECIALS = ["[PAD]", UNKNOWN, "[CLS]", "[SEP]", "[MASK]"]
PREFIX = "##"
MAX_CHARS = 1000  # rarer characters are unknown; the limit of BERT's own trainer in tokenizers
CHARS_SHARE = 4  # and at most a quarter of the vocabulary: each may stand there twice


def learn_word_pieces(counted: Counted, settings: LearnSettings) -> bytes:
    """Return the ``tokenizer.json`` learned from words between white space."""
    library = import_tokenizers()
    normalizer, cutter = library.normalizers.BertNormalizer(), library.pre_tokenizers.BertPreTokenizer()
    words: Counter[str] = Counter()
    for text, number in counted.by_text().items():
        for piece, _ in cutter.pre_tokenize_str(normalizer.normalize_str(text)):
            words[piece] += number
    first, rest = _alphabet(words, min(MAX_CHARS, settings.vocab_size // CHARS_SHARE))
    symbols = [
        [ids[char] for ids, char in zip(chain((first,), repeat(rest)), word, strict=False) if char in ids]
        for word in sorted(words)
    ]
    known = [token.encode() for token in (*SPECIALS, *first, *(PREFIX + char for char in rest))]
    _, tokens = learn_merges(
        np.array([i for word in symbols for i in word], np.int32),
        np.cumsum([0, *map(len, symbols)], dtype=np.int64),
        np.array([words[word] for word in sorted(words)], np.int64),
        known,
        settings.vocab_size,
        settings.min_count,
        PREFIX.encode(),
    )
    vocabulary = {token.decode(): i for i, token in enumerate(tokens)}
    tokenizer = library.Tokenizer(library.models.WordPiece(vocab=vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, cutter
    tokenizer.decoder = library.decoders.WordPiece(prefix=PREFIX)
    tokenizer.add_special_tokens(SPECIALS)
    document: str = tokenizer.to_str(pretty=True)
    return document.encode()


def _alphabet(words: Counter[str], most: int) -> tuple[dict[str, int], dict[str, int]]:
    """Return ids of the characters that are kept, and of those among them that continue a word, by code point."""
    counts: Counter[str] = Counter()
    for word, number in words.items():
        for char in word:
            counts[char] += number
    kept = sorted(sorted(counts, key=lambda char: (-counts[char], char))[:most])
    first = {char: i for i, char in enumerate(kept, len(SPECIALS))}
    inside = sorted({char for word in words for char in word[1:]} & first.keys())
    return first, {char: i for i, char in enumerate(inside, len(SPECIALS) + len(first))}
