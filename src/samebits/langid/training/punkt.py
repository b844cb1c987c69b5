"""Sentences as the reference cuts them: NLTK's English Punkt tokenizer, for equality with vocabulous and nothing else.

The reference hides a failed look-up of the tokenizer's data and then takes rows whole; here that is an error. The data's
digest is a part of the plan, because another Punkt model gives other sentences.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.digest import digest_of, digest_of_file
from samebits.data.readers.rows import TextColumn
from samebits.errors import ConfigError, MissingExtra

__all__ = ["punkt_digest", "split_by_punkt"]

FOLDER = "tokenizers/punkt_tab/english"
# Punkt can end a sentence at one of these only, so a row without any is one sentence: most rows never reach NLTK.
STOPS = re.compile(rb"[.?!]")


@cache
def _tokenizer() -> Any:
    _data_folder()
    from nltk.tokenize.punkt import PunktTokenizer

    return PunktTokenizer("english")


def _data_folder() -> Path:
    try:
        import nltk
    except ImportError:
        raise MissingExtra("nltk", extra="punkt", needed_for="--sentences punkt") from None
    try:
        return Path(str(nltk.data.find(f"{FOLDER}/")))
    except LookupError:
        raise ConfigError(
            "--sentences punkt needs NLTK's data 'punkt_tab', which is not installed",
            hint="python -m nltk.downloader punkt_tab; or put it into a folder named by NLTK_DATA",
        ) from None


@cache
def punkt_digest() -> str:
    """Return what the tokenizer's data hold, and the version of NLTK.

    Raises:
        MissingExtra: without NLTK.
        ConfigError: without its data.
    """
    folder = _data_folder()
    import nltk

    names = sorted(path.name for path in folder.iterdir())
    return digest_of([str(nltk.__version__), *([name, digest_of_file(folder / name)] for name in names)])


def split_by_punkt(text: TextColumn) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each sentence its row, start and stop; a row without anything in it is one empty sentence."""
    tokenizer = _tokenizer()
    rows: list[int] = []
    starts: list[int] = []
    stops: list[int] = []
    for row, (start, stop) in enumerate(zip(text.starts.tolist(), text.stops.tolist(), strict=True)):
        data = text[row]
        spans = [(0, len(data))]
        if STOPS.search(data) and (string := data.decode()).strip():
            spans = _byte_spans(string, list(tokenizer.span_tokenize(string)))
        for first, last in spans:
            rows.append(row)
            starts.append(start + first)
            stops.append(min(start + last, stop))
    return np.array(rows, np.int64), np.array(starts, np.int64), np.array(stops, np.int64)


def _byte_spans(string: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Turn positions of code points into positions of bytes.

    >>> _byte_spans("é. b", [(0, 2), (3, 4)])
    [(0, 3), (4, 5)]
    """
    if string.isascii():
        return spans
    ends = np.cumsum([0, *(len(char.encode()) for char in string)]).tolist()
    return [(ends[first], ends[last]) for first, last in spans]
