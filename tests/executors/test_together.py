"""Which shards travel together: as many as leave work for every worker, never more than the time or the number allows."""

from __future__ import annotations

import threading
from itertools import islice

import pytest

from samebits.core.plan import Shard
from samebits.core.ports.executor import Done
from samebits.executors.cluster import grouping as together
from samebits.executors.cluster.claims import Claims
from samebits.executors.cluster.in_flight import Flight, Message


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(together, "MOMENT_SECONDS", 0.0)  # what is there is there; nothing is waited for


def flights(number: int, task: object = "a", size: int = 1) -> list[Flight]:
    return [Flight(Shard(i, 0, i * size, (i + 1) * size), task, None) for i in range(number)]


def departures_of(
    workers: int = 1000, flying: list[int] | None = None, spool: str = ""
) -> together.Departures:
    """Departures of workers that have all the room there is, or so much that some are in the air."""
    return together.Departures(lambda: workers, lambda: (flying or [0])[0], spool)


def groups(departures: together.Departures, waiting: list[Flight]) -> list[list[int]]:
    """Return the shards of each group that the waiting ones leave in, at once."""
    for flight in waiting:
        departures.add(flight)
    (batch,) = islice(departures.batches(), 1)
    return [[shard.index for shard in message.shards] for message in batch]


def at_pace(seconds: float, task: object = "a", workers: int = 1000) -> together.Departures:
    """Departures that have seen one shard of one unit."""
    departures = departures_of(workers)
    assert groups(departures, flights(1, task)) == [[0]]
    departures.learn(flights(1, task)[0], seconds)
    return departures


def test_nothing_travels_together_before_the_pace_is_known() -> None:
    assert groups(departures_of(), flights(3)) == [[0], [1], [2]]


def test_short_shards_travel_together_up_to_four() -> None:
    assert groups(at_pace(1e-5), flights(10)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_group_takes_no_longer_than_it_may_by_the_size_of_its_shards() -> None:
    assert groups(at_pace(0.009), flights(5)) == [[0, 1], [2, 3], [4]]
    assert groups(at_pace(0.009), flights(3, size=2)) == [[0], [1], [2]]
    assert groups(at_pace(1.0), flights(3)) == [[0], [1], [2]]


def test_of_a_long_stage_one_shard_leaves_for_each_worker_until_the_pace_is_known() -> None:
    departures = departures_of(workers=2)
    assert groups(departures, flights(5)) == [[0], [1]]
    assert groups(departures_of(workers=2), flights(4)) == [[0], [1], [2], [3]]


def test_long_shards_travel_together_while_that_leaves_as_much_for_every_worker() -> None:
    departures = at_pace(0.5, workers=2)
    assert [len(group) for group in groups(departures, flights(30))] == [15, 7, 4, 2]
    assert [len(group) for group in groups(departures, [])] == [1, 1]


def test_a_group_has_no_more_than_sixteen_shards_and_ten_seconds() -> None:
    assert [len(group) for group in groups(at_pace(0.1, workers=1), flights(100))] == [16, 16]
    assert [len(group) for group in groups(at_pace(4.0, workers=1), flights(100))] == [2, 2]
    assert [len(group) for group in groups(at_pace(11.0, workers=1), flights(100))] == [1, 1]


def test_the_last_moment_of_a_stage_is_shared_out_at_once() -> None:
    assert [len(group) for group in groups(at_pace(0.14, workers=2), flights(7))] == [4, 3]
    assert [len(group) for group in groups(at_pace(0.15, workers=2), flights(7))] == [3, 2, 2]
    assert [len(group) for group in groups(at_pace(0.3, workers=2), flights(7))] == [3, 2, 1, 1]


def test_what_finds_no_room_in_the_air_waits_until_something_lands() -> None:
    flying = [3]
    departures = departures_of(workers=2, flying=flying)
    assert groups(departures, flights(3)) == [[0]]
    flying[0] = 4
    left: list[list[int]] = []
    sender = threading.Thread(target=lambda: left.extend(groups(departures, [])))
    sender.start()
    sender.join(0.05)
    assert sender.is_alive()
    flying[0] = 2
    departures.landed()
    sender.join(5)
    assert left == [[1], [2]]


def test_closing_ends_it_with_shards_waiting() -> None:
    departures = departures_of(workers=2, flying=[4])
    departures.add(flights(1)[0])
    departures.close()
    assert list(departures.batches()) == []


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


def test_no_empty_message_leaves_if_the_room_is_gone_after_the_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What arrives meanwhile makes a short stage a long one, of which fewer may leave: an empty submission would fail and count as refused."""
    flying = [2]
    departures = departures_of(workers=2, flying=flying)
    late = flights(5, "a")

    def more_arrive(_: float) -> None:
        while late:
            departures.add(late.pop())
        threading.Timer(0.05, land).start()

    def land() -> None:
        flying[0] = 1
        departures.landed()

    monkeypatch.setattr("samebits.executors.cluster.grouping.time.sleep", more_arrive)
    departures.add(flights(1)[0])
    (batch,) = islice(departures.batches(), 1)
    assert [len(message.shards) for message in batch] == [1]


def kept(number: int, task: object = "a") -> list[Flight]:
    """Shards of a stage whose parts workers keep."""
    return [Flight(Shard(i, 0, i, i + 1), task, None, kept=True) for i in range(number)]


def sent(departures: together.Departures, waiting: list[Flight]) -> list[Message]:
    """Return the messages that leave at once."""
    for flight in waiting:
        departures.add(flight)
    return next(iter(departures.batches()))


def finish(message: Message, *numbers: int) -> None:
    """Let the first so many shards of a list be done."""
    for number in numbers:
        flight = message.group.flights[number]
        flight.end(Done(flight.shard.index, b"", True, "", 0.0, 0.0, "w"))


def test_kept_shards_leave_as_a_list_that_one_message_for_each_worker_shares() -> None:
    messages = sent(departures_of(workers=2, spool="/spool"), kept(70))
    assert [len(message.shards) for message in messages] == [70, 70]
    assert [message.claims(10.0) for message in messages] == [
        Claims("/spool/claims-1", 1, 2, 10.0),
        Claims("/spool/claims-1", 2, 2, 10.0),
    ]


def test_lists_leave_some_for_every_worker_and_a_single_shard_is_no_list() -> None:
    messages = sent(departures_of(workers=100, spool="/spool"), kept(250))
    assert [len(message.shards) for message in messages[:16]] == [20] * 8 + [19] * 8
    assert [message.mark for message in messages[:16]] == [*range(1, 9)] * 2
    (only,) = sent(departures_of(workers=2, spool="/spool"), kept(1))
    assert only.claims(10.0) is None


def test_a_list_has_one_task_and_one_state() -> None:
    other = [Flight(Shard(i, 0, i, i + 1), "a", "another state", kept=True) for i in (2, 3)]
    messages = sent(departures_of(workers=2, spool="/spool"), [*kept(2), *other, *kept(2, "b")])
    assert [[shard.index for shard in message.shards] for message in messages] == [[0, 1]] * 2 + [[2, 3]] * 2


def test_without_a_spool_kept_shards_leave_like_others() -> None:
    assert groups(departures_of(workers=2), kept(3)) == [[0], [1], [2]]


def test_what_a_message_leaves_goes_with_another_one_of_the_same_list() -> None:
    departures = departures_of(workers=2, spool="/spool")
    first, second = sent(departures, kept(4))
    finish(first, 0, 1)
    departures.ended(first, more=True)
    (third,) = sent(departures, [])
    assert (third.group, third.mark, third.group.under_way) == (first.group, 3, 2)
    finish(second, 2, 3)
    departures.ended(second, more=True)
    departures.ended(third)
    departures.add(kept(1, "b")[0])
    (other,) = sent(departures, [])  # nothing is left of the list: no message for it
    assert other.group.flights[0].task == "b"


def test_what_nobody_has_claimed_when_all_have_ended_waits_again() -> None:
    departures = departures_of(workers=2, spool="/spool")
    first, second = sent(departures, kept(5))
    finish(first, 0, 2)
    departures.ended(first)
    departures.ended(second)
    again = sent(departures, [])
    assert [[shard.index for shard in message.shards] for message in again] == [[1, 3, 4]] * 2


def test_after_a_worker_died_what_is_left_of_a_list_travels_alone() -> None:
    departures = departures_of(workers=2, spool="/spool")
    first, second = sent(departures, kept(4))
    finish(first, 0)
    departures.ended(first, more=True)
    departures.part()
    finish(second, 1)
    departures.ended(second)
    again = sent(departures, [])
    assert [([shard.index for shard in message.shards], message.claims(1.0)) for message in again] == [
        ([2], None),
        ([3], None),
    ]
