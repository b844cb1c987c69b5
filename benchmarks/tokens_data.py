"""Data for the token benchmarks: real text of this machine's Python, the package's samples, and puzzles.

Technical prose and code in quantity is on every machine that runs Python: the sources of its standard library and
packages. The choice and order of files follow a hash of their names, so two runs on one machine see the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import sysconfig
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import numpy as np

from samebits.core.seeds import rng_for

__all__ = ["text_jsonl", "write_puzzles"]

REPO = Path(__file__).resolve().parent.parent
SHARED = Path(os.environ.get("SAMEBITS_SHARED_DATA", REPO.parent / "shared" / "data"))
DOCUMENT_CHARS = 4000
NAMES = "ABCDEFGHIJKL"
LINKS = ("and", "or", "iff", "implies", "xor")


def _texts() -> Iterator[str]:
    if SHARED.is_dir():
        yield (SHARED / "tinyshakespeare.txt").read_text(encoding="utf-8")
    samples = resources.files("samebits") / "samples"
    for sample in sorted(samples.iterdir(), key=lambda item: item.name):
        if sample.name.endswith(".txt"):
            yield sample.read_text(encoding="utf-8")
    roots = [Path(sysconfig.get_paths()["stdlib"]), Path(sysconfig.get_paths()["purelib"])]
    base = Path(sys.base_prefix) / "lib"
    found = {path.resolve() for root in (*roots, base) for path in root.rglob("*.py") if path.is_file()}
    for path in sorted(found, key=lambda p: hashlib.sha256("/".join(p.parts[-4:]).encode()).hexdigest()):
        yield path.read_text(encoding="utf-8", errors="replace")


def text_jsonl(path: Path, num_bytes: int) -> int:
    """Write JSON lines of about this size; returns how often the text had to be repeated."""
    written = rounds = 0
    with path.open("wb") as file:
        while written < num_bytes:
            rounds += 1
            for text in _texts():
                for at in range(0, len(text), DOCUMENT_CHARS):
                    row = {"text": text[at : at + DOCUMENT_CHARS]}
                    written += file.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
                if written >= num_bytes:
                    break
    return rounds - 1


def _claim(rng: np.random.Generator, depth: int) -> str:
    draw = rng.random()
    if depth == 0 or draw < 0.35:
        return f"({('knight', 'knave')[rng.integers(2)]} {NAMES[rng.integers(12)]})"
    if draw < 0.5:
        return f"(not {_claim(rng, depth - 1)})"
    return f"({LINKS[rng.integers(5)]} {_claim(rng, depth - 1)} {_claim(rng, depth - 1)})"


def write_puzzles(path: Path, num_rows: int) -> None:
    """Write puzzles with their solutions: 27 words, some 150 tokens a row. A block of 5,000 is drawn and repeated."""
    rng = rng_for(1, "puzzles")
    block = []
    for _ in range(min(num_rows, 5000)):
        who = [NAMES[i] for i in rng.permutation(12)[: rng.integers(3, 10)]]
        says = " ".join(f"(says {name} {_claim(rng, int(rng.integers(1, 4)))})" for name in who)
        ends = " ".join(f"({name} {('knight', 'knave')[rng.integers(2)]})" for name in who)
        puzzle = {"puzzle": f"(puzzle (people {' '.join(who)}) {says})", "solution": f"(solution {ends})"}
        block.append(json.dumps(puzzle) + "\n")
    with path.open("w", encoding="utf-8") as file:
        for row in range(num_rows):
            file.write(block[row % len(block)])
