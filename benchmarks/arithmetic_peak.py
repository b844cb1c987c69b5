"""How much of one core's peak a gradient of the preset uses.

Operations a second of CPU time are divided by those of a loop of nothing but fused multiply-adds, measured in turns. Operations
are counted as usual: the multiply-adds of products by weights and of attention, forward and back (``flops_per_token``). Keys that end
in ``_causal`` count only the half of attention's square that has to be computed. Norms, activations, the loss, embeddings, packing
weights (once for the four shards of a step) and turning activations count as time and as no work. One thread, shards of 512 tokens:
``modern`` is the preset as it is, ``classic`` its size with the classic block and windows of 64 tokens; and a larger model
(6 layers, 384 wide, context 256).
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import REPO, arguments, finish, show_table
from samebits import arithmetic
from samebits.core.seeds import rng_for
from samebits.lm.config import LmConfig
from samebits.lm.model.arch import BLOCKS, Architecture
from samebits.lm.model.definition import record
from samebits.lm.run_settings import resolve
from samebits.lm.training.objective import first_values

NAME = "arithmetic_peak"
FLAGS = {"avx512": "-mavx512f", "avx2": "-mavx2"}
PACKED_FOR = 4  # shards of a step on one core: weights are packed once for all of them
PRESET = resolve(LmConfig(), 65)
CLASSIC: dict[str, Any] = {"vocab": 65, "layers": 4, "heads": 4, "dim": 128, "block": 64, **BLOCKS["classic"]}
LARGE: dict[str, Any] = {
    "vocab": 8192,
    "layers": 6,
    "heads": 6,
    "dim": 384,
    "block": 256,
    **BLOCKS["classic"],
}
SHARDS: dict[str, tuple[Architecture, int]] = {
    "modern": (PRESET.arch, PRESET.rows),
    "classic": (Architecture(**CLASSIC), 8),
    "large": (Architecture(**LARGE), 4),
}


def causal_share(arch: Architecture) -> float:
    """Return the share of the operations that is left when only one half of attention's square counts."""
    full = 12 * arch.layers * arch.dim * arch.block
    half = 6 * arch.layers * arch.dim * (arch.block + 1)
    return (arch.flops_per_token - full + half) / arch.flops_per_token


def shard(name: str) -> tuple[Callable[[], Any], int, float]:
    """Return the gradients of a step as a function, their operations, and the causal share of these."""
    arch, windows = SHARDS[name]
    params = first_values(arch, rng_for(1, "peak"))
    grads = {key: np.zeros_like(value) for key, value in params.items()}
    program = record(arch, params, windows=windows, gradients=True)
    ids = rng_for(2, "peak").integers(arch.vocab, size=(windows, arch.block))

    def step() -> None:
        program.pack()
        for _ in range(PACKED_FOR):
            program.gradient(ids, ids, grads)

    return step, PACKED_FOR * arch.flops_per_token * ids.size, causal_share(arch)


def speed(call: Callable[[], Any], flops: int, seconds: float) -> float:
    """Return GFLOP/s of CPU time."""
    started, done = time.process_time(), 0
    while time.process_time() - started < seconds:
        call()
        done += 1
    return done * flops / (time.process_time() - started) / 1e9


def main() -> None:
    """Measure in turns."""
    options = arguments(__doc__ or "")
    isas = [isa for isa in arithmetic.usable() if isa in FLAGS]
    found: dict[str, dict[str, list[float]]] = {isa: {name: [] for name in ("peak", *SHARDS)} for isa in isas}
    seconds = 0.3 if options.quick else 1.0
    with tempfile.TemporaryDirectory(prefix="samebits-peak-") as folder:
        source = REPO / "benchmarks" / "arithmetic_peak.c"
        for isa in isas:
            command = ["gcc", "-O2", FLAGS[isa], "-mfma", str(source), "-o", str(Path(folder) / isa)]
            subprocess.run(command, check=True)
        shards = {name: shard(name) for name in SHARDS}
        for _ in range(options.rounds):
            for isa in isas:
                arithmetic.use(isa)
                for name, (call, flops, _) in shards.items():
                    call()
                    done = subprocess.run([Path(folder) / isa], capture_output=True, text=True, check=True)
                    found[isa]["peak"].append(float(done.stdout))
                    found[isa][name].append(speed(call, flops, seconds))
    medians = {
        isa: {name: statistics.median(values) for name, values in rows.items()} for isa, rows in found.items()
    }
    table = [
        (isa, name, f"{rate:.1f}", f"{rate / rows['peak']:.1%}")
        for isa, rows in medians.items()
        for name, rate in rows.items()
    ]
    show_table(("instructions", "what", "GFLOP/s", "of the peak"), table)
    ratios = {
        f"{isa}_{name}": rate / rows["peak"]
        for isa, rows in medians.items()
        for name, rate in rows.items()
        if name != "peak"
    }
    ratios |= {f"{key}_causal": share * shards[key.partition("_")[2]][2] for key, share in ratios.items()}
    about = {"gflops": found, "load": os.getloadavg()[0]}
    finish(NAME, equal=True, ratios=ratios, details=about, options=options)


if __name__ == "__main__":
    main()
