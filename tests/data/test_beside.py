"""Work on a thread of its own: what comes of it, and what goes wrong."""

from __future__ import annotations

import threading
import weakref

import pytest

from samebits.data.background import Beside


def test_two_go_on_at_a_time_and_give_their_results() -> None:
    together = threading.Barrier(2, timeout=10)
    works = [Beside(together.wait) for _ in range(2)]
    assert sorted(work.result() for work in works) == [0, 1]
    assert sorted(work.result() for work in works) == [0, 1]


def test_an_error_is_raised_for_those_who_ask_for_the_result() -> None:
    work = Beside(lambda: 1 // 0)
    work.wait()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            work.result()


def test_what_the_work_held_is_let_go_when_it_is_done() -> None:
    """Else the arrays of a run live until the garbage collector comes by, and the next run touches new memory."""

    class Held:
        def work(self) -> int:
            return 1

    held = Held()
    gone = weakref.ref(held)
    work = Beside(held.work)
    del held
    assert work.result() == 1
    assert gone() is None


def test_without_a_thread_to_be_had_it_is_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", refuse)
    assert Beside(lambda: 42).result() == 42
