"""The peers of ``tokens_training``: runs in their own environment, so it imports nothing of samebits.

Usage: ``python tokens_training_peer.py tokenizers|rustbpe|gigatoken INPUT OUTPUT VOCAB_SIZE``. Each reads JSON lines and learns byte-level
byte pairs with GPT-2's pattern on all cores it finds; the output is a tokenizer.json, or the tokens in the order of their ids, one in
hexadecimal a line.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

SPECIALS = ["<|endoftext|>", "<|pad|>", "<|bos|>", "<|sep|>"]
PATTERN = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"


def texts(source: str) -> Iterator[str]:
    """Yield the texts of a file."""
    with Path(source).open("rb") as lines:
        for line in lines:
            yield json.loads(line)["text"]


def with_tokenizers(source: str, output: str, vocab_size: int) -> None:
    """``BpeTrainer``, as its documentation does it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=1,
        special_tokens=SPECIALS,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(source), trainer)
    Path(output).write_text(tokenizer.to_str(pretty=True), encoding="utf-8")


def with_rustbpe(source: str, output: str, vocab_size: int) -> None:
    """``rustbpe``, as its documentation does it; it has no special tokens."""
    import rustbpe

    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(texts(source), vocab_size=vocab_size - len(SPECIALS), pattern=PATTERN)
    ranks = sorted(tokenizer.get_mergeable_ranks(), key=lambda item: item[1])
    Path(output).write_text("\n".join(bytes(token).hex() for token, _ in ranks), encoding="utf-8")


def with_gigatoken(source: str, output: str, vocab_size: int) -> None:
    """Gigatoken's ``train_bpe``, which reads the file itself."""
    from gigatoken.gigatoken_rs import JsonlFileSource, train_bpe

    vocabulary, _ = train_bpe(JsonlFileSource([source]), vocab_size, SPECIALS)
    tokens = [vocabulary[i] for i in sorted(vocabulary)]
    Path(output).write_text("\n".join(token.hex() for token in tokens), encoding="utf-8")


PEERS = {"tokenizers": with_tokenizers, "rustbpe": with_rustbpe, "gigatoken": with_gigatoken}

if __name__ == "__main__":
    peer, given, result, size = sys.argv[1:5]
    PEERS[peer](given, result, int(size))
