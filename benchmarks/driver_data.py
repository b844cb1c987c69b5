"""Inputs of the driver benchmark: as many gigabytes as are asked for, of few megabytes that are generated.

Links to one file where a job does the same whatever came before; copies in which every row has a word of its own where it does not.
"""

from __future__ import annotations

import os
from pathlib import Path

from benchmarks.common import BENCH
from benchmarks.count_vs_counter import make_text
from benchmarks.scale_data import write_inputs
from benchmarks.scale_probe import train_tokenizer

__all__ = ["inputs_of", "many_of", "tokenizer_of"]

SCALE = BENCH / "scale"  # the inputs of that benchmark
FILE_BYTES = 100_000_000  # of the text to count
JOINED_BYTES = 25_000_000  # of each language


def inputs_of(job: str, folder: Path, gigabytes: float) -> Path:
    """Return a folder with about so much input for a job."""
    if job == "count":
        text = folder / "count" / "text.txt"
        if not text.exists():
            text.parent.mkdir(parents=True, exist_ok=True)
            make_text(text, FILE_BYTES)
        return many_of(text.parent, gigabytes)
    write_inputs(SCALE)
    root = SCALE / "large" / job
    return many_of(_joined(root) if job == "charset" else root, gigabytes)


def _joined(root: Path) -> Path:
    """Return a folder with one long file for each language: of gigabytes, no list of small files is meant to be the most of the work."""
    found = root.with_name(f"{root.name}-joined")
    for language in sorted(root.iterdir()) if not found.exists() else ():
        text = b"\n".join(path.read_bytes() for path in sorted(language.iterdir()))
        place = found / language.name / "text.txt"
        place.parent.mkdir(parents=True)
        place.write_bytes(b"\n".join([text] * max(1, JOINED_BYTES // len(text))))
    return found


def many_of(root: Path, gigabytes: float) -> Path:
    """Return a folder beside another with its files many times; labelled rows get a word of their own in each copy."""
    found = root.with_name(f"{root.name}-{gigabytes:g}")
    if found.exists():
        return found
    made = found.with_name(found.name + ".unfinished")
    sources = sorted(path for path in root.rglob("*") if path.is_file())
    size = sum(path.stat().st_size for path in sources)
    for number in range(max(1, round(gigabytes * 1e9 / size))):
        for path in sources:
            place = (made / path.relative_to(root)).with_name(f"{number:04}-{path.name}")
            place.parent.mkdir(parents=True, exist_ok=True)
            if root.name == "langid":
                mark = f' x{number}", "lang"'.encode()
                place.write_bytes(path.read_bytes().replace(b'", "lang"', mark))
            elif not place.exists():
                os.link(path, place)
    made.rename(found)
    return found


def tokenizer_of() -> Path:
    """Return a tokenizer, trained once."""
    write_inputs(SCALE)
    train_tokenizer(SCALE / "small", SCALE / "bpe")
    return SCALE / "bpe" / "tokenizer.json"
