"""Time exact mode inside one process, as a program that uses the library meets it: arguments ROUNDS FOLDER SMALL LARGE.

A process of its own, because thread caps and malloc have to be set before NumPy is loaded, as the command does. One round
trains on SMALL with one worker and on LARGE with one and with two, after one round that is not counted: it loads modules
and touches memory for the first time. Each training makes a new folder, as a user's does: putting the output in the place of
an old one would time the removal of the old one as well. The folders are removed when all is timed. Prints the seconds of each
side as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from samebits.machine.caps import cap_threads, keep_freed_memory

__all__ = ["SETTINGS", "main"]

SETTINGS = [1, 0.2, 0.2]  # cycles, confidence, margin


def train(data: Path, outputs: Iterator[Path], workers: int) -> None:
    """Train into the next folder."""
    from samebits import RunOptions, run
    from samebits.langid.config import LangidConfig

    cycles, confidence, margin = SETTINGS
    config = LangidConfig(
        inputs=(str(data),),
        mode="exact",
        cycles=int(cycles),
        base_confidence=confidence,
        confidence_margin=margin,
    )
    run("langid", config, output=next(outputs), options=RunOptions(workers=str(workers)))


def main() -> None:
    """Take turns."""
    cap_threads()
    keep_freed_memory()
    from benchmarks.common import interleave

    rounds, folder, small, large = int(sys.argv[1]), *map(Path, sys.argv[2:])
    with TemporaryDirectory(dir=folder) as place:
        outputs = (Path(place) / str(number) for number in count())
        sides = {
            "here": partial(train, small, outputs, 1),
            "one": partial(train, large, outputs, 1),
            "two": partial(train, large, outputs, 2),
        }
        timings = interleave(sides, rounds=rounds + 1)
    print(json.dumps({name: timing.wall[1:] for name, timing in timings.items()}))


if __name__ == "__main__":
    main()
