"""The fault table, once each: the quick cases always, the long ones with ``-m chaos``. See ``make chaos`` for all tries."""

from __future__ import annotations

import pytest
from tests.conftest import needs_extra
from tests.faults.scene import play
from tests.faults.table import CASES, Case


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case.quick else pytest.mark.chaos) for case in CASES],
)
def test_a_disturbed_run_ends_in_the_same_digest_or_a_named_error(case: Case) -> None:
    if reason := case.why_not():
        pytest.skip(reason)
    needs_extra(case.executor)
    ending = play(case.play, seed=0, executor=case.executor, job=case.job)
    assert (ending.verdict, ending.detail) == (case.wanted, ending.detail)
    assert ending.faults > 0, "nothing was hit"
