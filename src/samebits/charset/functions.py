"""What ``from samebits import charset`` offers as plain functions."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from samebits import api
from samebits.charset.config import CharsetConfig
from samebits.charset.detection.model import CharsetModel
from samebits.core.config import make_config
from samebits.core.observing.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.data.inputs.memory import as_inputs
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
) -> CharsetModel:
    """Train encoding models.

    Args:
        data: A folder with one folder of .txt files per language; or files, a data frame, an Arrow table, a data set, rows or
            columns with a text and a language.
        output: The folder to make.
        options: How to compute it; never changes the result.
        observer: Told of every event.
        progress: Show progress: True, False, or "auto" for notebooks only.
        settings: Fields of ``CharsetConfig``, e.g. ``languages=["de", "fr"]``.

    Raises:
        ConfigError: for a setting or a column that does not exist.
    """
    config = make_config(CharsetConfig, settings)
    columns = {config.text_column: "text_column", config.lang_column: "lang_column"}
    with as_inputs(data, columns) as inputs:
        config = dataclasses.replace(config, inputs=inputs)
        api.run("charset", config, output=Path(output), options=options, observer=observer, progress=progress)
    return CharsetModel.load(output)
