"""One small tokenizer of every family, trained or built here: no downloads. Each comes with the library that defines its ids.

``families`` makes them from a list of texts; ``tokens_fuzz`` and the tests compare ids. Byte-level byte pairs come in as
many variants as the allow-lists have.
"""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from samebits.tokens.encoders import byte_pairs_encoder, fastokens_encoder, gigatoken_encoder
from samebits.tokens.encoders.allow_list import NORMALIZERS, PATTERNS, PIECE_STEPS, PRE_TOKENIZERS
from samebits.tokens.encoders.tokenizers_encoder import ReferenceEncoder, import_tokenizers
from samebits.tokens.tokenizers.sentencepiece_file import sentencepiece_to_json

__all__ = ["Family", "byte_level_variants", "families", "train_byte_level"]

VOCAB_SIZE = 3000  # more than the samples have characters
SPECIALS = ["<unk>", "<s>", "</s>"]
Encode = Callable[[list[str]], list[list[int]]]


class Family(NamedTuple):
    """A tokenizer file, the name to open it under, the encoder it should get, and what defines its ids."""

    title: str
    document: bytes
    name: str
    library: str
    reference: Encode


def by_tokenizers(document: bytes) -> Encode:
    """Ids by ``tokenizers``."""
    encoder = ReferenceEncoder(document)

    def encode(texts: list[str]) -> list[list[int]]:
        ids, offsets = encoder.encode_strings(texts)
        return [ids[a:b].tolist() for a, b in pairwise(offsets)]

    return encode


def train_byte_level(texts: Sequence[str], vocab_size: int = VOCAB_SIZE) -> dict[str, Any]:
    """Train byte-level byte pairs with ``tokenizers``."""
    library = import_tokenizers()
    level = library.pre_tokenizers.ByteLevel
    tokenizer = library.Tokenizer(library.models.BPE())
    tokenizer.pre_tokenizer = level(add_prefix_space=False)
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=sorted(level.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return dict(json.loads(tokenizer.to_str()))


def byte_level_variants(base: dict[str, Any]) -> Iterator[Family]:
    """Yield every combination that some encoder allows, over one model."""

    def family(title: str, library: str, **changes: Any) -> Family:
        document = json.dumps({**base, **changes}).encode()
        return Family(title, document, "tokenizer.json", library, by_tokenizers(document))

    for pre_tokenizer in gigatoken_encoder.ALLOWED_PRE_TOKENIZERS:
        step = PRE_TOKENIZERS[pre_tokenizer]
        ours = pre_tokenizer in byte_pairs_encoder.ALLOWED_PRE_TOKENIZERS
        encoder = "byte pairs" if ours else "gigatoken"
        yield family(f"bytes, none x {pre_tokenizer}", encoder, pre_tokenizer=step)
        model = {**base["model"], "ignore_merges": True}
        yield family(
            f"bytes, none x {pre_tokenizer}, ignore_merges", encoder, pre_tokenizer=step, model=model
        )
    for name, normalizer in NORMALIZERS.items():
        for pre_tokenizer in fastokens_encoder.ALLOWED_PRE_TOKENIZERS:
            if name == "none" and pre_tokenizer in gigatoken_encoder.ALLOWED_PRE_TOKENIZERS:
                continue
            changes = {"normalizer": normalizer, "pre_tokenizer": PRE_TOKENIZERS[pre_tokenizer]}
            yield family(f"bytes, {name} x {pre_tokenizer}", "fastokens", **changes)


def families(texts: Sequence[str], *, vocab_size: int = VOCAB_SIZE) -> Iterator[Family]:
    """Yield one tokenizer of every family but the byte-level ones."""
    yield from _sentencepiece_models(texts, vocab_size)
    yield from _pieces(texts, vocab_size)
    yield _word_piece(texts, vocab_size, lowercase=True)
    yield _word_piece(texts, vocab_size, lowercase=False)
    yield from _unigram(texts, vocab_size)
    yield from _tiktoken(texts, vocab_size)


def _sentencepiece_models(texts: Sequence[str], vocab_size: int) -> Iterator[Family]:
    import sentencepiece

    lines = [line for text in texts for line in text.split("\n") if 0 < len(line) < 4000]
    plain = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
    for title, library, settings in (
        (".model, bpe like Llama 2", "gigatoken", {"model_type": "bpe", "byte_fallback": True, **plain}),
        (".model, bpe with nmt_nfkc", "gigatoken", {"model_type": "bpe", "byte_fallback": True}),
        (".model, unigram like T5", "viterbi", {"model_type": "unigram"}),
        (".model, unigram, bytes", "viterbi", {"model_type": "unigram", "byte_fallback": True}),
        (
            ".model, unigram, own symbols",
            "viterbi",
            {"model_type": "unigram", "user_defined_symbols": ["<mask>", "th"]},
        ),
        (
            ".model, unigram across words",
            "viterbi",
            {"model_type": "unigram", "split_by_whitespace": False, **plain},
        ),
    ):
        out = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=out,
            vocab_size=vocab_size,
            num_threads=1,
            minloglevel=2,
            hard_vocab_limit=False,
            **settings,
        )
        processor = sentencepiece.SentencePieceProcessor(model_proto=out.getvalue())
        yield Family(title, out.getvalue(), "tokenizer.model", library, processor.encode)


def _pieces(texts: Sequence[str], vocab_size: int) -> Iterator[Family]:
    """Byte pairs over pieces with byte fallback, as tokenizer.json files of Llama 2, Gemma and Mistral have them."""
    library = import_tokenizers()
    tokenizer = library.Tokenizer(library.models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.pre_tokenizer = library.pre_tokenizers.Metaspace()
    bytes_as_tokens = [f"<0x{byte:02X}>" for byte in range(256)]
    trainer = library.trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=SPECIALS + bytes_as_tokens,
        limit_alphabet=200,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    base = json.loads(tokenizer.to_str())
    base["added_tokens"] = [token for token in base["added_tokens"] if token["content"] in SPECIALS]
    for name, (normalizer, pre_tokenizer) in PIECE_STEPS.items():
        if name == "SentencePiece":
            continue  # the .model files above
        document = json.dumps({**base, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer}).encode()
        yield Family(f"pieces like {name}", document, "tokenizer.json", "gigatoken", by_tokenizers(document))


def _word_piece(texts: Sequence[str], vocab_size: int, *, lowercase: bool) -> Family:
    library = import_tokenizers()
    tokenizer = library.Tokenizer(library.models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = library.normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = library.pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = library.decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trainer = library.trainers.WordPieceTrainer(
        vocab_size=vocab_size, special_tokens=special, show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    document = tokenizer.to_str().encode()
    title = f"WordPiece like BERT, {'uncased' if lowercase else 'cased'}"
    return Family(title, document, "tokenizer.json", "remembered words", by_tokenizers(document))


def _unigram(texts: Sequence[str], vocab_size: int) -> Iterator[Family]:
    """Unigram with the steps that T5's and XLM-R's tokenizer.json have, and without a normalizer."""
    library = import_tokenizers()
    tokenizer = library.Tokenizer(library.models.Unigram())
    tokenizer.pre_tokenizer = library.pre_tokenizers.Metaspace()
    trainer = library.trainers.UnigramTrainer(
        vocab_size=vocab_size, special_tokens=SPECIALS, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(texts, trainer)
    base = json.loads(tokenizer.to_str())
    collapse = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    marks = base["pre_tokenizer"]
    words = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, marks]}
    old_marks = {"type": "Metaspace", "replacement": marks["replacement"], "add_prefix_space": True}
    older = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, old_marks]}
    table = {"type": "Precompiled", "precompiled_charsmap": _characters()}
    for title, normalizer, cutter in (
        ("no normalizer", None, marks),
        ("NFKC, spaces collapsed", {"type": "Sequence", "normalizers": [{"type": "NFKC"}, collapse]}, marks),
        ("lower case", {"type": "Lowercase"}, marks),
        ("like T5", {"type": "Sequence", "normalizers": [table]}, older),
        ("like XLM-R", {"type": "Sequence", "normalizers": [table, collapse]}, words),
    ):
        document = json.dumps({**base, "normalizer": normalizer, "pre_tokenizer": cutter}).encode()
        yield Family(f"Unigram, {title}", document, "tokenizer.json", "unigram", by_tokenizers(document))


def _characters() -> str:
    """Return the table of characters that SentencePiece writes into every model, as a tokenizer.json has it."""
    import sentencepiece

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["one two three"] * 9),
        model_writer=out,
        vocab_size=20,
        hard_vocab_limit=False,
        minloglevel=2,
    )
    steps = json.loads(sentencepiece_to_json(out.getvalue()))["normalizer"]["normalizers"]
    return next(str(step["precompiled_charsmap"]) for step in steps if step["type"] == "Precompiled")


def _tiktoken(texts: Sequence[str], vocab_size: int) -> Iterator[Family]:
    import tiktoken

    from samebits.tokens.encoders.allow_list import byte_alphabet

    model = train_byte_level(texts, vocab_size)["model"]
    byte_of = {char: byte for byte, char in enumerate(byte_alphabet())}
    tokens = [bytes((byte,)) for byte in range(256)]
    tokens += [
        bytes(byte_of[char] for char in left + right) for left, right in (_pair(m) for m in model["merges"])
    ]
    ranks = {token: rank for rank, token in enumerate(dict.fromkeys(tokens))}
    lines = [b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items()]
    for pattern, expression in PATTERNS.items():
        encoding = tiktoken.Encoding(
            name=pattern,
            pat_str=expression,
            mergeable_ranks=ranks,
            special_tokens={"<|endoftext|>": len(ranks)},
        )
        yield Family(
            f".tiktoken, {pattern}",
            b"".join(lines),
            f"some.tiktoken@{pattern}",
            "gigatoken" if pattern == "o200k" else "byte pairs",
            encoding.encode_ordinary_batch,
        )


def _pair(merge: str | list[str]) -> list[str]:
    return merge.split(" ") if isinstance(merge, str) else merge
