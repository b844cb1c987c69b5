"""An estimator in the manner of scikit-learn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from samebits.core.options import RunOptions
from samebits.errors import ConfigError, did_you_mean
from samebits.langid.functions import train

__all__ = ["LangidClassifier"]


class LangidClassifier:
    """fit, predict, predict_proba and score, as scikit-learn's estimators have them; scikit-learn is not needed.

    Attributes:
        classes_: The languages, after ``fit``.
        model_: The model, after ``fit``.
    """

    def __init__(self, *, mode: str = "backoff", cycles: int = 1, refine: int = 10, n_jobs: int = 1) -> None:
        self.mode = mode
        self.cycles = cycles
        self.refine = refine
        self.n_jobs = n_jobs

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings, for grid searches and clones."""
        return {"mode": self.mode, "cycles": self.cycles, "refine": self.refine, "n_jobs": self.n_jobs}

    def set_params(self, **params: Any) -> LangidClassifier:
        """Change settings."""
        for name, value in params.items():
            if name not in self.get_params():
                raise ConfigError(f"unknown parameter {name!r}", hint=did_you_mean(name, self.get_params()))
            setattr(self, name, value)
        return self

    def fit(self, X: Sequence[str], y: Sequence[str]) -> LangidClassifier:  # noqa: N803  # the name estimators use
        """Train on texts and labels."""
        rows = ({"text": text, "lang": label} for text, label in zip(X, y, strict=True))
        options = RunOptions(workers=str(self.n_jobs))
        self.model_ = train(rows, options=options, mode=self.mode, cycles=self.cycles, refine=self.refine)
        self.classes_ = self.model_.languages
        return self

    def predict(self, X: Sequence[str]) -> list[str]:  # noqa: N803
        """Return the language of each text."""
        return self.model_.predict(X, n_jobs=self.n_jobs)

    def predict_proba(self, X: Sequence[str]) -> list[list[float]]:  # noqa: N803
        """Return a probability for each of ``classes_``, for each text; zeros where nothing is known."""
        full = self.model_.predict_full(X, top=len(self.classes_), n_jobs=self.n_jobs)
        tables = (dict(prediction.ranking) for prediction in full)
        return [[table.get(name, 0.0) for name in self.classes_] for table in tables]

    def score(self, X: Sequence[str], y: Sequence[str]) -> float:  # noqa: N803
        """Return the share of texts whose language is right."""
        found = self.predict(X)
        return sum(a == b for a, b in zip(found, y, strict=True)) / max(1, len(found))
