"""Encoding detection and its models, for Python programs.

>>> from samebits import charset
>>> charset.detect("Grüße aus München, schöne Straße".encode("cp1252")).encoding
'cp1252'

``detect`` without a model uses one trained on the small samples inside the package; train your own with
``samebits charset train`` and load it with ``CharsetModel.load(folder)``.
"""

from __future__ import annotations

from samebits.jobs.charset.detect import Candidate, Detection, detect_with
from samebits.jobs.charset.job import CharsetConfig
from samebits.jobs.charset.model import CharsetModel, default_model
from samebits.jobs.charset.recipe import PLACEHOLDER, Recipe, RecipeBook

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
]


def detect(data: bytes, model: CharsetModel | None = None, *, top: int = 5) -> Detection:
    """Find the encoding of some bytes.

    Args:
        data: The bytes; the first 16 KiB are scored, all of them must decode.
        model: A trained model; without one, the package's own.
        top: How many candidates to give.
    """
    return detect_with(default_model() if model is None else model, data, top=top)
