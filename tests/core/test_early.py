"""What is begun early is taken once, and a failure shows only where it would have shown anyway."""

import threading

from samebits.machine import early_start as early


def test_equal_keys_are_begun_once() -> None:
    early.begin("once", lambda: "first")
    early.begin("once", lambda: "second")
    assert early.take("once") == "first"
    assert early.take("once") is None


def test_the_taker_waits_for_what_is_not_ready() -> None:
    gate = threading.Event()
    early.begin("slow", lambda: gate.wait(10) and "ready")
    threading.Timer(0.05, gate.set).start()
    assert early.take("slow") == "ready"


def test_what_fails_is_as_if_it_had_not_been_begun() -> None:
    early.begin("bad", lambda: 1 // 0)
    assert early.take("bad") is None
