"""LangidClassifier keeps scikit-learn's contract: everything people put a text classifier into works."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from samebits.errors import ConfigError
from samebits.langid import LangidClassifier

pytest.importorskip("sklearn", reason="scikit-learn is not installed: pip install scikit-learn")

TEXTS = [
    "good morning to you all",
    "guten Morgen euch allen",
    "the cat sat there",
    "die Katze sitzt dort",
] * 8
LABELS = ["en", "de", "en", "de"] * 8


@pytest.fixture(scope="module")
def fitted() -> LangidClassifier:
    return LangidClassifier(refine=2).fit(TEXTS, LABELS)


@pytest.mark.filterwarnings("ignore:Can't test estimator")  # most of its checks know numbers alone
def test_check_estimator_passes() -> None:
    """Scikit-learn's own test of estimators; of one that takes strings it says itself that it can test little."""
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(LangidClassifier(refine=0), on_skip=None)
    assert {result["status"] for result in results} == {"passed"}


@pytest.mark.parametrize(
    "name",
    [
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_get_params_invariance",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_valid_tag_types",
    ],
)
def test_the_checks_that_need_no_numbers_pass(name: str) -> None:
    """Those that ``check_estimator`` leaves out for strings although they look at no data."""
    from sklearn.utils import estimator_checks

    getattr(estimator_checks, name)("LangidClassifier", LangidClassifier())


def test_scikit_learn_sees_a_classifier(fitted: LangidClassifier) -> None:
    from sklearn.base import clone, is_classifier
    from sklearn.utils import get_tags

    assert is_classifier(fitted)
    assert get_tags(fitted).input_tags.string
    again = clone(fitted)
    assert again.get_params() == fitted.get_params()
    assert not hasattr(again, "model_")


def test_cross_val_score_works() -> None:
    from sklearn.model_selection import cross_val_score

    scores = cross_val_score(LangidClassifier(refine=0), TEXTS, LABELS, cv=2)
    assert scores.tolist() == [1.0, 1.0]


def test_a_grid_search_works_with_all_cores() -> None:
    from sklearn.model_selection import GridSearchCV

    search = GridSearchCV(LangidClassifier(n_jobs=-1), {"refine": [0, 2]}, cv=2).fit(TEXTS, LABELS)
    assert search.best_score_ == 1.0
    assert search.predict(["good morning"]).tolist() == ["en"]


def test_a_pipeline_works() -> None:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    lower = FunctionTransformer(lambda texts: [text.lower() for text in texts])
    pipeline = make_pipeline(lower, LangidClassifier(refine=0)).fit(TEXTS, LABELS)
    assert pipeline.predict(["GUTEN MORGEN"]).tolist() == ["de"]
    assert pipeline.score(TEXTS, LABELS) == 1.0


def test_a_pickle_predicts_the_same_bits(fitted: LangidClassifier) -> None:
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict_proba(TEXTS), fitted.predict_proba(TEXTS))


def test_probabilities_add_up_also_where_nothing_is_known(fitted: LangidClassifier) -> None:
    shares = fitted.predict_proba(["good morning", "1234", ""])
    assert shares.shape == (3, 2)
    assert np.allclose(shares.sum(axis=1), 1.0)
    assert shares[2].tolist() == fitted.class_prior_.tolist()


def test_labels_come_back_as_they_were() -> None:
    found = LangidClassifier(refine=0).fit(TEXTS, [0, 1, 0, 1] * 8)
    assert found.predict(TEXTS[:2]).tolist() == [0, 1]
    assert found.classes_.dtype.kind == "i"


def test_an_unfitted_classifier_says_so() -> None:
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="call fit"):
        LangidClassifier().predict(["good"])


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        ("good morning", ["en"], "is not a list of texts"),
        (["good", "day"], ["en"], "X has 2 texts and y 1 labels"),
        (["good"], None, "requires y"),
        (np.array([["a", "b"]]), ["en"], "a sample is one text"),
        (["good", "day"], ["en", None], "label 1 is missing"),
        (["good", ["day"]], ["en", "en"], "is a list, not text"),
    ],
)
def test_wrong_shapes_get_a_sentence(x: Any, y: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        LangidClassifier().fit(x, y)


def test_columns_of_pandas_and_numpy_are_texts(fitted: LangidClassifier) -> None:
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    frame = pandas.DataFrame({"text": ["good morning", None], "x": [1, 2]})
    expected = fitted.predict(["good morning", ""]).tolist()
    assert fitted.predict(frame["text"]).tolist() == expected
    assert fitted.predict(frame[["text"]]).tolist() == expected
    assert fitted.predict(np.array(["good morning", ""])).tolist() == expected
    with pytest.raises(ConfigError, match="with 2 columns"):
        fitted.predict(frame)


@pytest.mark.parametrize("mode", ["backoff", "exact"])
def test_both_modes_give_the_same_for_any_number_of_jobs(mode: str) -> None:
    one, all_cores = (
        LangidClassifier(mode=mode, n_jobs=n).fit(TEXTS, LABELS).predict_proba(TEXTS) for n in (1, -1)
    )
    assert np.array_equal(one, all_cores)
