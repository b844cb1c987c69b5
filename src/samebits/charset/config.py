"""What ``charset train`` computes: every field may change the result, and all but the paths are in its digest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from samebits.core.config import option
from samebits.errors import ConfigError

__all__ = ["CharsetConfig"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CharsetConfig:
    """Which models to train, and from what."""

    inputs: tuple[str, ...] = option(
        (),
        help="folders with one folder of .txt files per language, or JSON lines, CSV, Parquet",
        location=True,
    )
    input_format: str = option("auto", help="format of the input; auto goes by the suffix", metavar="NAME")
    text_column: str = option("text", help="column that holds the text, for JSON lines, CSV and Parquet")
    lang_column: str = option("lang", help="column that holds the language, for the same formats")
    unit: Literal["file", "line"] = option("file", help="what one text of a .txt file is")
    pairs: str = option(
        "builtin", help="TOML or JSON file with the pairs to train", location=True, metavar="FILE"
    )
    languages: tuple[str, ...] = option((), help="train these languages only", metavar="A,B")
    encodings: tuple[str, ...] = option((), help="train these encodings only", metavar="X,Y")
    recipe: str = option(
        "default", help="how text becomes bytes; package.module:factory for your own", metavar="NAME"
    )
    max_samples: int | None = option(None, help="texts of each language to use, in order; all if not given")
    html_samples: bool = option(True, help="add small web pages made from the first texts")
    min_retention: float = option(0.7, help="refuse a pair that keeps a smaller share of its letters")
    min_weight: int = option(1, help="smallest weight that an exported model keeps")

    @property
    def own_code(self) -> str:
        """The module that this config would import and run, or nothing; ``verify --rerun`` asks before it does."""
        return "" if self.recipe == "default" else self.recipe

    def __post_init__(self) -> None:
        if self.max_samples is not None and self.max_samples < 1:
            raise ConfigError(f"--max-samples is {self.max_samples}", hint="use 1 or more")
        if not 0 <= self.min_retention <= 1:
            raise ConfigError(f"--min-retention is {self.min_retention}", hint="use a share from 0 to 1")
        if not 1 <= self.min_weight <= 255:
            raise ConfigError(f"--min-weight is {self.min_weight}", hint="use 1 to 255")
