"""Run every benchmark, one after the other: ``python -m benchmarks [--quick]``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

NOT_BENCHMARKS = ("__init__", "__main__", "common")
# ends of names: code that benchmarks share, or that runs in a peer's environment
HELPERS = (
    "_data",
    "_check",
    "_model",
    "_peer",
    "_probe",
    "_sim",
)


def main() -> int:
    """Run all scripts of this folder with the same arguments; the exit code is the worst of theirs."""
    scripts = sorted(
        path.stem
        for path in Path(__file__).parent.glob("*.py")
        if path.stem not in NOT_BENCHMARKS and not path.stem.endswith(HELPERS)
    )
    worst = 0
    for script in scripts:
        print(f"== {script}", flush=True)
        worst = max(
            worst, subprocess.run([sys.executable, "-m", f"benchmarks.{script}", *sys.argv[1:]]).returncode
        )
    return worst


if __name__ == "__main__":
    sys.exit(main())
