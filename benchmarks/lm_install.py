"""From nothing to a trained model: bytes on disk and seconds, samebits against a plain PyTorch recipe.

Both sides get an empty environment. Ours: pip installs a wheel of this tree (built before the clock starts, as a release would
be; ``--wheel PATH`` takes one that is there) and ``samebits lm train`` makes the steps. Theirs: pip installs NumPy and PyTorch (the
build for CPUs, where pip is set up to find it) and the plain loop of ``lm_plain_peer`` makes as many steps of the same size. Downloads
count, and pip's cache is off, so seconds tell about the network too; bytes do not. ``first_step_seconds`` is the time from the start
of the command to the end of its first step, the best of five commands with two workers.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.common import REPO, arguments, finish, shared_data, show_table

NAME = "lm_install"
TORCH = "torch==2.13.0"


def run(command: list[str], **options: Any) -> None:
    """Run a command that must succeed, silently."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **options)


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def install(folder: Path, packages: list[str]) -> tuple[Path, dict[str, float]]:
    """Make an environment; return its Python, and what it weighs and took."""
    started = time.monotonic()
    run([sys.executable, "-m", "venv", str(folder)])
    python = folder / "bin" / "python"
    run([str(python), "-m", "pip", "install", "--quiet", "--no-cache-dir", *packages])
    seconds = time.monotonic() - started
    (site,) = folder.glob("lib/python*/site-packages")
    return python, {"install_seconds": seconds, "bytes": float(folder_bytes(site))}


def ours(place: Path, wheel: Path, data: Path, steps: int) -> dict[str, float]:
    """Install the wheel, train, and return figures."""
    python, found = install(place / "ours", [str(wheel)])
    started = time.monotonic()
    flags = ["--kind", "classic", "--steps", str(steps), "--validate-every", "0", "--no-progress", "--quiet"]
    run(
        [str(python), "-m", "samebits", "lm", "train", str(data), "-o", str(place / "run"), *flags], cwd=place
    )
    found["train_seconds"] = time.monotonic() - started
    return {**found, "first_step_seconds": min(first_step(python, place, data) for _ in range(5))}


def first_step(python: Path, place: Path, data: Path) -> float:
    """Return seconds from a command to the end of its first step, by the events that the run writes; both clocks are one."""
    output = place / "first"
    flags = ["--steps", "1", "--validate-every", "0", "--no-progress", "--quiet", "--overwrite", "-w", "2"]
    started = time.monotonic()
    run([str(python), "-m", "samebits", "lm", "train", str(data), "-o", str(output), *flags], cwd=place)
    events = map(json.loads, (output / "events.jsonl").read_text(encoding="utf-8").splitlines())
    step = next(event for event in events if event["event"] == "ShardDone" and event["stage"] == "train")
    return float(step["started"] + step["seconds"] - started)


def theirs(place: Path, data: Path, steps: int) -> dict[str, float]:
    """Install PyTorch, train, and return figures."""
    python, found = install(place / "theirs", ["numpy", TORCH])
    started = time.monotonic()
    command = [str(python), str(REPO / "benchmarks" / "lm_plain_peer.py"), "--data", str(data)]
    run(command, input=f"train {steps}\n", text=True, cwd=place)
    return {**found, "train_seconds": time.monotonic() - started}


def main() -> None:
    """Measure both sides once."""
    options = arguments(__doc__ or "", wheel="")
    steps = 20 if options.quick else 200
    data = shared_data() / "tinyshakespeare.txt"
    with tempfile.TemporaryDirectory(prefix="samebits-install-") as folder:
        place = Path(folder)
        wheel = Path(options.wheel).resolve()
        if not options.wheel:
            run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, str(REPO)])
            (wheel,) = place.glob("samebits-*.whl")
        sides = {"samebits": ours(place, wheel, data, steps), "PyTorch": theirs(place, data, steps)}
    rows = [
        (
            name,
            f"{side['bytes'] / 1e6:,.0f} MB",
            f"{side['install_seconds']:.1f} s",
            f"{side['train_seconds']:.1f} s",
        )
        for name, side in sides.items()
    ]
    show_table(("side", "installed", "to install", f"{steps} steps"), rows)
    print(f"samebits: first step after {sides['samebits']['first_step_seconds']:.2f} s")
    totals = {name: side["install_seconds"] + side["train_seconds"] for name, side in sides.items()}
    ratios = {
        "bytes": sides["PyTorch"]["bytes"] / sides["samebits"]["bytes"],
        "seconds_to_a_model": totals["PyTorch"] / totals["samebits"],
    }
    finish(NAME, equal=True, ratios=ratios, details={"sides": sides, "steps": steps}, options=options)


if __name__ == "__main__":
    main()
