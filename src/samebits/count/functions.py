"""What ``from samebits import count`` offers as a plain function."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

from samebits import api
from samebits.core.config import make_config
from samebits.core.observing.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.count.config import CountConfig
from samebits.data.artifact import open_artifact
from samebits.data.inputs.memory import as_inputs
from samebits.progress.notebook import Show

__all__ = ["count"]


def count(
    data: Any,
    *,
    output: str | Path | None = None,
    options: RunOptions | None = None,
    observer: Observer = ignore,
    progress: Show = "auto",
    **settings: Any,
) -> dict[str, int]:
    """Count words or character n-grams.

    Args:
        data: One path or several; a data frame, Arrow table or data set with a text column; ``{"text": [...]}``.
        output: Folder to write the artifact to; none keeps nothing but what is returned.
        options: How to compute it; never changes the result.
        observer: Told of every event.
        progress: Show progress: True, False, or "auto" for notebooks only.
        settings: Fields of ``CountConfig``, e.g. ``unit="char"``, ``n=3``, ``column="comment"``.

    Returns:
        Each n-gram with its count, most frequent first.

    Raises:
        ConfigError: for a setting or a column that does not exist.
    """
    config = make_config(CountConfig, settings)
    with (
        as_inputs(data, {config.column: "column"}) as inputs,
        tempfile.TemporaryDirectory(prefix="samebits-count-") as folder,
    ):
        target = Path(output) if output is not None else Path(folder) / "counts"
        config = dataclasses.replace(config, inputs=inputs)
        api.run("count", config, output=target, options=options, observer=observer, progress=progress)
        return _read(target, config.table)


def _read(folder: Path, table: str) -> dict[str, int]:
    path = open_artifact(folder, job="count").path(f"counts.{table}")
    if table == "parquet":
        import pyarrow.parquet as pq

        columns = pq.read_table(path).to_pydict()
        return dict(zip(columns["ngram"], columns["count"], strict=True))
    rows = map(json.loads, path.read_bytes().splitlines())
    return {row["ngram"]: row["count"] for row in rows}
