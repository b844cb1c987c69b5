"""Which shards travel together: short ones of one stage, never more than the time or the number allows."""

from __future__ import annotations

import pytest

from samebits.core.plan import Shard
from samebits.executors.cluster import grouping as together
from samebits.executors.cluster.in_flight import Flight


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "PATIENCE_SECONDS", 0.0)  # what is there is there; nothing is waited for


def flights(number: int, task: object = "a", size: int = 1) -> list[Flight]:
    return [Flight(Shard(i, 0, i * size, (i + 1) * size), task, None) for i in range(number)]


def groups(departures: together.Departures, waiting: list[Flight]) -> list[list[int]]:
    """Return the shards of each group that the waiting ones leave in."""
    for flight in waiting:
        departures.add(flight)
    departures.close()
    return [[flight.shard.index for flight in group] for group in departures.groups()]


def at_pace(seconds: float, task: object = "a") -> together.Departures:
    """Departures that have seen one shard of one unit."""
    departures = together.Departures()
    assert groups(departures, flights(1, task)) == [[0]]
    departures.learn(flights(1, task)[0], seconds)
    return departures


def test_nothing_travels_together_before_the_pace_is_known() -> None:
    assert groups(together.Departures(), flights(3)) == [[0], [1], [2]]


def test_short_shards_travel_together_up_to_four() -> None:
    assert groups(at_pace(1e-5), flights(10)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_group_takes_no_longer_than_it_may_by_the_size_of_its_shards() -> None:
    assert groups(at_pace(0.009), flights(5)) == [[0, 1], [2, 3], [4]]
    assert groups(at_pace(0.009), flights(3, size=2)) == [[0], [1], [2]]
    assert groups(at_pace(1.0), flights(3)) == [[0], [1], [2]]


def test_the_slowest_of_the_last_shards_counts() -> None:
    departures = at_pace(1e-5)
    departures.learn(flights(1)[0], 1.0)
    assert groups(departures, flights(2)) == [[0], [1]]
    for _ in range(together.REMEMBERED):
        departures.learn(flights(1)[0], 1e-5)
    assert groups(departures, flights(2)) == [[0, 1]]


def test_stages_do_not_mix_and_each_has_its_own_pace() -> None:
    departures = at_pace(1e-5)
    departures.learn(flights(1, task="old")[0], 1.0)  # late, of a stage before
    assert groups(departures, flights(2) + flights(2, task="b")) == [[0, 1], [0], [1]]


def test_after_a_worker_died_each_shard_of_the_stage_travels_alone() -> None:
    departures = at_pace(1e-5)
    departures.part()
    assert groups(departures, flights(2)) == [[0], [1]]
    assert groups(departures, flights(1, task="b")) == [[0]]
    departures.learn(flights(1, task="b")[0], 1e-5)
    assert groups(departures, flights(2, task="b")) == [[0, 1]]


def test_groups_that_wait_are_submitted_at_once() -> None:
    departures = at_pace(0.009)
    for flight in flights(5):
        departures.add(flight)
    departures.close()
    found = [[[flight.shard.index for flight in group] for group in batch] for batch in departures.batches()]
    assert found == [[[0, 1], [2, 3], [4]]]
