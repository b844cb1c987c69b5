"""What ``from samebits import lm`` offers as a plain function: train."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from samebits import api
from samebits.core.config import make_config
from samebits.core.observing.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.data.inputs.memory import as_inputs
from samebits.lm.config import LmConfig
from samebits.lm.model.language_model import LanguageModel
from samebits.progress.notebook import Show

__all__ = ["train"]


def train(
    data: Any,
    *,
    output: str | Path,
    options: RunOptions | None = None,
    observer: Observer = ignore,
    progress: Show = "auto",
    **settings: Any,
) -> LanguageModel:
    """Train a model into a folder, or continue an interrupted run of the same settings.

    Args:
        data: One path or several (text, CSV, JSON lines, Parquet, a store of the ``tokens`` job, .bin files of nanoGPT); a
            data frame, Arrow table or data set with a text column; ``{"text": [...]}``.
        output: The folder to make.
        options: How to compute it, e.g. ``RunOptions(workers=2)``; never changes the weights.
        observer: Told of every event.
        progress: Show progress: True, False, or "auto" for notebooks only.
        settings: Fields of ``LmConfig``: ``preset``, ``depth``, ``steps``, ``optimizer``, ``seed``, ...

    Raises:
        SamebitsError: one of its subclasses; checkpoints are kept for the next call.
    """
    config = make_config(LmConfig, settings)
    api.refuse_ranks("lm.train", "lm", options)
    with as_inputs(data, {config.text_column: "text_column"}) as inputs:
        config = dataclasses.replace(config, inputs=inputs)
        api.run("lm", config, output=Path(output), options=options, observer=observer, progress=progress)
    return LanguageModel.load(output)
