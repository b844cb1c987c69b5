"""Curves in bounded memory say what all the points would say."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from samebits.serve.live.thinned import MOST_BUCKETS, Busy, Thinned


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=400),
    st.lists(st.integers(0, 400), max_size=6),
    st.sampled_from([4, 16, 64]),
)
def test_a_curve_does_not_depend_on_when_it_was_looked_at(
    values: list[float], cuts: list[int], most: int
) -> None:
    x, y = np.arange(1.0, len(values) + 1), np.array(values)
    whole, pieces = Thinned(most=most), Thinned(most=most)
    whole.add(x, y)
    borders = sorted({0, len(values), *(cut for cut in cuts if cut < len(values))})
    for start, stop in pairwise(borders):
        pieces.add(x[start:stop], y[start:stop])
    assert whole.width == pieces.width
    np.testing.assert_allclose(whole.points(), pieces.points())


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=300))
def test_each_point_is_the_mean_of_its_bucket(values: list[float]) -> None:
    curve = Thinned(most=16)
    x = np.arange(1.0, len(values) + 1)
    curve.add(x, np.array(values))
    expected = [
        (float(x[(x // curve.width) == k].mean()), float(np.array(values)[(x // curve.width) == k].mean()))
        for k in sorted(set((x // curve.width).tolist()))
    ]
    np.testing.assert_allclose(curve.points(), expected, atol=1e-9)


def test_a_million_steps_are_as_large_as_a_thousand() -> None:
    curve = Thinned()
    for start in range(0, 1_000_000, 10_000):
        curve.add(np.arange(start + 1.0, start + 10_001.0), np.ones(10_000))
    assert MOST_BUCKETS // 2 <= len(curve.points()) <= MOST_BUCKETS
    assert curve.count == 1_000_000
    assert curve.last == (1_000_000.0, 1.0)


def test_steps_told_again_and_numbers_that_are_none_are_left_out() -> None:
    curve = Thinned()
    curve.add(np.array([1.0, 2.0, 3.0]), np.array([5.0, np.nan, 7.0]))
    curve.add(np.array([2.0, 3.0, 4.0]), np.array([0.0, 0.0, np.inf]))
    curve.add(np.array([5.0]), np.array([9.0]))
    assert curve.points() == [(1.0, 5.0), (3.0, 7.0), (5.0, 9.0)]


@given(
    st.lists(st.tuples(st.floats(0, 50), st.floats(0.01, 30)), min_size=1, max_size=40),
    st.integers(1, 40),
)
def test_busy_workers_add_up_to_the_work_that_was_done(work: list[tuple[float, float]], cut: int) -> None:
    busy = Busy(width=0.5, most=32)
    for piece in (work[:cut], work[cut:]):
        if piece:
            busy.add(np.array([start for start, _ in piece]), np.array([seconds for _, seconds in piece]))
    total = float(busy._work.sum())
    np.testing.assert_allclose(total, sum(seconds for _, seconds in work), rtol=1e-6)
    end = max(start + seconds for start, seconds in work)
    for middle, workers in busy.points():
        assert 0 <= middle <= end
        assert -1e-6 <= workers <= len(work) + 1e-6


def test_two_workers_side_by_side_are_two() -> None:
    busy = Busy(width=1.0, most=8)
    busy.add(np.array([0.0, 0.0, 2.0]), np.array([2.0, 2.0, 2.0]))
    assert busy.points() == [(0.5, 2.0), (1.5, 2.0), (2.5, 1.0), (3.5, 1.0)]
