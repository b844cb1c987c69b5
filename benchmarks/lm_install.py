"""From nothing to a trained model: bytes on disk and seconds, samebits against a plain PyTorch recipe.

Both sides get an empty environment. Ours: pip installs a wheel of this tree (built before the clock starts, as a release would
be) and ``samebits lm train`` makes the steps. Theirs: pip installs NumPy and PyTorch (the build for CPUs, where pip is set up to
find it) and the plain loop of ``lm_plain_peer`` makes as many steps of the same size. Downloads count, and pip's cache is off,
so seconds tell about the network too; bytes do not.
"""

from __future__ import annotations

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
    flags = ["--model", "classic", "--steps", str(steps), "--validate-every", "0", "--no-progress", "--quiet"]
    run(
        [str(python), "-m", "samebits", "lm", "train", str(data), "-o", str(place / "run"), *flags], cwd=place
    )
    return {**found, "train_seconds": time.monotonic() - started}


def theirs(place: Path, data: Path, steps: int) -> dict[str, float]:
    """Install PyTorch, train, and return figures."""
    python, found = install(place / "theirs", ["numpy", TORCH])
    started = time.monotonic()
    command = [str(python), str(REPO / "benchmarks" / "lm_plain_peer.py"), "--data", str(data)]
    run(command, input=f"train {steps}\n", text=True, cwd=place)
    return {**found, "train_seconds": time.monotonic() - started}


def main() -> None:
    """Measure both sides once."""
    options = arguments(__doc__ or "")
    steps = 20 if options.quick else 200
    data = shared_data() / "tinyshakespeare.txt"
    with tempfile.TemporaryDirectory(prefix="samebits-install-") as folder:
        place = Path(folder)
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
    totals = {name: side["install_seconds"] + side["train_seconds"] for name, side in sides.items()}
    ratios = {
        "bytes": sides["PyTorch"]["bytes"] / sides["samebits"]["bytes"],
        "seconds_to_a_model": totals["PyTorch"] / totals["samebits"],
    }
    finish(NAME, equal=True, ratios=ratios, details={"sides": sides, "steps": steps}, options=options)


if __name__ == "__main__":
    main()
