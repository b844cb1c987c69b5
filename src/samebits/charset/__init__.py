"""Encoding detection and its models: find the encoding of bytes, train models of your own, exchange them.

>>> from samebits import charset
>>> charset.detect("Grüße aus München, schöne Straße".encode("cp1252")).encoding
'cp1252'

``detect`` without a model uses those the package ships, trained on text of 89 languages; train your own with
``samebits charset train`` and load them with ``CharsetModel.load(folder)``. ``samebits.charset.compat`` answers code written for
chardet or charset-normalizer.

Rooms: ``recipes`` (how text becomes bytes), ``training`` (byte-pair counts of many pairs from one pass over each
language's text), ``characters`` (the models that are shipped), ``detection`` (using and judging a model), ``exchange`` (chardet's files, differences of two models).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebits.lazy import lazy_names

if TYPE_CHECKING:
    from samebits.charset.characters.model_file import CharacterModel
    from samebits.charset.config import CharsetConfig
    from samebits.charset.detection.functions import Detector, default_model, detect, detect_all
    from samebits.charset.detection.interface import Candidate, Detection
    from samebits.charset.detection.model import CharsetModel
    from samebits.charset.functions import train
    from samebits.charset.recipes.recipe import PLACEHOLDER, Recipe, RecipeBook

__all__ = [
    "PLACEHOLDER",
    "Candidate",
    "CharacterModel",
    "CharsetConfig",
    "CharsetModel",
    "Detection",
    "Detector",
    "Recipe",
    "RecipeBook",
    "default_model",
    "detect",
    "detect_all",
    "train",
]

_HOMES = {
    "PLACEHOLDER": "samebits.charset.recipes.recipe",
    "Candidate": "samebits.charset.detection.interface",
    "CharacterModel": "samebits.charset.characters.model_file",
    "CharsetConfig": "samebits.charset.config",
    "CharsetModel": "samebits.charset.detection.model",
    "Detection": "samebits.charset.detection.interface",
    "Detector": "samebits.charset.detection.functions",
    "Recipe": "samebits.charset.recipes.recipe",
    "RecipeBook": "samebits.charset.recipes.recipe",
    "default_model": "samebits.charset.detection.functions",
    "detect": "samebits.charset.detection.functions",
    "detect_all": "samebits.charset.detection.functions",
    "train": "samebits.charset.functions",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
