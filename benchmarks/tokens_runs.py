"""The rounds of ``tokens_vs_peers``: which of them count, medians, ratios.

A round of a group is every side of it once, in turn. It counts if, over all its sides together, others used less than
``MOST_OTHERS`` of one core (``benchmarks.others``): known before any ratio is looked at, and the same for all groups. The quick form counts
every round.
"""

from __future__ import annotations

import hashlib
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import samebits

__all__ = ["FAMILIES", "GROUPS", "MOST_OTHERS", "Run", "Runs", "code_digest", "group_of"]

MOST_OTHERS = 0.05
GROUPS = ("small", "large", "workers", "middle", "long", "families", "puzzles")
FAMILIES = {
    "sentencepiece_bpe": "pieces like Llama 2",
    "unigram": "Unigram, no normalizer",
    "wordpiece": "WordPiece like BERT, cased",
}
PAIRS = {
    "datasets_map_17mb": ("datasets small", "samebits small"),
    "datasets_map_120mb": ("datasets large", "samebits large"),
    "gigatoken_files": ("gigatoken large", "samebits large"),
    "today": ("before large", "samebits large"),
    "datatrove": ("datatrove small", "samebits small"),
    "plain_pool": ("pool small", "samebits small"),
    "puzzle_loop": ("loop puzzles", "samebits puzzles"),
    "puzzle_loop_three_arrays": ("loop puzzles", "samebits puzzles, three arrays"),
    "two_workers": ("samebits long, 1", "samebits long, 2"),
    "two_workers_600mb": ("samebits middle, 1", "samebits middle, 2"),
    "two_workers_120mb": ("samebits workers, 1", "samebits workers, 2"),
    **{name: (f"datasets families, {name}", f"samebits families, {name}") for name in FAMILIES},
}
BOTH = {  # two commands at once have done twice the work of one
    "machine_two_processes": ("samebits long, 1", "samebits long, 1 and 1"),
    "machine_two_processes_600mb": ("samebits middle, 1", "samebits middle, 1 and 1"),
    "machine_two_processes_120mb": ("samebits workers, 1", "samebits workers, 1 and 1"),
}
Run = dict[str, float]


def group_of(side: str) -> str:
    """Return the group of a side.

    >>> group_of("samebits workers, 1 and 1")
    'workers'
    """
    return side.split(",")[0].split()[1]


def code_digest() -> str:
    """Return a digest of the package as it is run: its Python and its compiled files."""
    root, digest = Path(samebits.__file__).parent, hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.suffix in (".py", ".so")):
        digest.update(f"{path.relative_to(root)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


@dataclass
class Runs:
    """What was measured, and which outputs differed.

    Attributes:
        found: By side, what it took in each round: seconds by ``wall``, ``cpu`` and its own ``record``, and CPU seconds of ``others``.
        different: Outputs that were not equal.
        repeated: By file, how often its text was mixed anew.
        code: Digest of the package.
        all_count: Count every round, whatever others did.
    """

    found: dict[str, list[Run]] = field(default_factory=dict)
    different: list[str] = field(default_factory=list)
    repeated: dict[str, int] = field(default_factory=dict)
    code: str = ""
    all_count: bool = False

    def others(self, group: str) -> list[float]:
        """Return what others used in each round of a group: a share of one core."""
        sides = [runs for name, runs in self.found.items() if group_of(name) == group]
        return [
            sum(run["others"] for run in each) / sum(run["wall"] for run in each)
            for each in zip(*sides, strict=True)
        ]

    def counting(self, group: str) -> list[int]:
        """Return the numbers of the rounds that count."""
        return [i for i, share in enumerate(self.others(group)) if self.all_count or share < MOST_OTHERS]

    def counted(self, side: str, what: str = "wall") -> list[float]:
        """Return one value of a side in all rounds that count."""
        return [self.found[side][i][what] for i in self.counting(group_of(side))]

    def median(self, what: str) -> dict[str, float]:
        """Median by side, where it was measured in a round that counts."""
        found = {
            name: self.counted(name, what)
            for name, runs in self.found.items()
            if all(what in run for run in runs)
        }
        return {name: statistics.median(values) for name, values in found.items() if values}

    def ratios(self) -> dict[str, float]:
        """Peer by ours, medians; sides that were not measured are left out."""
        wall = self.median("wall")
        found = {key: wall[a] / wall[b] for key, (a, b) in PAIRS.items() if a in wall and b in wall}
        both = {key: 2 * wall[a] / wall[b] for key, (a, b) in BOTH.items() if a in wall and b in wall}
        return found | both

    def spread(self) -> dict[str, dict[str, Any]]:
        """Return the ratio within each round, which a machine that slows down meanwhile does not change: number, quartiles, ends."""
        found: dict[str, dict[str, Any]] = {}
        for key, (a, b) in (PAIRS | BOTH).items():
            if a not in self.found or b not in self.found:
                continue
            times = 2 if key in BOTH else 1
            each = [times * x / y for x, y in zip(self.counted(a), self.counted(b), strict=True)]
            if each:
                cuts = statistics.quantiles(each, n=4) if len(each) > 1 else each * 3
                found[key] = {"rounds": len(each), "least": min(each), "quartiles": cuts, "most": max(each)}
        return found
