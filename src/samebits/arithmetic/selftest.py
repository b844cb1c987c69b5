"""Does this machine compute what all others do? Golden digests of every kernel, checked in milliseconds before a training run.

Inputs are made of whole numbers, so nothing but the kernels can differ. A machine that gives another digest (a broken
compiler, a processor with a bug, an emulator that flushes small numbers) is refused before it can spoil a result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.arithmetic import _native, functions, matrices, updates
from samebits.arithmetic.network import Network
from samebits.arithmetic.recording.tape import Tape, rotation
from samebits.arithmetic.sequences import (
    Groups,
    choose_loss,
    convolve,
    lstm,
    lstm_parameters,
    pairs,
    with_root,
)
from samebits.errors import EnvironmentMismatch

__all__ = ["GOLDEN", "check_machine", "digests", "numbers"]

Floats = NDArray[np.float32]
GOLDEN = {
    "functions": "bf6b3e00b7f8156332296f8c39353b32",
    "products": "7c864320400d3a80636160d92ec51e3e",
    "updates": "888272bf9ff2c9f6c5c6733331c95bba",
    "modern": "626ca086c7432c7dabfd6820af020a57",
    "classic": "363b0d8a6962f75dc3b1eabc3f3a8a3c",
    "network": "1bc32c7ccca1d962fc8174a53ef82126",
    "ngrams": "02d55d2afcfd927712aa29323ce87ab8",
}
POLYNOMIALS = ((3.4445, -4.775, 2.0315),) * 3


def numbers(*shape: int, salt: int = 0) -> Floats:
    """Return numbers from -1 to 1 that are exact in binary, from whole numbers alone."""
    size = int(np.prod(shape))
    mixed = (np.arange(size, dtype=np.uint64) + np.uint64(977 * salt)) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(40)).astype(np.float32) - np.float32(2**23)).reshape(shape) * np.float32(
        2.0**-23
    )


def _digest(*arrays: NDArray[Any]) -> str:
    hasher = hashlib.sha256()
    for array in arrays:
        hasher.update(np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes())
    return hasher.hexdigest()[:32]


def _functions() -> str:
    x = numbers(200).astype(np.float64)
    found = [
        functions.exp(40 * x),
        functions.log(np.abs(x) + 2.0**-30),
        functions.sin(50 * x),
        functions.cos(50 * x),
    ]
    found += [functions.tanh(3 * x), functions.erf(4 * x), functions.power(np.abs(x) + 0.5, x)]
    return _digest(*found)


def _products() -> str:
    a, b = numbers(37, 75), numbers(75, 70, salt=1)
    total = np.array([matrices.total(a), matrices.sum_squares(b)])
    return _digest(matrices.product(a, b), matrices.product(b, a, transpose_a=True, transpose_b=True), total)


def _updates() -> str:
    p, m, v = numbers(333), numbers(333, salt=1), np.abs(numbers(333, salt=2))
    updates.adamw(p, m, m.copy(), v, scale=0.5, lr=0.01, beta1=0.9, beta2=0.99, eps=1e-8, decay=0.1, step=3)
    updates.sgd(v, p, m, scale=1.0, lr=0.1, momentum=0.9, decay=0.01, nesterov=True)
    matrix, tall = numbers(20, 33), numbers(41, 16, salt=1)
    return _digest(
        p, m, v, updates.orthogonalise(matrix, POLYNOMIALS), updates.orthogonalise(tall, POLYNOMIALS)
    )


def _model(block: int, dim: int, classic: bool) -> str:
    """Gradient and loss of one layer with every operation; windows of ``block`` tokens fill no whole panel."""
    shapes = {
        "table": (29, dim),
        "places": (block, dim),
        "qkv": (3, dim, dim),
        "o": (dim, dim),
        "up": (50, dim),
    }
    shapes |= {"gate": (50, dim), "down": (dim, 50), "wide": (70, dim), "back": (dim, 70), "head": (29, dim)}
    shapes |= {"scale": (dim,)}
    params = {
        name: numbers(*shape, salt=n) * np.float32(0.25) for n, (name, shape) in enumerate(shapes.items())
    }
    tape = Tape(params, windows=2, block=block)
    x = tape.embed("table", "places")
    x = tape.dropout(x, 0.125)
    tape.segment()
    hidden = tape.norm(x, "scale" if classic else "", eps=1e-5)
    qkv = tape.product(hidden, "qkv")
    turns = None if classic else rotation(block + 32, dim // 2)
    qkv = tape.heads(qkv, heads=2, norm_eps=None if classic else 1e-6, turns=turns)
    x = tape.product(tape.attention(qkv, heads=2), "o", add=x)
    hidden = tape.norm(x, eps=1e-6)
    gated = tape.gate(tape.product(hidden, "up"), tape.product(hidden, "gate"))
    x = tape.dropout(tape.product(gated, "down"), 0.125, add=x)
    acted = tape.product(tape.norm(x, eps=1e-6), "wide", activation="gelu" if classic else "relu2")
    x = tape.product(acted, "back", add=x)
    program = tape.finish((x, "table" if classic else "head"))
    ids = (np.arange(2 * block, dtype=np.int64) * 7919 % 29).reshape(2, block)
    grads = {name: np.zeros_like(value) for name, value in params.items()}
    loss = program.gradient(ids, (ids * 3 + 1) % 29, grads, key=0x1234567890ABCDEF)
    return _digest(np.array([loss]), *(grads[name] for name in sorted(grads)))


def _network() -> str:
    """Gradient and loss of a small reader of sequences of different length, with every operation of ``network`` and ``sequences``."""
    firsts = {**lstm_parameters("first", 21, 8), **lstm_parameters("second", 16, 8)}
    shapes = {name: first.shape for name, first in firsts.items()}
    shapes |= {"table": (11, 9), "letters": (7, 5), "filters": (12, 15), "filters.bias": (12,), "root": (16,)}
    shapes |= {"below": (10, 16), "below.bias": (10,), "above": (10, 16), "out": (6, 20)}
    params = {
        name: numbers(*shape, salt=n) * np.float32(0.5) for n, (name, shape) in enumerate(shapes.items())
    }
    groups, words = Groups.of([4, 1, 6, *[2] * 30, 3]), Groups.of([3, 1, 2])
    ids = np.where(groups.mask(), np.arange(groups.panels * 32).reshape(-1, 32) * 7 % 11, -1)
    letters = np.arange((words.panels + 2) * 32).reshape(-1, 32) * 5 % 7
    heads = np.where(groups.mask(), 0, -1)
    network = Network(params)
    grads = {name: np.zeros_like(value) for name, value in params.items()}
    network.start(grads, key=0x1234567890ABCDEF)
    forms = convolve(network, network.embed("letters", letters), words, "filters", "filters.bias")
    x = network.embed_all([("table", ids)], [(forms, np.where(ids >= 0, ids % 3, -1))])
    x = lstm(network, network.dropout(x, 0.25, alike=True), groups, "first")
    x = x + network.dropout(lstm(network, x, groups, "second"), 0.25)
    below = network.relu(network.linear(x, "below", "below.bias"))
    above = network.tanh(network.linear(with_root(network, x, groups, "root"), "above"))
    scores = pairs(network, network.sigmoid(below) * below, above, groups)
    weights = groups.mask() * np.float32(2.0)
    loss = choose_loss(network, scores, groups, heads, weights, norm=7.0, smoothing=0.125)
    seen = network.concat(below, network.gather(above, np.where(ids >= 0, np.arange(32)[None], -1)))
    loss += network.cross_entropy(network.linear(seen, "out"), np.where(ids >= 0, ids % 6, -1))
    number = network.finish(loss)
    return _digest(np.array([number]), *(grads[name] for name in sorted(grads)))


def _ngrams() -> str:
    """Gradient and loss of an embedding of the last tokens alone: pairs with rows of their own, triples with shared ones."""
    shapes = {"table": (13, 20), "pairs": (169, 20), "triples": (50, 20), "head": (13, 20)}
    params = {name: numbers(*shape, salt=n) for n, (name, shape) in enumerate(shapes.items())}
    tape = Tape(params, windows=2, block=37)
    x = tape.ngram(tape.embed("table"), "pairs", length=2, vocab=13)
    program = tape.finish((tape.ngram(x, "triples", length=3, vocab=13), "head"))
    ids = (np.arange(74, dtype=np.int64) ** 2 * 7919 % 101 % 13).reshape(2, 37)
    grads = {name: np.zeros_like(value) for name, value in params.items()}
    loss = program.gradient(ids, (ids * 3 + 1) % 13, grads)
    return _digest(np.array([loss]), *(grads[name] for name in sorted(grads)))


CHECKS: dict[str, Callable[[], str]] = {
    "functions": _functions,
    "products": _products,
    "updates": _updates,
    "modern": lambda: _model(75, 28, classic=False),
    "classic": lambda: _model(40, 24, classic=True),
    "network": _network,
    "ngrams": _ngrams,
}


def digests() -> dict[str, str]:
    """Return the digests that this machine computes now."""
    return {name: check() for name, check in CHECKS.items()}


@cache
def _checked(isa: str) -> tuple[str, ...]:
    found = digests()
    return tuple(name for name, digest in GOLDEN.items() if found[name] != digest)


def check_machine() -> None:
    """Refuse a machine whose kernels differ from those of all others.

    Raises:
        EnvironmentMismatch: names the kernels.
    """
    isa = _native.isa()
    if wrong := _checked(isa):
        raise EnvironmentMismatch(
            f"this machine does not compute arithmetic 1: {', '.join(wrong)} differ (instruction set {isa})",
            hint="try SAMEBITS_ISA=scalar, and report the processor and the compiler",
        )
