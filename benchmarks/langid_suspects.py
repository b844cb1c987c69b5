"""The search of `langid train` for suspects on one core: samebits against version 0.1.

Both sides train backoff mode on the same rows in turn, each in a process of its own, and search twice; a side's seconds are CPU
seconds of the faster search. ``strings`` are the interface strings in 86 languages, ``world`` every thirteenth row of the world corpus; the ratio
keys are theirs / ours, medians over rounds. ``equal`` says that every round found the suspects of the first. Suspects of
0.1 and ours may differ by a few, because 0.1 splits some words differently. ``--before FOLDER`` names a checkout of 0.1 with compiled kernels:
python -m benchmarks.langid_suspects --before FOLDER
"""

from __future__ import annotations

import gzip
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from release.langid_rows import corpus_rows

from benchmarks.common import BENCH, REPO, arguments, finish, shared_data, show_table
from benchmarks.others import Others

__all__ = ["main"]

FOLDER = BENCH / "langid_suspects"
EVERY = 13  # of the world's rows: 200,304
CALLS = 2


def inputs(*, quick: bool) -> dict[str, Path]:
    """Write the rows that both sides read."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    strings, world = FOLDER / "strings.jsonl", FOLDER / "world.jsonl"
    strings.write_bytes(gzip.decompress((shared_data() / "ui-strings-86.jsonl.gz").read_bytes()))
    if quick:
        return {"strings": strings}
    with world.open("w", encoding="utf-8") as file:
        for number, row in enumerate(corpus_rows(shared_data() / "world" / "world.jsonl.zst")):
            if number % EVERY == 0:
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return {"strings": strings, "world": world}


def search(tree: Path, rows: Path) -> dict[str, Any]:
    """Train with the samebits of a tree."""
    script = REPO / "benchmarks" / "langid_suspects_peer.py"
    command = [sys.executable, str(script), str(rows), str(CALLS)]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(command, check=True, cwd=tree, env=environment, stdout=subprocess.PIPE)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def main() -> None:
    """Time both sides in turn and write the record."""
    options = arguments((__doc__ or "").splitlines()[0], before="")
    if not options.before:
        raise SystemExit(
            "langid_suspects needs --before FOLDER, a checkout of version 0.1 with compiled kernels"
        )
    trees = {"before": Path(options.before).resolve(), "ours": REPO}
    rows = inputs(quick=options.quick)
    seconds: dict[str, list[float]] = {f"{side}_{name}": [] for name in rows for side in trees}
    suspects: dict[str, set[tuple[int, str]]] = {key: set() for key in seconds}
    others = Others()
    for _ in range(options.rounds):
        for name, path in rows.items():
            for side, tree in trees.items():
                answer = search(tree, path)
                seconds[f"{side}_{name}"].append(min(answer["seconds"]))
                suspects[f"{side}_{name}"].add((answer["suspects"], answer["digest"]))
    ratios = {
        name: [x / y for x, y in zip(seconds[f"before_{name}"], seconds[f"ours_{name}"], strict=True)]
        for name in rows
    }
    table = [
        [
            name,
            *(f"{statistics.median(seconds[f'{side}_{name}']):.3f}" for side in trees),
            f"{statistics.median(ratios[name]):.2f}",
            f"{min(ratios[name]):.2f} to {max(ratios[name]):.2f}",
        ]
        for name in rows
    ]
    show_table(["rows", "0.1, s", "ours, s", "times as fast", "spread"], table)
    finish(
        "langid_suspects",
        equal=all(len(found) == 1 for found in suspects.values()),
        ratios={name: statistics.median(ratios[name]) for name in rows},
        details={
            "seconds": seconds,
            "suspects": {key: sorted(number for number, _ in found) for key, found in suspects.items()},
            "others_seconds": others.seconds(),
        },
        options=options,
    )


if __name__ == "__main__":
    main()
