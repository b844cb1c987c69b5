"""Recipes: which jobs, in which order, on whose results; every stage once, again only when something it depends on changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebits.lazy import lazy_names

if TYPE_CHECKING:
    from samebits.pipeline.running import PipelineResult, StageOutlook, StageResult, load, outlook, run

__all__ = [
    "PipelineResult",
    "StageOutlook",
    "StageResult",
    "load",
    "outlook",
    "run",
]

_HOMES = {
    "PipelineResult": "samebits.pipeline.running",
    "StageOutlook": "samebits.pipeline.running",
    "StageResult": "samebits.pipeline.running",
    "load": "samebits.pipeline.running",
    "outlook": "samebits.pipeline.running",
    "run": "samebits.pipeline.running",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
