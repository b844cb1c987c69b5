"""Other compilers, other optimisation, another processor: the same model gives the same bits without Python.

A recorded model is written to a file with its memory, and a small C program runs it; ARM is emulated where qemu is installed.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from samebits import arithmetic
from samebits.arithmetic import functions, matrices, runner, updates
from samebits.arithmetic.recording.tape import Tape, rotation
from samebits.arithmetic.selftest import numbers

HERE = Path(__file__).resolve().parent
NATIVE = Path(arithmetic.__file__).resolve().parent / "native"
FLAGS = ["-std=gnu11", "-ffp-contract=off", "-fno-math-errno", f"-I{NATIVE}"]
POINTERS_1 = ("x", "out", "other", "slope", "x_slope", "x_grad", "out_grad", "other_grad", "around")
POINTERS_2 = ("weight", "weight_grad", "second", "second_grad", "packed", "turned", "flipped", "saved", "cosines", "sines", "cache")  # fmt: skip
BUILDS = {
    "gcc -O1": ["gcc", "-O1"],
    "gcc -O3": ["gcc", "-O3"],
    "gcc -O2, caller flushes": ["gcc", "-O2", "-DFLUSH"],
    "clang -O1": ["clang", "-O1"],
    "clang -O3": ["clang", "-O3"],
    "aarch64 gcc -O3": ["aarch64-linux-gnu-gcc", "-O3", "-static"],
}
KEY, BLOCK, WINDOWS, DIM, VOCAB = 12345, 70, 3, 40, 33


def fnv(data: bytes) -> int:
    hashed = 0xCBF29CE484222325
    for byte in data:
        hashed = (hashed ^ byte) * 0x100000001B3 % 2**64
    return hashed


def other_kernels() -> bytes:
    """What foreign.c computes besides the model: products, updates, functions."""
    a, b, c = (numbers(900, salt=salt) for salt in range(3))
    v = np.abs(a)
    found = matrices.product(a.reshape(30, 30), b.reshape(30, 30), transpose_b=True).tobytes()
    constants = {"lr": 2.0**-6, "beta1": 0.75, "beta2": 0.875, "eps": 2.0**-20, "decay": 16.0}
    updates.adamw(a, b, c, v, scale=0.5, step=1, **constants)
    updates.sgd(b, c, v, scale=0.5, lr=0.25, momentum=0.875, decay=0.125, nesterov=True)
    for shape in ((30, 30), (60, 15), (25, 36)):
        found += updates.orthogonalise(a.reshape(shape), ((3.5, -4.75, 2.0),) * 3).tobytes()
    x = numbers(200).astype(np.float64)
    columns = [
        functions.exp(40 * x),
        functions.log(np.abs(x) + 2.0**-30),
        functions.sin(50 * x),
        functions.cos(50 * x),
    ]
    columns += [functions.tanh(3 * x), functions.erf(4 * x), functions.power(np.abs(x) + 0.5, x)]
    return found + a.tobytes() + b.tobytes() + np.stack(columns, 1).tobytes()


def write_model(path: Path) -> str:
    """Record a model with most operations, write it to a file, and return the digest that this process computes."""
    shapes = {
        "table": (VOCAB, DIM),
        "places": (BLOCK, DIM),
        "qkv": (3, DIM, DIM),
        "o": (DIM, DIM),
        "up": (100, DIM),
    }
    shapes |= {
        "down": (DIM, 100),
        "wide": (50, DIM),
        "gate": (50, DIM),
        "back": (DIM, 50),
        "scale": (DIM,),
        "head": (VOCAB, DIM),
        "pairs": (90, DIM),
    }
    sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
    flat = np.zeros((2, sum(sizes.values())), np.float32)
    params, grads, at = {}, {}, 0
    for n, (name, shape) in enumerate(shapes.items()):
        params[name], grads[name] = (row[at : at + sizes[name]].reshape(shape) for row in flat)
        params[name][...] = numbers(*shape, salt=n) * np.float32(0.3)
        at += sizes[name]
    params["head"][3:] *= np.float32(2.0**-110)  # subnormal gradients
    turns = rotation(BLOCK + 32, DIM // 4)
    tape = Tape(params, windows=WINDOWS, block=BLOCK)
    x = tape.ngram(tape.embed("table", "places"), "pairs", length=2, vocab=VOCAB)
    x = tape.dropout(x, 0.125)
    tape.segment()
    qkv = tape.heads(
        tape.product(tape.norm(x, "scale", eps=1e-5), "qkv"), heads=4, norm_eps=1e-6, turns=turns
    )
    x = tape.product(tape.attention(qkv, heads=4), "o", add=x)
    x = tape.product(tape.product(tape.norm(x, eps=1e-6), "up", activation="gelu"), "down", add=x)
    hidden = tape.norm(x, eps=1e-6)
    x = tape.product(tape.gate(tape.product(hidden, "wide"), tape.product(hidden, "gate")), "back", add=x)
    program = tape.finish((x, "head"))
    ids = np.arange(WINDOWS * BLOCK, dtype=np.int64).reshape(WINDOWS, BLOCK) * 7919 % VOCAB
    both = np.stack([ids, (ids * 5 + 2) % VOCAB])
    program.gradient(both[0], both[1], grads, key=KEY)
    loss = runner.gradient(  # the sum, as foreign.c has it
        program._bytes, both[0], both[1], chunk=program.chunk, work=program._work, key=KEY
    )
    hashed = fnv(np.float64(loss).tobytes() + flat[1].tobytes())
    _write(
        path, program, [flat, program._arena._floats, turns[0], turns[1], program._work, both], both, flat[1]
    )
    return f"{hashed:016x}-{fnv(other_kernels()):016x}"


def _write(path: Path, program: Any, arrays: list[Any], ids: Any, grads: Any) -> None:
    starts, size = [], 0
    for array in arrays:
        starts.append(size)
        size += -(-array.nbytes // 64) * 64

    def place(address: int) -> int:
        for array, start in zip(arrays, starts, strict=True):
            if 0 <= address - array.ctypes.data < array.nbytes:
                return int(start + address - array.ctypes.data)
        raise AssertionError(address)

    records = program._records.copy()
    for record in records:
        for name in (*POINTERS_1, *POINTERS_2):
            if record[name]:
                record[name] = place(int(record[name])) + 1
    memory = np.zeros(size, np.uint8)
    for array, start in zip(arrays, starts, strict=True):
        memory[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
    head = [
        len(records),
        size,
        place(grads.ctypes.data),
        grads.nbytes,
        place(ids.ctypes.data),
        KEY,
        WINDOWS,
        BLOCK,
    ]
    head += [program.chunk, place(program._work.ctypes.data)]
    path.write_bytes(np.array(head, "<i8").tobytes() + records.tobytes() + memory.tobytes())


@pytest.mark.builds
@pytest.mark.timeout(900)
@pytest.mark.parametrize("build", BUILDS)
def test_every_build_gives_the_same_bits(build: str, tmp_path: Path) -> None:
    compiler, *flags = BUILDS[build]
    emulator = ["qemu-aarch64-static"] if "aarch64" in compiler else []
    for program in (compiler, *emulator):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    expected = write_model(tmp_path / "model.bin")
    sources = [str(path) for path in sorted(NATIVE.glob("*.c"))]
    binary = tmp_path / "foreign"
    subprocess.run(
        [compiler, *flags, *FLAGS, str(HERE / "foreign.c"), *sources, "-o", str(binary), "-lm"], check=True
    )
    run = subprocess.run(
        [*emulator, str(binary), str(tmp_path / "model.bin")], check=True, capture_output=True, text=True
    )
    found = dict(line.split() for line in run.stdout.splitlines())
    assert "scalar" in found
    assert ("neon" if emulator else arithmetic.usable()[0]) in found
    assert set(found.values()) == {expected}
