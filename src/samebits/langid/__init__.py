"""Language identification from noisy labels: train, load, predict, and an estimator in the manner of scikit-learn.

from samebits import langid

langid.predict(["good morning", "guten Morgen"])
model = langid.train({"en": ["good morning"], "de": ["guten Morgen"]}, output="model")
model.predict(["morning"])
langid.LangidModel.load("model").predict(["Morgen"], n_jobs=2)

``predict`` and ``spans`` (which cuts mixed text) use the default model, about 200 languages; ``load_default`` returns it. Three modes: ``exact`` gives the dictionary, scores and kept rows of vocabulous 0.1.3, bit for bit; ``backoff`` (the
default) is far more accurate: words and character n-grams with integer log-probabilities, refined to tell languages
apart; ``compact`` puts as much into a few megabytes. Rooms: ``training`` (rows to integers to counts) and ``model`` (what was learned, on disk and in use).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebits.lazy import lazy_names

if TYPE_CHECKING:
    from samebits.langid.classifier import LangidClassifier
    from samebits.langid.config import LangidConfig
    from samebits.langid.functions import (
        evaluate_files,
        iter_texts,
        load_default,
        predict,
        predict_files,
        spans,
        train,
    )
    from samebits.langid.model.model import Contribution, LangidModel, Prediction
    from samebits.langid.model.spans import Span
    from samebits.langid.predicted_table import predict_table

__all__ = [
    "Contribution",
    "LangidClassifier",
    "LangidConfig",
    "LangidModel",
    "Prediction",
    "Span",
    "evaluate_files",
    "iter_texts",
    "load_default",
    "predict",
    "predict_files",
    "predict_table",
    "spans",
    "train",
]

_HOMES = {
    "Contribution": "samebits.langid.model.model",
    "LangidClassifier": "samebits.langid.classifier",
    "LangidConfig": "samebits.langid.config",
    "LangidModel": "samebits.langid.model.model",
    "Prediction": "samebits.langid.model.model",
    "Span": "samebits.langid.model.spans",
    "evaluate_files": "samebits.langid.functions",
    "iter_texts": "samebits.langid.functions",
    "load_default": "samebits.langid.functions",
    "predict": "samebits.langid.functions",
    "predict_files": "samebits.langid.functions",
    "predict_table": "samebits.langid.predicted_table",
    "spans": "samebits.langid.functions",
    "train": "samebits.langid.functions",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
