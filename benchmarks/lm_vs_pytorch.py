"""Training in lockstep against plain PyTorch on the same text and the same cores: tokens a second, and time to a loss.

Part ``speed``: the classic block and AdamW on both sides. Rounds are interleaved: a plain loop written as nanoGPT does it with
PyTorch's default threads, the same compiled, the same under DDP (gloo) with two processes, lockstep with one and with two workers, and
two runs of lockstep with one worker each at the same time: what they make together over what one makes alone is what this
machine's second core is worth (``machine_two_processes``), because they share nothing. As many rounds again follow without the peers:
``two_workers`` and ``machine_two_processes`` are of all rounds, the ratios to peers of those they took part in.

Part ``curves``: the plain recipe at learning rate 1e-3 and at its better one, 4e-3, and the preset (modern block, Muon) with two
workers, in turns of some steps each. Time counts training steps alone, without start-up and validation, on every side. The loss
is that of all windows of the last 10 %. ``time_to_loss_vs_lr1e3`` is the plain recipe's time to 1.94 (or to its own last loss
if it never gets there) divided by the time the preset takes; ``time_to_loss_vs_lr4e3`` the same for 1.75 at 4e-3.
``time_to_loss_vs_version_0_1`` is what the preset of version 0.1 took to its last loss, 1.5907, over what this one takes to it. That
version is not run again: its record has the plain recipe beside it, and took 0.936 of its time for as many steps.

Part ``large``: tokens a second of 6 layers, 384 wide, with a context of 256 and a vocabulary of 8,192 (the ids are those of characters),
batches of 16, classic block and AdamW, against the plain loop, eager.

Part ``avx2``: the classic block as in ``speed`` with both sides kept to AVX2 instructions, against the plain loop, eager.

Part ``memory``: what ``samebits lm train`` with two workers holds at most, command and workers together, for the preset and for the
classic block of its size; a run of its own each, of 10 steps with checkpoints and a validation.

``--only speed``, ``large``, ``avx2``, ``curves`` or ``memory`` measures one part and keeps the others of the last record.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH, RECORDS, arguments, finish, shared_data, show_table, today
from benchmarks.lm_sides import Peer, memory_of, ours, say
from samebits.lm.config import PRESETS

NAME = "lm_vs_pytorch"
TWO_RUNS = "two of lockstep 1"
TOKENS = 32 * 64
WARM_UP = 3  # steps of a run of ours that do not count: first touch of memory
SIZES = {"layers": 4, "heads": 8, "width": 128, "block": 64, "batch": 32}  # those of the peer
CLASSIC = {"kind": "classic", "tensorboard": False, **SIZES}
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
LARGE = {"layers": 6, "heads": 6, "width": 384, "block": 256, "batch": 16, "vocab_size": 8192}
TARGETS = {"lr1e3": 1.94, "lr4e3": 1.75}
PLAIN = {"lr1e3": ["--lr", "1e-3", "--warmup", "100"], "lr4e3": ["--lr", "4e-3", "--warmup", "50"]}
VALIDATE_EVERY = 20
OLD_LOSS, OLD_STEPS = 1.5907, 1000  # of the preset of version 0.1
OLD_SHARE = 133.629 / 142.707  # its time over that of the plain recipe at 1e-3, in its record
START = (0, 0.0, math.log(65))  # every model starts at the loss of guessing


def sgemm(threads: int) -> float:
    """Return GFLOP/s of a product of matrices with so many threads."""
    code = (
        f"import torch,time;torch.set_num_threads({threads});a=torch.ones(1024,1024);torch.mm(a,a);t=time.perf_counter()\n"
        "for _ in range(20): torch.mm(a,a)\nprint(20*2*1024**3/(time.perf_counter()-t)/1e9)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)


def measure_speed(
    data: Path, rounds: int, steps: int, *, with_compile: bool
) -> tuple[dict[str, float], dict[str, Any]]:
    """Return ratios and details of the part ``speed``."""
    modes = ["eager", "compile", "ddp"] if with_compile else ["eager", "ddp"]
    say(f"speed: starting {', '.join(modes)}" + (" (compiling takes about a minute)" if with_compile else ""))
    peers = {mode: Peer(mode, [], data) for mode in modes}
    for peer in peers.values():
        peer.train(WARM_UP)
    names = (*modes, "lockstep 1", "lockstep 2", TWO_RUNS)
    rates: dict[str, list[float]] = {name: [] for name in names}
    runs: list[dict[str, Any]] = []
    updates: list[float] = []
    settings = {**CLASSIC, "steps": steps + WARM_UP, "validate_every": 0, "val_ratio": 0.1}
    for number in range(2 * rounds):
        say(f"speed: round {number + 1} of {2 * rounds}, {steps} steps a side")
        for mode, peer in peers.items() if number < rounds else ():
            rates[mode].append(steps * TOKENS / peer.train(steps))
        for workers in (1, 2):
            run = ours(data, workers, settings)
            rates[f"lockstep {workers}"].append(_rate(run))
            counted = run["steps"][WARM_UP:]
            updates += [step["update"] / step["seconds"] for step in counted if workers == 2]
            runs.append({"workers": workers, **run})
        with ThreadPoolExecutor(2) as pool:
            rates[TWO_RUNS].append(sum(map(_rate, pool.map(lambda _: ours(data, 1, settings), range(2)))))
    for peer in peers.values():
        peer.close()
    say(f"speed: the preset with Muon, {steps} steps")
    preset = ours(data, 2, {**settings, "kind": "modern", "optimizer": "muon"})["steps"][WARM_UP:]
    muon = statistics.median(step["update"] / step["seconds"] for step in preset)
    ratios, details = _speed_figures(rates, runs, updates)
    return ratios, {**details, "share_of_reduce_and_update_with_muon": round(muon, 4)}


def measure_memory(data: Path) -> dict[str, Any]:
    """Return the bytes of the part ``memory``."""
    say("memory: the preset and the classic block")
    flags = {"preset": ["--steps", "10", "--validate-every", "10", "--save-every", "5"]}
    sizes = [text for name, value in SIZES.items() for text in (f"--{name}", str(value))]
    flags["classic"] = [*flags["preset"], "--kind", "classic", *sizes]
    held = {name: memory_of(data, 2, more) for name, more in flags.items()}
    columns = ("all", "private_parent", "private_largest_worker", "shared", "files")
    rows = [(name, *(f"{found[key] / 1e6:.0f} MB" for key in columns)) for name, found in held.items()]
    show_table(("two workers", *columns), rows)
    how = "the most at one of the looks every 0.2 s, as if nothing else ran: private memory, shared memory once, each file once"
    return {"two_workers": held, "how": how}


def measure_large(data: Path, rounds: int, steps: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return ratios and details of the part ``large``."""
    import numpy as np

    peer = Peer("eager", ["--vocab", str(LARGE["vocab_size"])], data, size="large")
    peer.train(1)
    rates: dict[str, list[float]] = {"eager": [], "lockstep 2": []}
    settings = {**CLASSIC, **LARGE, "steps": steps + WARM_UP, "validate_every": 0}
    with tempfile.TemporaryDirectory(prefix="samebits-lm-") as folder:
        text = data.read_text(encoding="utf-8")
        chars = {char: n for n, char in enumerate(sorted(set(text)))}
        binary = Path(folder) / "train.bin"
        np.array([chars[char] for char in text], np.uint16).tofile(binary)
        for number in range(rounds):
            say(f"large: round {number + 1} of {rounds}, {steps} steps a side")
            rates["eager"].append(steps * LARGE["batch"] * LARGE["block"] / peer.train(steps))
            rates["lockstep 2"].append(_rate(ours(binary, 2, settings)))
    peer.close()
    medians = {name: statistics.median(found) for name, found in rates.items()}
    show_table(("large", "tok/s"), [(name, f"{rate:,.0f}") for name, rate in medians.items()])
    about = {
        "tokens_per_second": {name: [round(rate) for rate in found] for name, found in rates.items()},
        "settings": LARGE,
    }
    return {"large_vs_eager": medians["lockstep 2"] / medians["eager"]}, about


def measure_avx2(data: Path, rounds: int, steps: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the ratio and details of the part ``avx2``."""
    peer = Peer("eager", [], data, env=AVX2)
    peer.train(WARM_UP)
    rates: dict[str, list[float]] = {"eager": [], "lockstep 2": []}
    settings = {**CLASSIC, "steps": steps + WARM_UP, "validate_every": 0}
    for number in range(rounds):
        say(f"avx2: round {number + 1} of {rounds}, {steps} steps a side")
        rates["eager"].append(steps * TOKENS / peer.train(steps))
        rates["lockstep 2"].append(_rate(ours(data, 2, settings, env={"SAMEBITS_ISA": "avx2"})))
    peer.close()
    medians = {name: statistics.median(found) for name, found in rates.items()}
    show_table(("AVX2", "tok/s"), [(name, f"{rate:,.0f}") for name, rate in medians.items()])
    about = {"tokens_per_second": {name: [round(rate) for rate in found] for name, found in rates.items()}}
    return {"avx2_vs_eager": medians["lockstep 2"] / medians["eager"]}, {**about, "peer_variables": AVX2}


def _rate(run: dict[str, Any]) -> float:
    """Return tokens a second of a run of ours, without its first steps."""
    counted = run["steps"][WARM_UP:]
    return float(len(counted) * run["tokens_per_step"] / sum(step["seconds"] for step in counted))


def _speed_figures(
    rates: dict[str, list[float]], runs: list[dict[str, Any]], updates: list[float]
) -> tuple[dict[str, float], dict[str, Any]]:
    medians = {name: statistics.median(found) for name, found in rates.items()}
    beside_peers = statistics.median(rates["lockstep 2"][: len(rates["eager"])])
    gemm = {str(threads): sgemm(threads) for threads in (1, 2)}
    flops = runs[0]["flops_per_token"]
    used = {
        name: rate * flops / 1e9 / gemm["1" if name == "lockstep 1" else "2"]
        for name, rate in medians.items()
    }
    ratios = {
        "tokens_per_second_vs_eager": beside_peers / medians["eager"],
        "tokens_per_second_vs_ddp": beside_peers / medians["ddp"],
        **(
            {"tokens_per_second_vs_compile": beside_peers / medians["compile"]}
            if "compile" in medians
            else {}
        ),
        "two_workers": medians["lockstep 2"] / medians["lockstep 1"],
        "machine_two_processes": medians[TWO_RUNS] / medians["lockstep 1"],
    }
    details = {
        "tokens_per_second": {name: [round(rate) for rate in found] for name, found in rates.items()},
        "median_tokens_per_second": {name: round(rate) for name, rate in medians.items()},
        "share_of_sgemm": {name: round(share, 3) for name, share in used.items()},
        "sgemm_gflops": {threads: round(speed, 1) for threads, speed in gemm.items()},
        # what two cores can do at most, by PyTorch's own product of matrices: no worker count gets beyond it
        "second_core_is_worth": round(gemm["2"] / gemm["1"], 3),
        "share_of_reduce_and_update": round(statistics.median(updates), 4),
        "digests": sorted({run["digest"] for run in runs}),
        "parameters": runs[0]["parameters"],
    }
    show_table(
        ("side", "tok/s", "range", "of sgemm"),
        [
            (name, f"{medians[name]:,.0f}", f"{min(found):,.0f}..{max(found):,.0f}", f"{used[name]:.0%}")
            for name, found in rates.items()
        ],
    )
    return ratios, details


def measure_curves(data: Path, horizon: int, turn: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Return ratios and details of the part ``curves``; sides take turns: ``turn`` steps of theirs, the same share of ours."""
    peers = {name: Peer("eager", [*flags, "--horizon", str(horizon)], data) for name, flags in PLAIN.items()}
    curves: dict[str, list[tuple[int, float, float]]] = {name: [START] for name in (*PLAIN, "preset")}
    spent = dict.fromkeys(PLAIN, 0.0)
    steps = PRESETS["shakespeare-char"]["steps"] if horizon == OLD_STEPS else horizon
    preset = {"steps": steps, "validate_every": VALIDATE_EVERY, "tensorboard": False}
    times: list[float] = []
    digest = ""
    with tempfile.TemporaryDirectory(prefix="samebits-lm-") as folder:
        for start in range(0, horizon, turn):
            stop = min(horizon, start + turn)
            say(f"curves: steps {start} to {stop} of {horizon}")
            for name, peer in peers.items():
                while peer.step < stop:
                    spent[name] += peer.train(min(VALIDATE_EVERY, stop - peer.step))
                    curves[name].append((peer.step, spent[name], peer.ask("validate")))
            now = steps * stop // horizon - steps * start // horizon
            run = ours(data, 2, preset, folder=folder, steps_now=now)
            times += _step_times(run["steps"])
            digest = run["digest"]
            curves["preset"] = [
                START,
                *((step, sum(times[:step]), loss) for step, loss in run["validations"]),
            ]
            say(
                "  "
                + ", ".join(
                    f"{name} {curve[-1][2]:.4f} at {curve[-1][1]:.0f} s" for name, curve in curves.items()
                )
            )
    for peer in peers.values():
        peer.close()
    return _curve_figures(curves, digest)


def _step_times(steps: list[dict[str, float]]) -> list[float]:
    """Return seconds of each step; the first ones of a start and those that hold a validation count as the median."""
    seconds = [step["seconds"] for step in steps]
    median = statistics.median(seconds)
    return [
        median if number < WARM_UP or int(step["step"]) % VALIDATE_EVERY == 0 else step["seconds"]
        for number, step in enumerate(steps)
    ]


def reached(curve: list[tuple[int, float, float]], target: float) -> tuple[float, float] | None:
    """Return (step, seconds) at which a curve first is at a loss, between two validations by a straight line.

    >>> reached([(10, 1.0, 3.0), (20, 2.0, 2.0)], 2.5)
    (15.0, 1.5)
    """
    for (a, at, before), (b, then, after) in itertools.pairwise(curve):
        if after <= target:
            share = (before - target) / (before - after)
            return a + share * (b - a), at + share * (then - at)
    return None


def _curve_figures(
    curves: dict[str, list[tuple[int, float, float]]], digest: str
) -> tuple[dict[str, float], dict[str, Any]]:
    ratios: dict[str, float] = {}
    details: dict[str, Any] = {"curves": curves, "preset_digest": digest, "reached": {}}
    rows = []
    for name, target in TARGETS.items():
        own = max(target, curves[name][-1][2])
        theirs, mine = reached(curves[name], own), reached(curves["preset"], own)
        rows.append((name, f"{own:.4f}", _place(theirs), _place(mine)))
        if theirs and mine:
            ratios[f"time_to_loss_vs_{name}"] = theirs[1] / mine[1]
        details["reached"][name] = {"loss": own, "plain": theirs, "preset": mine}
    last, seconds, _ = curves["lr1e3"][-1]
    details["version_0_1"] = old = _against_old(curves["preset"], OLD_SHARE * OLD_STEPS * seconds / last)
    if old["reached"]:
        ratios["time_to_loss_vs_version_0_1"] = old["seconds"] / old["reached"][1]
    rows.append(
        ("preset of 0.1", f"{OLD_LOSS}", f"{old['seconds']:.1f} s (computed)", _place(old["reached"]))
    )
    show_table(("recipe", "loss", "plain", "preset"), rows)
    print(f"preset: loss {old['loss_by_then']:.4f} in the time of that of 0.1")
    for name, curve in curves.items():
        print(f"{name}: loss {curve[-1][2]:.4f} after {curve[-1][0]} steps, {curve[-1][1]:.1f} s of training")
    return ratios, details


def _against_old(curve: list[tuple[int, float, float]], seconds: float) -> dict[str, Any]:
    """Compare with the preset of version 0.1, which took so many seconds to its last loss."""
    by_then = [loss for _, at, loss in curve if at <= seconds]
    return {
        "seconds": seconds,
        "loss_by_then": by_then[-1],
        "reached": reached(curve, OLD_LOSS),
        "loss": OLD_LOSS,
    }


def _place(found: tuple[float, float] | None) -> str:
    return f"{found[1]:.1f} s (step {found[0]:.0f})" if found else "not reached"


def main() -> None:
    """Run the parts, merge them with what the last record has, and write it."""
    options = arguments(__doc__ or "", only="")
    if options.only not in ("", "speed", "large", "avx2", "curves", "memory"):
        sys.exit(f"--only is {options.only!r}; use speed, large, avx2, curves or memory")
    data = shared_data() / "tinyshakespeare.txt"
    BENCH.mkdir(exist_ok=True)
    ratios: dict[str, float] = {}
    details: dict[str, Any] = {}
    old = RECORDS / f"{NAME}.json"
    if options.only and old.exists():
        record = json.loads(old.read_text(encoding="utf-8"))
        ratios, details = dict(record["ratios"]), dict(record["details"])
    if options.only in ("", "speed"):
        steps, rounds = (8, min(2, options.rounds)) if options.quick else (20, options.rounds)
        found, about = measure_speed(data, rounds, steps, with_compile=not options.quick)
        ratios, details = {**ratios, **found}, {**details, "speed": {**about, "measured": today()}}
    if options.only in ("", "large"):
        found, about = measure_large(data, *((1, 2) if options.quick else (options.rounds, 6)))
        ratios, details = {**ratios, **found}, {**details, "large": {**about, "measured": today()}}
    if options.only in ("", "avx2"):
        found, about = measure_avx2(data, *((1, 8) if options.quick else (options.rounds, 20)))
        ratios, details = {**ratios, **found}, {**details, "avx2": {**about, "measured": today()}}
    if options.only in ("", "curves"):
        found, about = measure_curves(data, *((60, 60) if options.quick else (1000, 100)))
        ratios, details = {**ratios, **found}, {**details, "curves": {**about, "measured": today()}}
    if options.only in ("", "memory"):
        details = {**details, "memory": {**measure_memory(data), "measured": today()}}
    equal = len(details.get("speed", {}).get("digests", [""])) == 1
    finish(NAME, equal=equal, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
