"""A scikit-learn classifier of texts; scikit-learn itself is not needed to use it.

>>> classifier = LangidClassifier().fit(["good morning", "guten Morgen"], ["en", "de"])
>>> classifier.predict(["morning"]).tolist()
['en']

It keeps scikit-learn's contract (``__sklearn_tags__``, parameters as attributes, ``classes_``, predictions among them), so
it works in ``cross_val_score``, ``GridSearchCV``, ``make_pipeline`` and ``clone``. X is one text per sample.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from samebits.core.options import RunOptions
from samebits.data.inputs.columns import shape_name
from samebits.data.inputs.memory import texts_of
from samebits.errors import ConfigError, did_you_mean
from samebits.langid.functions import train
from samebits.machine.cores import look_at_machine

__all__ = ["LangidClassifier"]

PARAMETERS = ("mode", "cycles", "refine", "n_jobs")


class LangidClassifier:
    """fit, predict, predict_proba and score over texts.

    Args:
        mode: ``backoff`` (accurate) or ``exact`` (vocabulous, bit for bit).
        cycles: How often to train, dropping rows that disagree in between.
        refine: Passes that move weight to what tells labels apart.
        n_jobs: Threads; None is one, -1 all cores. Never changes the result.

    Attributes:
        classes_: The labels, sorted, after ``fit``.
        class_prior_: The share of each of them in the training rows: the answer to a text of which nothing is known.
        model_: The LangidModel, which says ``und`` to such a text.
    """

    def __init__(
        self, mode: str = "backoff", cycles: int = 1, refine: int = 10, n_jobs: int | None = None
    ) -> None:
        self.mode = mode
        self.cycles = cycles
        self.refine = refine
        self.n_jobs = n_jobs

    def __repr__(self) -> str:
        defaults = LangidClassifier()
        changed = {name: getattr(self, name) for name in PARAMETERS}
        shown = [f"{name}={value!r}" for name, value in changed.items() if value != getattr(defaults, name)]
        return f"LangidClassifier({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        """Say what it is: a classifier that wants one-dimensional arrays of strings."""
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True, allow_nan=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether ``fit`` was called."""
        return hasattr(self, "model_")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings, for grid searches and clones."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def set_params(self, **params: Any) -> LangidClassifier:
        """Change settings.

        Raises:
            ConfigError: for a setting that does not exist.
        """
        for name, value in params.items():
            if name not in PARAMETERS:
                raise ConfigError(f"unknown parameter {name!r}", hint=did_you_mean(name, PARAMETERS))
            setattr(self, name, value)
        return self

    def fit(self, X: Any, y: ArrayLike) -> LangidClassifier:  # noqa: N803 - the name estimators use
        """Train on texts and labels.

        Raises:
            ConfigError: X and y do not fit together, or hold something else.
        """
        texts, labels = _texts(X), _labels(y)
        if len(texts) != len(labels):
            raise ConfigError(f"X has {len(texts):,} texts and y {len(labels):,} labels")
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        self.class_prior_ = np.bincount(numbers, minlength=len(self.classes_)) / max(1, len(labels))
        names = np.array([str(label) for label in self.classes_.tolist()], object)
        if len(set(names)) < len(names):
            raise ConfigError("two labels look the same as text", hint="give labels of one type")
        self.model_ = train(
            {"text": texts, "lang": names[numbers].tolist()},
            options=RunOptions(workers=_workers(self.n_jobs)),
            mode=self.mode,
            cycles=self.cycles,
            refine=self.refine,
        )
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the label of each text; the commonest one of the training rows where nothing is known."""
        shares = self.predict_proba(X)
        found: NDArray[Any] = self.classes_[shares.argmax(axis=1)]
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return a probability for each of ``classes_``, (texts, classes)."""
        if not self.__sklearn_is_fitted__():
            raise _not_fitted()
        column = {str(label): i for i, label in enumerate(self.classes_.tolist())}
        texts, num = _texts(X), len(self.classes_)
        shares = np.zeros((len(texts), num))
        full = self.model_.predict_full(texts, top=num, n_jobs=_workers(self.n_jobs))
        for row, prediction in enumerate(full):
            for name, share in prediction.ranking:
                shares[row, column[name]] = share
        rest = 1.0 - shares.sum(axis=1, keepdims=True)  # all of it where nothing is known
        return np.asarray(shares + rest * self.class_prior_, np.float64)

    def score(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:  # noqa: N803
        """Return the share of texts whose label is right."""
        right = self.predict(X) == np.asarray(_labels(y))
        weights = None if sample_weight is None else np.asarray(sample_weight, np.float64)
        return float(np.average(right, weights=weights))


def _texts(data: Any) -> list[str]:
    """Return one text per sample; a table of one column is a column."""
    shape: Sequence[int] = getattr(data, "shape", ())
    if len(shape) == 2 and shape[1] == 1:
        data = data.iloc[:, 0] if hasattr(data, "iloc") else data[:, 0]
    elif len(shape) > 1:
        raise ConfigError(
            f"X is {shape_name(data)} with {shape[1]} columns, and a sample is one text",
            hint='pass the column: X["text"]',
        )
    return list(texts_of(data))


def _labels(y: Any) -> NDArray[Any]:
    if y is None or isinstance(y, str) or not isinstance(y, Iterable):
        raise ConfigError(f"requires y to be passed: a label per text, not {shape_name(y)}")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1 or labels.dtype.kind not in "OUSbiu":
        raise ConfigError(
            f"Unknown label type: y has {labels.ndim} dimensions of {labels.dtype}",
            hint="give a name per text",
        )
    missing = [i for i, label in enumerate(labels.tolist()) if label is None or label != label]
    if missing:
        raise ConfigError(f"label {missing[0]} is missing", hint="drop texts without a label")
    return labels


def _workers(n_jobs: int | None) -> int:
    """Return a number of threads as joblib counts: -1 is all cores, -2 all but one."""
    if n_jobs is None:
        return 1
    if n_jobs == 0:
        raise ConfigError("n_jobs is 0", hint="use 1 or more, or -1 for all cores")
    return n_jobs if n_jobs > 0 else max(1, look_at_machine().physical + 1 + n_jobs)


def _not_fitted() -> Exception:
    message = "this LangidClassifier is not fitted yet; call fit(texts, labels) first"
    if "sklearn" not in sys.modules:
        return ConfigError(message)
    from sklearn.exceptions import NotFittedError

    return NotFittedError(message)  # type: ignore[no-any-return]  # without scikit-learn its type is unknown
