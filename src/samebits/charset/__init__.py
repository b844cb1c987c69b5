"""Encoding detection and its models: find the encoding of bytes, train models of your own, exchange them.

>>> from samebits import charset
>>> charset.detect("Grüße aus München, schöne Straße".encode("cp1252")).encoding
'cp1252'

``detect`` without a model uses one trained on the small samples inside the package; train your own with
``samebits charset train`` and load it with ``CharsetModel.load(folder)``.

Rooms: ``recipes`` (how text becomes bytes), ``training`` (byte-pair counts of many pairs from one pass over each
language's text), ``detection`` (using and judging a model), ``exchange`` (chardet's files, differences of two models).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebits.lazy import lazy_names

if TYPE_CHECKING:
    from samebits.charset.config import CharsetConfig
    from samebits.charset.detection.detect import Candidate, Detection
    from samebits.charset.detection.model import CharsetModel, default_model
    from samebits.charset.functions import detect, train
    from samebits.charset.recipes.recipe import PLACEHOLDER, Recipe, RecipeBook

__all__ = [
    "PLACEHOLDER",
    "Candidate",
    "CharsetConfig",
    "CharsetModel",
    "Detection",
    "Recipe",
    "RecipeBook",
    "default_model",
    "detect",
    "train",
]

_HOMES = {
    "PLACEHOLDER": "samebits.charset.recipes.recipe",
    "Candidate": "samebits.charset.detection.detect",
    "CharsetConfig": "samebits.charset.config",
    "CharsetModel": "samebits.charset.detection.model",
    "Detection": "samebits.charset.detection.detect",
    "Recipe": "samebits.charset.recipes.recipe",
    "RecipeBook": "samebits.charset.recipes.recipe",
    "default_model": "samebits.charset.detection.model",
    "detect": "samebits.charset.functions",
    "train": "samebits.charset.functions",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
