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
from samebits.arithmetic.tape import Tape, rotation
from samebits.errors import EnvironmentMismatch

__all__ = ["GOLDEN", "check_machine", "digests", "numbers"]

Floats = NDArray[np.float32]
GOLDEN = {
    "functions": "bf6b3e00b7f8156332296f8c39353b32",
    "products": "7c864320400d3a80636160d92ec51e3e",
    "updates": "888272bf9ff2c9f6c5c6733331c95bba",
    "modern": "0691093caaa17224ec24ee745d5b6539",
    "classic": "f346870cd6c56f57db275cb7ed81dadf",
}
POLYNOMIALS = ((3.4445, -4.775, 2.0315),) * 3


def numbers(*shape: int, salt: int = 0) -> Floats:
    """Return numbers from -1 to 1 that are exact in binary, from whole numbers alone."""
    size = int(np.prod(shape))
    mixed = (np.arange(size, dtype=np.uint64) + np.uint64(977 * salt)) * np.uint64(0x9E3779B97F4A7C15)
    return ((mixed >> np.uint64(40)).astype(np.float32) - 2**23).reshape(shape) * np.float32(2.0**-23)


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


CHECKS: dict[str, Callable[[], str]] = {
    "functions": _functions,
    "products": _products,
    "updates": _updates,
    "modern": lambda: _model(75, 28, classic=False),
    "classic": lambda: _model(40, 24, classic=True),
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
