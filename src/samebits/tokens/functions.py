"""What ``from samebits import tokens`` offers as plain functions: build a store, learn a tokenizer."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from samebits import api
from samebits.core.config import make_config
from samebits.core.observing.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.data.inputs.memory import as_inputs
from samebits.data.token_store import TokenStore
from samebits.progress.notebook import Show
from samebits.tokens.config import TokensConfig
from samebits.tokens.training.tokenizer_job import TokenizerConfig

__all__ = ["build", "train_tokenizer"]


def build(
    data: Any,
    *,
    output: str | Path,
    options: RunOptions | None = None,
    observer: Observer = ignore,
    progress: Show = "auto",
    **settings: Any,
) -> TokenStore:
    """Turn text into a store of memory-mapped tokens and open it.

    Args:
        data: One path or several; a data frame, Arrow table or data set; ``{"text": [...]}``; rows as dicts.
        output: The folder to make.
        options: How to compute it; never changes the result.
        observer: Told of every event.
        progress: Show progress: True, False, or "auto" for notebooks only.
        settings: Fields of ``TokensConfig``: ``tokenizer="char"``, ``columns=["question", "answer"]``, ``val_ratio=0.01``, ...

    Raises:
        ConfigError: for a setting or a column that does not exist.
    """
    config = make_config(TokensConfig, settings)
    setting = "template" if config.template else "columns"
    wanted = dict.fromkeys(config.parsed_template().columns, setting)
    with as_inputs(data, wanted) as inputs:
        config = dataclasses.replace(config, inputs=inputs)
        api.run("tokens", config, output=Path(output), options=options, observer=observer, progress=progress)
    return TokenStore.open(output)


def train_tokenizer(
    data: Any,
    *,
    output: str | Path,
    options: RunOptions | None = None,
    observer: Observer = ignore,
    progress: Show = "auto",
    **settings: Any,
) -> Path:
    """Learn byte pairs, pieces of words, words or characters from text; returns the ``tokenizer.json`` it wrote.

    Args:
        data: As for ``build``.
        output: The folder to make.
        options: How to compute it; never changes the result.
        observer: Told of every event.
        progress: Show progress: True, False, or "auto" for notebooks only.
        settings: Fields of ``TokenizerConfig``: ``kind="wordpiece"``, ``vocab_size=8000``, ...

    Raises:
        ConfigError: for a setting or a column that does not exist.
    """
    config = make_config(TokenizerConfig, settings)
    with as_inputs(data, dict.fromkeys(config.columns or ("text",), "columns")) as inputs:
        config = dataclasses.replace(config, inputs=inputs)
        api.run(
            "tokens_train", config, output=Path(output), options=options, observer=observer, progress=progress
        )
    return Path(output) / "tokenizer.json"
