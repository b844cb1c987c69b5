"""Time exact mode inside one process, as a program that uses the library meets it: arguments ROUNDS FOLDER SMALL LARGE.

A process of its own, because thread caps and malloc have to be set before NumPy is loaded, as the command does. One round
trains on SMALL with one worker and on LARGE with one and with two, after one round that is not counted: it loads modules
and touches memory for the first time. Prints the seconds of each side as JSON.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

from samebits.executors.caps import cap_threads, keep_freed_memory, share_freed_memory

__all__ = ["SETTINGS", "main"]

SETTINGS = [1, 0.2, 0.2]  # cycles, confidence, margin


def train(data: Path, output: Path, workers: int) -> None:
    """Train into a folder that is replaced."""
    from samebits import RunOptions, run
    from samebits.jobs.langid.config import LangidConfig

    cycles, confidence, margin = SETTINGS
    config = LangidConfig(
        inputs=(str(data),),
        mode="exact",
        cycles=int(cycles),
        base_confidence=confidence,
        confidence_margin=margin,
    )
    run("langid", config, output=output, options=RunOptions(workers=str(workers), overwrite=True))


def main() -> None:
    """Take turns."""
    cap_threads()
    keep_freed_memory()
    share_freed_memory()
    from benchmarks.common import interleave

    rounds, folder, small, large = int(sys.argv[1]), *map(Path, sys.argv[2:])
    sides = {
        "here": partial(train, small, folder / "here", 1),
        "one": partial(train, large, folder / "here", 1),
        "two": partial(train, large, folder / "here", 2),
    }
    timings = interleave(sides, rounds=rounds + 1)
    print(json.dumps({name: timing.wall[1:] for name, timing in timings.items()}))


if __name__ == "__main__":
    main()
