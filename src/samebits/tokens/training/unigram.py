"""Unigram by the trainer of ``sentencepiece``, which gets distinct words with their counts instead of the text.

It gives the same model in every run with one thread, and other models with others; so it has one. Words are counted by the
workers and sorted, so the model does not depend on who counted what.
"""

from __future__ import annotations

import io

from samebits.errors import ConfigError, MissingExtra
from samebits.tokens.tokenizers.sentencepiece_file import sentencepiece_to_json
from samebits.tokens.training.pretokens import Counted
from samebits.tokens.training.settings import LearnSettings

__all__ = ["learn_unigram"]

MAX_CHARS = 1000  # sentencepiece leaves out lines of more than 4,192 bytes; Chinese has no spaces to cut at


def learn_unigram(counted: Counted, settings: LearnSettings) -> bytes:
    """Return the ``tokenizer.json`` learned from words between white space.

    Raises:
        ConfigError: if the trainer refuses, e.g. because the vocabulary is smaller than the alphabet.
        MissingExtra: if ``sentencepiece`` is not installed.
    """
    try:
        import sentencepiece
    except ImportError:
        raise MissingExtra("sentencepiece", extra="tokens", needed_for="training Unigram") from None
    lines = (
        f"{word[at : at + MAX_CHARS]}\t{number}"
        for word, number in counted.by_text().items()
        if number >= settings.min_count
        for at in range(0, len(word), MAX_CHARS)
    )
    out = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=lines,
            input_format="tsv",
            model_writer=out,
            model_type="unigram",
            vocab_size=settings.vocab_size,
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
            pad_id=3,
        )
    except (RuntimeError, OSError) as error:
        reason = str(error).rpartition("]")[2].partition(" Increase vocab_size")[0].strip(" .")
        hint = "use a larger --vocab-size, or more text"
        raise ConfigError(f"sentencepiece cannot train: {reason}", hint=hint) from None
    return sentencepiece_to_json(out.getvalue())
