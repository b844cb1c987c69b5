"""What a langid training computes: every field may change the result, and all but the paths are in its digest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from samebits.core.config import option
from samebits.errors import ConfigError

__all__ = ["MOST_POINTS", "LangidConfig", "parse_odds"]

MOST_POINTS = 4096  # code points looked at per text in backoff mode: 32-bit sums cannot overflow below it

MOST_BITS, PARTS_OF_BIT = 1000, 64


def parse_odds(odds: tuple[str, ...]) -> dict[str, int]:
    """Return the odds of languages in 1/64 bit.

    >>> parse_odds(("hr=3", "sco=-6.25"))
    {'hr': 192, 'sco': -400}

    Raises:
        ConfigError: if one of them is not a language and a number, or a language has two.
    """
    found: dict[str, int] = {}
    for given in odds:
        name, _, bits = given.partition("=")
        try:
            value = float(bits)
        except ValueError:
            value = math.nan
        if not name or not abs(value) <= MOST_BITS:
            raise ConfigError(f"--odds has {given!r}", hint="give bits for each language: --odds hr=3,sco=-6")
        if name in found:
            raise ConfigError(f"--odds has {name!r} twice", hint="give each language once")
        found[name] = round(value * PARTS_OF_BIT)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LangidConfig:
    """How to train."""

    inputs: tuple[str, ...] = option(
        (), help="labelled rows: files, folders, globs, URLs, or - for standard input", location=True
    )
    eval: tuple[str, ...] = option(
        (),
        help="labelled rows to report on; the training rows if not given",
        location=True,
        metavar="FILE,...",
    )
    mode: Literal["backoff", "compact", "exact"] = option(
        "backoff",
        help="backoff: words and n-grams, accurate; compact: the same in a few megabytes, for up to 255 languages; "
        "exact: vocabulous 0.1.3, bit for bit",
    )
    input_format: str = option(
        "auto",
        help="jsonl, csv, tsv, parquet, labels (__label__xx text), json ({lang: [texts]}); auto goes by the suffix",
        metavar="NAME",
    )
    text_column: str = option("text", help="column that holds the text")
    lang_column: str = option("lang", help="column that holds the label")
    cycles: int = option(1, help="how many times to train; rows that disagree are dropped in between")
    base_confidence: float = option(
        0.5, help="exact: share of known words a row needs to be kept after a cycle"
    )
    confidence_margin: float = option(0.5, help="exact: how far a row must lead the runner-up to be kept")
    drop_bits: int = option(
        128, help="backoff: a row whose label is further behind than this, in bits, is a suspect"
    )
    refine: int = option(10, help="backoff: passes of refinement, to tell languages apart better; 0: none")
    megabytes: int = option(
        15,
        help="compact: size of the model",
        omit_default=True,  # models of earlier versions keep their digests
    )
    source_column: str = option(
        "",
        help="compact: column that names the collection a row is from; near languages are then compared like with like",
        metavar="NAME",
        omit_default=True,
    )
    odds: tuple[str, ...] = option(
        (),
        help="compact: bits by which languages start ahead, or behind if below 0, such as hr=3,sco=-6; for all languages "
        "instead of the built-in ones",
        metavar="LANG=BITS,...",
        omit_default=True,
    )
    sentences: Literal["none", "rules", "punkt"] = option(
        "none",
        help="split rows into sentences first: with built-in rules, or with NLTK as the reference does",
    )
    script: str = option(
        "auto", help="exact: script to keep, e.g. Latn; auto takes each row's own", metavar="NAME"
    )
    ledger: Literal["jsonl", "parquet", "none"] = option("jsonl", help="format of the list of dropped rows")
    ledger_text: bool = option(False, help="put the text of each dropped row into the list")

    def __post_init__(self) -> None:
        if self.cycles < 1:
            raise ConfigError(f"--cycles is {self.cycles}", hint="use 1 or more")
        parse_odds(self.odds)
        if not 1 <= self.megabytes <= 100:
            raise ConfigError(f"--megabytes is {self.megabytes}", hint="use 1 to 100")
        if self.refine < 0 or self.drop_bits < 1:
            raise ConfigError(
                f"--refine is {self.refine} and --drop-bits {self.drop_bits}",
                hint="use 0 or more for --refine, 1 or more for --drop-bits",
            )
