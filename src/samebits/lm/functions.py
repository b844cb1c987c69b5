"""What ``from samebits import lm`` offers as a plain function: train."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from samebits import api
from samebits.core.config import make_config
from samebits.core.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.lm.config import LmConfig
from samebits.lm.model.language_model import LanguageModel

__all__ = ["train"]


def train(
    data: str | Path | Sequence[str | Path],
    *,
    output: str | Path,
    options: RunOptions | None = None,
    observer: Observer = ignore,
    **settings: Any,
) -> LanguageModel:
    """Train a model into a folder, or continue an interrupted run of the same settings.

    Args:
        data: Text files, a store of the ``tokens`` job, or .bin files of nanoGPT.
        output: The folder to make.
        options: How to compute it, e.g. ``RunOptions(workers="2")``; never changes the weights.
        observer: Told of every event.
        settings: Fields of ``LmConfig``: ``preset``, ``depth``, ``steps``, ``optimizer``, ``seed``, ...

    Raises:
        SamebitsError: one of its subclasses; checkpoints are kept for the next call.
    """
    inputs = [data] if isinstance(data, str | Path) else list(data)
    config = make_config(LmConfig, {"inputs": [str(item) for item in inputs], **settings})
    api.refuse_ranks("lm.train", "lm", options)
    api.run("lm", config, output=output, options=options, observer=observer)
    return LanguageModel.load(output)
