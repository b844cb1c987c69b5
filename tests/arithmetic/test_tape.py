"""Recorded models: the committed digests, the same logits token by token, and nothing that depends on how the work is cut."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from samebits import arithmetic
from samebits.arithmetic import matrices, selftest
from samebits.arithmetic.recording.program import Program
from samebits.arithmetic.recording.tape import Tape, rotation
from samebits.arithmetic.selftest import numbers
from samebits.errors import EnvironmentMismatch

VOCAB, DIM, HEADS = 31, 24, 2


def params() -> dict[str, Any]:
    shapes = {
        "table": (VOCAB, DIM),
        "qkv": (3, DIM, DIM),
        "o": (DIM, DIM),
        "up": (40, DIM),
        "down": (DIM, 40),
    }
    return {name: numbers(*shape, salt=n) * np.float32(0.3) for n, (name, shape) in enumerate(shapes.items())}


def record(weights: dict[str, Any], *, windows: int, block: int, **options: Any) -> Program:
    """Two layers that share their weights: gradients of a weight used twice are not asked for."""
    tape = Tape(weights, windows=windows, block=block, **options)
    x = tape.norm(tape.embed("table"), eps=1e-6)
    turns = rotation(options.get("cache", 0) + block + 32, DIM // HEADS)
    for _ in range(2 if not options.get("gradients", True) else 1):
        tape.segment()
        qkv = tape.product(tape.norm(x, eps=1e-6), "qkv")
        qkv = tape.heads(qkv, heads=HEADS, norm_eps=1e-6, turns=turns)
        x = tape.product(tape.attention(qkv, heads=HEADS), "o", add=x)
        x = tape.product(tape.product(tape.norm(x, eps=1e-6), "up", activation="gelu"), "down", add=x)
    tape.segment()
    return tape.finish((tape.norm(x, eps=1e-6), "table"))


def ids(windows: int, block: int) -> Any:
    return (np.arange(windows * block, dtype=np.int64) * 7919 % VOCAB).reshape(windows, block)


@pytest.mark.parametrize("isa", arithmetic.usable())
def test_the_bits_are_those_of_every_other_machine(isa: str) -> None:
    arithmetic.use(isa)
    assert selftest.digests() == selftest.GOLDEN


def test_a_machine_that_differs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    selftest.check_machine()
    monkeypatch.setitem(selftest.GOLDEN, "updates", "0" * 32)
    selftest._checked.cache_clear()
    with pytest.raises(EnvironmentMismatch, match="updates differ"):
        selftest.check_machine()
    selftest._checked.cache_clear()


def test_a_library_that_flushes_small_numbers_changes_nothing() -> None:
    torch = pytest.importorskip("torch")
    tiny = np.full((1, 1), 2.0**-100, np.float32)
    assert torch.set_flush_denormal(True)
    try:
        assert float(np.float32(2.0**-100) * np.float32(2.0**-40)) == 0.0  # the thread does flush
        assert matrices.product(tiny, np.full((1, 1), 2.0**-40, np.float32))[0, 0].view(np.uint32) == 512
        found = selftest.digests()
    finally:
        torch.set_flush_denormal(False)
    assert found == selftest.GOLDEN


@pytest.mark.parametrize("length", [1, 31, 64, 70, 150])
def test_reading_on_gives_the_bits_of_reading_at_once(length: int) -> None:
    weights, text = params(), ids(1, length)[0]
    whole = record(weights, windows=1, block=length, gradients=False).logits(text)
    cached = record(weights, windows=1, block=32, gradients=False, cache=length)
    for pieces in ((1,) * length, (32,) * 5, (3, 29, 30, 32, 17, 1, 1, 31, 32)):
        found, start = [], 0
        for piece in pieces:
            part = text[start : start + piece]
            if len(part):
                found.append(cached.logits(np.ascontiguousarray(part), start=start).copy())
            start += len(part)
        assert np.concatenate(found).tobytes() == np.ascontiguousarray(whole[:start]).tobytes()


def gradients(program: Program, weights: dict[str, Any], windows: int, block: int) -> bytes:
    found = {name: np.full_like(value, np.nan) for name, value in weights.items()}
    x = ids(windows, block)
    loss = program.gradient(x, (x * 5 + 2) % VOCAB, found)
    assert np.isfinite(loss)
    return np.float64(loss).tobytes() + b"".join(value.tobytes() for value in found.values())


@pytest.mark.parametrize("block", [5, 32, 48, 200])
def test_the_size_of_a_chunk_changes_no_bit(block: int) -> None:
    weights = params()
    program = record(weights, windows=6, block=block)
    first = gradients(program, weights, 6, block)
    for chunk in range(1, program.chunk + 1):
        program.chunk = chunk
        assert gradients(program, weights, 6, block) == first


def test_two_products_that_narrow_have_gradients_of_their_own_wherever_segments_end() -> None:
    weights = params() | {"wide": numbers(50, DIM, salt=7), "back": numbers(DIM, 50, salt=8)}
    found = []
    for border in (False, True):
        tape = Tape(weights, windows=6, block=48)
        x = tape.norm(tape.embed("table"), eps=1e-6)
        tape.segment()
        x = tape.product(tape.product(tape.norm(x, eps=1e-6), "up", activation="gelu"), "down", add=x)
        if border:
            tape.segment()
        x = tape.product(tape.product(tape.norm(x, eps=1e-6), "wide", activation="gelu"), "back", add=x)
        used = {name: weights[name] for name in ("table", "up", "down", "wide", "back")}
        found.append(gradients(tape.finish((x, "table")), used, 6, 48))
    assert found[0] == found[1]


def test_a_larger_batch_takes_no_more_memory_but_for_the_gradient_of_a_tied_table() -> None:
    few, many = (record(params(), windows=windows, block=128).num_bytes for windows in (2, 50))
    assert many - few == 48 * 128 * DIM * 4


def test_fewer_windows_than_there_is_room_for() -> None:
    weights = params()
    roomy, tight = (record(weights, windows=windows, block=20) for windows in (7, 3))
    assert gradients(roomy, weights, 3, 20) == gradients(tight, weights, 3, 20)


def test_changed_parameters_count_after_packing() -> None:
    weights = params()
    program = record(weights, windows=2, block=20)
    before = gradients(program, weights, 2, 20)
    weights["up"] *= 2
    program.pack()
    after = gradients(program, weights, 2, 20)
    assert after != before
    assert after == gradients(record(weights, windows=2, block=20), weights, 2, 20)


def test_the_sum_of_losses_is_that_of_the_gradient() -> None:
    weights = params()
    program = record(weights, windows=2, block=45)
    x = ids(2, 45)
    mean = np.frombuffer(gradients(program, weights, 2, 45)[:8])[0]
    assert program.sum_of_losses(x, (x * 5 + 2) % VOCAB) / x.size == mean


def test_what_does_not_fit_is_refused() -> None:
    weights = params()
    program = record(weights, windows=2, block=20)
    x = ids(2, 20)
    with pytest.raises(ValueError, match="outside 0 to 30"):
        program.sum_of_losses(x + 20, x)
    with pytest.raises(ValueError, match="not windows of 20"):
        program.sum_of_losses(x[:, :7], x[:, :7])
    with pytest.raises(ValueError, match="3 windows in a program for up to 2"):
        program.sum_of_losses(ids(3, 20), ids(3, 20))
    with pytest.raises(ValueError, match="21 tokens after 0"):
        program.logits(ids(1, 21)[0])
    cached = record(weights, windows=1, block=32, gradients=False, cache=12)
    for start, length in ((0, 13), (12, 1), (-1, 1), (0, 0)):
        with pytest.raises(ValueError, match=f"{length} tokens after {start}"):
            cached.logits(ids(1, 20)[0][:length], start=start)
    with pytest.raises(ValueError, match="recorded without gradients"):
        record(weights, windows=2, block=20, gradients=False).gradient(x, x, weights)
    with pytest.raises(ValueError, match="not a float32 array of the same shape"):
        program.gradient(x, x, {name: value[:1] for name, value in weights.items()})
    with pytest.raises(ValueError, match="multiplies 40 rows"):
        Tape(weights, windows=1, block=4).product(Tape(weights, windows=1, block=4).embed("table"), "down")
    with pytest.raises(ValueError, match="float32"):
        Tape({"table": weights["table"].astype(np.float64)}, windows=1, block=4)


def test_dropout_drops_its_share_and_keeps_the_mean() -> None:
    table = np.ones((1, 64), np.float32)
    head = np.zeros((2, 64), np.float32)
    tape = Tape({"table": table, "head": head}, windows=8, block=64)
    program = tape.finish((tape.dropout(tape.embed("table"), 0.25), "head"))
    grads = {"table": np.zeros_like(table), "head": np.zeros_like(head)}
    x = np.zeros((8, 64), np.int64)
    program.gradient(x, x, grads, key=99)
    kept = -2 * grads["head"][0]  # mean over tokens of what is left of ones
    assert abs(float(kept.mean()) - 1) < 0.02
    assert float(kept.std()) < 0.06
    other = {name: value.copy() for name, value in grads.items()}
    program.gradient(x, x, other, key=100)
    assert not np.array_equal(other["head"], grads["head"])
