"""The measures of a report, against the definitions written out row by row."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.langid.training import report as report_module
from samebits.langid.training.report import confusion_of, make_report

NUM = 4
rows = st.lists(st.tuples(st.integers(0, NUM - 1), st.integers(-1, NUM - 1)), max_size=60)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([a for a, _ in pairs], np.int32), np.array([b for _, b in pairs], np.int32)


@pytest.mark.parametrize("dense_cells", [1 << 22, 0], ids=["table", "sort"])
@given(pairs=rows)
def test_confusion_counts_every_row_once(dense_cells: int, pairs: list[tuple[int, int]]) -> None:
    expected = Counter((a, b if b >= 0 else NUM) for a, b in pairs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report_module, "DENSE_CELLS", dense_cells)
        found = confusion_of(*columns(pairs), NUM)
    keys = list(zip(found.true.tolist(), found.predicted.tolist(), strict=True))
    assert keys == sorted(expected)
    assert dict(zip(keys, found.rows.tolist(), strict=True)) == expected


@given(pairs=rows, trained=st.lists(st.booleans(), min_size=NUM, max_size=NUM))
def test_measures_look_at_trained_languages_only(pairs: list[tuple[int, int]], trained: list[bool]) -> None:
    labels, top = columns(pairs)
    made = make_report(
        labels, top, np.zeros(len(pairs)), trained=np.array(trained), languages=["de", "en", "fr", "it"]
    )
    counted = [(a, b) for a, b in pairs if b >= 0 and trained[a] and trained[b]]
    right = sum(a == b for a, b in counted)
    recalls = []
    for language in (i for i in range(NUM) if trained[i]):
        own = [b for a, b in counted if a == language]
        recalls.append(own.count(language) / len(own) if own else 0.0)
    assert made["rows"] == len(pairs)
    assert made["no_prediction"] == sum(b < 0 for _, b in pairs)
    assert made["accuracy"] == (right / len(counted) if counted else 0.0)
    assert made["recall"] == (sum(recalls) / len(recalls) if recalls else 0.0)


def test_confused_pairs_share_the_rows_of_both_languages() -> None:
    labels, top = columns([(0, 1), (1, 0), (0, 0), (1, -1)])
    made = make_report(labels, top, np.zeros(4), trained=np.ones(2, bool), languages=["de", "en"])
    assert made["confusion_pairs"] == [{"langs": ["de", "en"], "score": 2 / 4}]
    assert made["no_prediction"] == 1
