"""What cutting a compressed file gains: `count` on 200 MB of text as one plain .gz, whole and cut, with one and two workers.

It has no peer. ``whole`` is how a ``.gz`` was read before: one shard. ``first`` makes the index of restart points, ``later`` finds it
in the cache. ``equal`` says that all gave one digest. The ratios are seconds of ``whole`` over seconds of the other with two workers.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import arguments, finish, interleave, show_table
from benchmarks.scale_data import zipf_text
from samebits.api import run
from samebits.core.options import RunOptions
from samebits.count.config import CountConfig
from samebits.data.compressed import opening

DRAWN_BYTES = 20_000_000  # then repeated, far beyond the 32 KiB that deflate looks back
WAYS = ("whole", "first", "later")


def write_corpus(path: Path, megabytes: int) -> None:
    """Write words that are as unequally frequent as those of real text."""
    drawn = zipf_text(min(DRAWN_BYTES, megabytes * 1_000_000)) + b"\n"
    with gzip.open(path, "wb", compresslevel=6) as file:
        for _ in range(-(-megabytes * 1_000_000 // len(drawn))):
            file.write(drawn)


def count(way: str, workers: int, corpus: Path, scratch: Path, digests: list[str]) -> None:
    """Count once; the cache is emptied before a first run."""
    if way == "first":
        shutil.rmtree(scratch / "cache", ignore_errors=True)
    usual = opening.LEAST_BYTES
    opening.LEAST_BYTES = 1 << 62 if way == "whole" else usual
    try:
        config, options = CountConfig(inputs=(str(corpus),)), RunOptions(workers=str(workers), overwrite=True)
        record = run("count", config, output=scratch / "out", options=options)
    finally:
        opening.LEAST_BYTES = usual
    digests.append(record.artifact_digest)


def main() -> None:
    """Measure, report."""
    options = arguments(__doc__.splitlines()[0])
    megabytes = 60 if options.quick else 200
    digests: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        os.environ["SAMEBITS_CACHE_DIR"] = str(scratch / "cache")
        write_corpus(scratch / "words.txt.gz", megabytes)
        sides: dict[str, Callable[[], Any]] = {
            f"{way} {workers}": partial(count, way, workers, scratch / "words.txt.gz", scratch, digests)
            for workers in (1, 2)
            for way in WAYS
        }
        timings = interleave(sides, rounds=options.rounds)
    best = {name: {"wall": min(found.wall), "cpu": min(found.cpu)} for name, found in timings.items()}
    rows = [[name, f"{found['wall']:.2f} s", f"{found['cpu']:.2f} s"] for name, found in best.items()]
    show_table(["way and workers", "seconds", "CPU seconds"], rows)
    equal = len(set(digests)) == 1
    print(f"equal: {equal}")
    ratios = {way: best["whole 2"]["wall"] / best[f"{way} 2"]["wall"] for way in WAYS[1:]}
    details = {
        "best_seconds": best,
        "rounds": options.rounds,
        "megabytes": megabytes,
        "load_average": os.getloadavg()[0],
    }
    finish("compressed", equal=equal, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
