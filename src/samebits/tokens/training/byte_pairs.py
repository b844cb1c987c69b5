"""Byte-level byte pairs: the ``tokenizer.json`` that ``BpeTrainer`` of ``tokenizers`` makes of the same text, byte for byte.

Pre-tokens are counted by the workers, pairs are merged by a kernel. Ids: the special tokens, the 256 bytes in the order of the
characters that stand for them, then a token for every merge. The commonest pair is merged first; of equally common ones the
pair with the lower left id, then with the lower right id.
"""

from __future__ import annotations

import numpy as np

from samebits.kernels.tokens.merges import learn_merges
from samebits.tokens.encoders.allow_list import byte_alphabet
from samebits.tokens.encoders.tokenizers_encoder import import_tokenizers
from samebits.tokens.tokenizers.special_ids import SPECIAL_NAMES
from samebits.tokens.training.pretokens import Counted
from samebits.tokens.training.settings import LearnSettings

__all__ = ["learn_byte_pairs"]

SPECIALS = [SPECIAL_NAMES[name] for name in ("eos", "pad", "bos", "sep")]


def learn_byte_pairs(counted: Counted, settings: LearnSettings) -> bytes:
    """Return the ``tokenizer.json`` learned from pre-tokens."""
    alphabet = byte_alphabet()
    by_char = sorted(range(256), key=lambda byte: alphabet[byte])
    ids = np.empty(256, np.int32)
    ids[by_char] = np.arange(len(SPECIALS), len(SPECIALS) + 256)
    known = [name.encode() for name in SPECIALS] + [bytes((byte,)) for byte in by_char]
    merges, tokens = learn_merges(
        ids[counted.keys], counted.offsets, counted.counts, known, settings.vocab_size, settings.min_count
    )
    shown = SPECIALS + ["".join(alphabet[byte] for byte in token) for token in tokens[len(SPECIALS) :]]
    last = {(left, right): i for i, (left, right, _) in enumerate(merges.tolist())}  # of one made twice
    pairs = [(shown[left], shown[right]) for left, right in sorted(last, key=last.__getitem__)]
    library = import_tokenizers()
    level = library.pre_tokenizers.ByteLevel
    model = library.models.BPE(vocab={token: i for i, token in enumerate(shown)}, merges=pairs)
    tokenizer = library.Tokenizer(model)
    tokenizer.pre_tokenizer = level(add_prefix_space=False, use_regex=True)
    tokenizer.decoder = library.decoders.ByteLevel()
    tokenizer.add_special_tokens(SPECIALS)
    document: str = tokenizer.to_str(pretty=True)
    return document.encode()
