"""Loss of a model on a text it may not have seen: nats per token, perplexity, bits per byte."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic.functions import exp, log
from samebits.errors import ConfigError, InputError
from samebits.lm.model.language_model import LanguageModel
from samebits.lm.text.plain_text import open_text, read_text
from samebits.lm.text.sources import Tokens, open_source
from samebits.lm.training.batches import VAL_ROWS, Batches

__all__ = ["Evaluation", "evaluate", "evaluate_ids", "open_ids"]

ROWS = 8  # windows of one pass; the sum is taken in the order of the text


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well a model expects a text.

    Attributes:
        loss: Mean over tokens, in nats.
        perplexity: Its exponential.
        bits_per_byte: The loss spread over the bytes of the text; None where the bytes are not known.
        tokens: Tokens that were predicted.
        windows: Windows they lie in; each starts without a memory of the one before.
    """

    loss: float
    perplexity: float
    bits_per_byte: float | None
    tokens: int
    windows: int


def open_ids(
    model: LanguageModel, inputs: Sequence[str], *, unknown: str, part: str, text_column: str = "text"
) -> tuple[NDArray[np.int64], float]:
    """Return the ids of a text, store or .bin file in the model's vocabulary, and the bytes of a token.

    Args:
        model: Whose vocabulary counts.
        inputs: Files, or a token store.
        unknown: What to do with characters the model does not know: ``error`` or ``skip``.
        part: ``all``, ``train`` or ``val``: the whole, or one side of the cut that training made.
        text_column: Which column holds the text, where an input is a table or JSON lines.
    """
    vocabulary = model.vocabulary
    ratio = float(model.about["val_ratio"])
    if vocabulary.kind == "ids":
        source = open_source(inputs, val_ratio=ratio, vocab_size=0)
        if source.kind == "text":
            raise ConfigError(
                "this model was trained on token ids, and this is a text",
                hint="give a store of its tokenizer",
            )
        if source.vocabulary.size > vocabulary.size:
            raise InputError(
                f"ids up to {source.vocabulary.size - 1} are outside the model's vocabulary of {vocabulary.size}",
                path=", ".join(source.names),
            )
        tokens, per_token = source.load(), source.bytes_per_token
    else:
        corpus = open_text(inputs)
        text = read_text(corpus, vocabulary.kind, text_column)
        ids = vocabulary.encode(text, name=", ".join(corpus.names), unknown=unknown)
        per_token = len(text.encode("utf-8", "surrogateescape")) / max(1, len(ids))
        at = int(len(ids) * (1 - ratio))
        tokens = Tokens(ids[:at], ids[at:])
    pieces = {"all": [tokens.train, tokens.val], "train": [tokens.train], "val": [tokens.val]}[part]
    return np.concatenate([np.asarray(piece, np.int64) for piece in pieces]), per_token


def evaluate_ids(model: LanguageModel, ids: NDArray[np.int64], *, bytes_per_token: float = 0.0) -> Evaluation:
    """Measure on ids: windows of the model's context, one after the other.

    Raises:
        InputError: if there are too few for one window.
    """
    from samebits.lm.model.definition import record

    batches = Batches(Tokens(ids[:0], ids), block=model.arch.block, batch=VAL_ROWS, seed=0)
    if batches.num_val_windows < 1:
        raise InputError(
            f"{len(ids)} tokens do not fill a window of {model.arch.block + 1}",
            path="data",
            hint="give a longer text",
        )
    program = record(model.arch, model.params, windows=ROWS)
    total, weight = 0.0, 0
    for first in range(0, batches.num_val_windows, ROWS):
        windows = batches.val_windows(first, first + ROWS)
        x, y = np.ascontiguousarray(windows[:, :-1]), np.ascontiguousarray(windows[:, 1:])
        total, weight = total + program.sum_of_losses(x, y), weight + x.size
    loss = total / weight
    bits = loss / log(2.0) / bytes_per_token if bytes_per_token else None
    return Evaluation(loss, exp(min(loss, 700.0)), bits, weight, batches.num_val_windows)


def evaluate(
    model: LanguageModel,
    inputs: Sequence[str],
    *,
    unknown: str = "error",
    part: str = "all",
    text_column: str = "text",
) -> Evaluation:
    """Measure on a text, a store or a .bin file; see ``open_ids`` for the arguments."""
    ids, per_token = open_ids(model, inputs, unknown=unknown, part=part, text_column=text_column)
    return evaluate_ids(model, ids, bytes_per_token=per_token)
