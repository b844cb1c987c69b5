"""Data for the token benchmarks: real text of this machine's Python, the package's samples, and puzzles.

Technical prose and code in quantity is on every machine that runs Python: the sources of its standard library. Packages
are left out, so that the bytes do not depend on what is installed; the order of files follows a hash of their names. When
more text is wanted than there is, later rounds are made of lines of all files in another order. No text contains a special
token: libraries differ in what they make of one, and speed is what is compared here.
"""

from __future__ import annotations

import hashlib
import json
import sysconfig
from collections.abc import Iterator
from importlib import resources
from itertools import count
from pathlib import Path

import numpy as np

from samebits.core.seeds import rng_for

__all__ = ["text_jsonl", "write_puzzles"]

PACKAGES = {"site-packages", "dist-packages"}
DOCUMENT_CHARS = 4000
NAMES = "ABCDEFGHIJKL"
LINKS = ("and", "or", "iff", "implies", "xor")


def _files() -> Iterator[str]:
    """Yield the samples and the standard library."""
    samples = resources.files("samebits") / "samples"
    for sample in sorted(samples.iterdir(), key=lambda item: item.name):
        if sample.name.endswith(".txt"):
            yield sample.read_text(encoding="utf-8")
    root = Path(sysconfig.get_paths()["stdlib"])
    found = [path for path in root.rglob("*.py") if not PACKAGES & set(path.relative_to(root).parts)]
    for path in sorted(
        found, key=lambda p: hashlib.sha256(p.relative_to(root).as_posix().encode()).hexdigest()
    ):
        yield path.read_text(encoding="utf-8", errors="replace")


def _plain(text: str) -> str:
    """Take away what could be a special token."""
    return text.replace("<|", "< |").replace("<s>", "< s>").replace("</s>", "< /s>")


def _documents() -> Iterator[tuple[int, str]]:
    """Yield (round, document) without end."""
    lines: list[str] = []
    for text in map(_plain, _files()):
        lines += text.splitlines(keepends=True)
        for at in range(0, len(text), DOCUMENT_CHARS):
            yield 0, text[at : at + DOCUMENT_CHARS]
    for number in count(1):
        order = rng_for(number, "tokens", "lines").permutation(len(lines)).tolist()
        document, size = [], 0
        for k in order:
            document.append(lines[k])
            size += len(lines[k])
            if size >= DOCUMENT_CHARS:
                yield number, "".join(document)
                document, size = [], 0


def text_jsonl(path: Path, num_bytes: int) -> int:
    """Write JSON lines of about this size; returns how many rounds of mixed lines were needed."""
    written = rounds = 0
    with path.open("wb") as file:
        for rounds, text in _documents():  # noqa: B007  # the last one is returned
            written += file.write(json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n")
            if written >= num_bytes:
                break
    return rounds


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
