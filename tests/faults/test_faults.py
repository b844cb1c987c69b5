"""The fault table, once each: the quick cases always, the long ones with ``-m chaos``. See ``make chaos`` for all tries."""

from __future__ import annotations

import pytest
from tests.conftest import needs_extra
from tests.faults.cases import CASES, Case, can_mount
from tests.faults.scene import play


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, id=case.name, marks=() if case.quick else pytest.mark.chaos) for case in CASES],
)
def test_a_disturbed_run_ends_in_the_same_digest_or_a_named_error(case: Case) -> None:
    if case.mounts and not can_mount():
        pytest.skip("a small disk can only be mounted by root")
    needs_extra(case.executor)
    ending = play(case.play, seed=0, executor=case.executor)
    assert (ending.verdict, ending.detail) == (case.wanted, ending.detail)
