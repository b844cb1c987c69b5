"""Reading on several threads gives what reading on one gives, errors too."""

from __future__ import annotations

import threading

import pytest

from samebits.data.inputs.reading import read_each, reading_threads


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("number", [0, 1, 3, 100])
def test_results_are_in_order(threads: int, number: int) -> None:
    with reading_threads(threads):
        assert read_each(lambda i: i * i, range(number)) == [i * i for i in range(number)]


def test_one_thread_is_this_one_and_more_work_at_a_time() -> None:
    together = threading.Barrier(3, timeout=10)
    with reading_threads(1):
        assert read_each(lambda i: threading.current_thread(), range(3)) == [threading.current_thread()] * 3
    with reading_threads(3):
        assert sorted(read_each(lambda i: together.wait(), range(3))) == [0, 1, 2]


@pytest.mark.parametrize("threads", [1, 4])
def test_the_first_error_is_raised_and_nothing_is_begun_after_it(threads: int) -> None:
    begun: list[int] = []

    def read(item: int) -> None:
        begun.append(item)
        if item >= 10:
            raise OSError(f"item {item}")

    with reading_threads(threads), pytest.raises(OSError, match=r"^item 10$"):
        read_each(read, range(1000))
    assert max(begun) < 10 + 2 * threads
