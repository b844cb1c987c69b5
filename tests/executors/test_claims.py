"""Claims: every shard of a list is taken once, whoever shares it, dies on the way or runs again."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from samebits.executors.cluster.claims import ClaimedShards, Claims, claimed_by


def claims_of(folder: Path, mark: int = 1, number: int = 2, seconds: float = 60.0) -> Claims:
    return Claims(str(folder / "claims-1"), mark, number, seconds)


def test_messages_take_turns_and_each_shard_is_taken_once(tmp_path: Path) -> None:
    one, two = (iter(ClaimedShards(claims_of(tmp_path, mark), 5)) for mark in (1, 2))
    assert [next(one), next(two), next(two), next(one), next(two)] == [0, 1, 2, 3, 4]
    assert (list(one), list(two)) == ([], [])
    assert (claimed_by(str(tmp_path / "claims-1"), 1), claimed_by(str(tmp_path / "claims-1"), 2)) == (
        {0, 3},
        {1, 2, 4},
    )


def test_threads_of_one_process_do_not_take_the_same(tmp_path: Path) -> None:
    taken: list[int] = []

    def take(mark: int) -> None:
        taken.extend(ClaimedShards(claims_of(tmp_path, mark, number=8), 2000))

    threads = [threading.Thread(target=take, args=(mark,)) for mark in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(2000))


def test_a_message_that_runs_again_keeps_its_claims_and_takes_no_others(tmp_path: Path) -> None:
    first = iter(ClaimedShards(claims_of(tmp_path, 1), 4))
    assert [next(first), next(first)] == [0, 1]
    assert list(ClaimedShards(claims_of(tmp_path, 2), 4)) == [2, 3]
    assert list(ClaimedShards(claims_of(tmp_path, 1), 4)) == [0, 1]


def test_when_its_time_is_up_a_message_says_that_it_has_left_some(tmp_path: Path) -> None:
    share = ClaimedShards(claims_of(tmp_path, seconds=0.01), 3)
    taken = []
    for place in share:
        taken.append(place)
        time.sleep(0.02)
    assert (taken, share.more) == ([0], True)
    late = ClaimedShards(claims_of(tmp_path, 2), 3)
    assert (list(late), late.more) == ([1, 2], False)


def test_without_a_file_each_message_runs_its_share(tmp_path: Path) -> None:
    shares = [list(ClaimedShards(claims_of(tmp_path / "gone", mark), 5)) for mark in (1, 2)]
    assert shares == [[0, 2, 4], [1, 3]]
    assert claimed_by(str(tmp_path / "gone" / "claims-1"), 1) == set()


def test_without_locks_each_message_runs_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.lockf", no_locks)
    assert list(ClaimedShards(claims_of(tmp_path, 2), 5)) == [1, 3]
