"""What to count: every field may change the result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from samebits.core.config import option
from samebits.errors import ConfigError

__all__ = ["CountConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CountConfig:
    """What to count."""

    inputs: tuple[str, ...] = option(
        (), help="files, folders, globs, URLs, or - for standard input", location=True
    )
    input_format: str = option("auto", help="format of the input; auto goes by the suffix", metavar="NAME")
    column: str = option("text", help="column that holds the text, for JSON lines, CSV and Parquet")
    unit: Literal["word", "char"] = option("word", help="count words or characters")
    n: int = option(1, help="length of the n-grams", short="-n")
    lower: bool = option(False, help="fold to lower case first")
    min_count: int = option(1, help="leave out n-grams rarer than this")
    top: int = option(20, help="how many of the most frequent n-grams to list")
    table: Literal["jsonl", "parquet"] = option("jsonl", help="format of the full table")

    def __post_init__(self) -> None:
        for name in ("n", "min_count", "top"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"--{name.replace('_', '-')} is {getattr(self, name)}", hint="use 1 or more"
                )
