"""Exact mode's cleaner against vocabulous 0.1.3's own, on fuzzed strings: each cleaned text must be equal.

Half of the strings are pieces that cleaning has rules for, put together at random; a quarter are drawn from a few characters
of one kind, so that runs, blanks and digits meet; a quarter are any code points. Ratio key: ``equal`` (share of strings that agree).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import arguments, finish, peer_python, show_table
from benchmarks.langid_accuracy import PIECES
from benchmarks.langid_check import VOCABULOUS
from samebits.core.seeds import rng_for
from samebits.kernels.langid.text.encode import encode_rows
from samebits.langid.tables import load_tables

NUM_STRINGS = 120_000
ALPHABETS = (
    "abAB  01",
    "aaabbb   111...,,,",
    "xyz@+#:/._-09 ",
    "éèßüİıſ ab",
    "жйёМО 12",
    "ابآـلم ٣٫٤",
    "नि़क ",
    "漢字。가 a",
    "ΣςΟσ a",
    "\u0301\u0323e a\u200d",
)
PEER = r"""
import json
import logging
import sys

import nltk

logging.disable(logging.CRITICAL)
nltk.download = lambda *_, **__: False  # at import it would wait for a network
from vocabulous.vocabulous import _clean_text_cached

with open(sys.argv[1], encoding="utf-8") as file:
    texts = json.load(file)
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump([_clean_text_cached(None, text) for text in texts], file)
"""


def make_strings(number: int) -> list[str]:
    """Return the strings, the same each time."""
    rng = rng_for(0, "langid-fuzz")
    made = []
    for i in range(number):
        length = int(rng.integers(1, 15))
        if i % 4 < 2:
            made.append("".join(PIECES[int(k)] for k in rng.integers(len(PIECES), size=length)))
        elif i % 4 == 2:
            alphabet = ALPHABETS[int(rng.integers(len(ALPHABETS)))]
            made.append("".join(alphabet[int(k)] for k in rng.integers(len(alphabet), size=3 * length)))
        else:
            made.append("".join(map(_character, rng.integers(0x110000 - 0x800, size=length).tolist())))
    return made


def _character(number: int) -> str:
    return chr(number if number < 0xD800 else number + 0x800)  # surrogates are no text


def clean_here(texts: list[str]) -> list[str]:
    """Clean with the kernel."""
    data = [text.encode() for text in texts]
    lengths = np.array([len(item) for item in data], np.int64)
    stops = np.cumsum(lengths)
    buffer = np.frombuffer(b"".join(data) + bytes(8), np.uint8)
    found = encode_rows(load_tables(), buffer, stops - lengths, stops, -1, 2)
    cleaned, ends = found["texts"].tobytes(), np.cumsum(found["sizes"]).tolist()
    return [cleaned[a:b].decode() for a, b in zip([0, *ends], ends, strict=False)]


def main() -> None:
    """Clean on both sides and compare."""
    options = arguments(__doc__ or "")
    texts = make_strings(NUM_STRINGS // 20 if options.quick else NUM_STRINGS)
    python = peer_python("vocabulous", VOCABULOUS)
    with tempfile.TemporaryDirectory() as name:
        given, cleaned = Path(name) / "texts.json", Path(name) / "cleaned.json"
        given.write_text(json.dumps(texts), encoding="utf-8")
        subprocess.run([str(python), "-c", PEER, str(given), str(cleaned)], check=True)
        theirs = json.loads(cleaned.read_text(encoding="utf-8"))
    differing = [(text, a, b) for text, a, b in zip(texts, theirs, clean_here(texts), strict=True) if a != b]
    show_table(["strings", "that differ"], [[f"{len(texts):,}", f"{len(differing):,}"]])
    for text, a, b in differing[:5]:
        print(f"{text!r}: {a!r} there, {b!r} here", file=sys.stderr)
    finish(
        "langid_fuzz",
        equal=not differing,
        ratios={"equal": 1 - len(differing) / len(texts)},
        details={"strings": len(texts), "differing": len(differing)},
        options=options,
    )


if __name__ == "__main__":
    main()
