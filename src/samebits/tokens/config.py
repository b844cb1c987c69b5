"""The settings of ``tokens build``: what may change the result, and three that may not (marked ``how``)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from samebits.core.config import option
from samebits.core.light_dataclass import dataclass
from samebits.errors import ConfigError
from samebits.tokens.layouts.interface import Extras
from samebits.tokens.layouts.packed import EXPORTS
from samebits.tokens.layouts.table import LAYOUTS, LayoutName
from samebits.tokens.template import Template, template_of
from samebits.tokens.tokenizers.names import built_in
from samebits.tokens.tokenizers.vocab import Tokenizer

__all__ = ["TokensConfig", "store_dtype"]

DTYPE_SIZES = {"uint8": 1 << 8, "uint16": 1 << 16, "uint32": 1 << 31}  # 2^31: readers may take them as int32


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensConfig:
    """What to build."""

    inputs: tuple[str, ...] = option(
        (), help="files, folders, globs, URLs, or - for standard input", location=True
    )
    input_format: str = option("auto", help="format of the input; auto goes by the suffix", metavar="NAME")
    tokenizer: str = option(
        "byte",
        help="byte; char, word or bpe to learn one from the data; or a tokenizer file",
        short="-t",
        location=True,  # the file's content is digested, its place is not
        metavar="NAME|FILE",
    )
    vocab_size: int = option(32000, help="largest vocabulary when one is learned")
    special_tokens: Literal["text", "ids", "error"] = option(
        "text",
        help="what <|endoftext|> and its like become when a text contains them: text, ids, or an error",
        omit_default=True,  # stores of earlier versions keep their digests
    )
    layout: LayoutName = option(  # the rule does not see that the alias is a Literal
        "packed", help="packed: one stream of tokens; rows: fixed length"
    )
    columns: tuple[str, ...] = option(
        (), help="columns to take, joined by a separator token", metavar="NAME,…"
    )
    template: str | None = option(
        None, help="what a row consists of, e.g. '{bos}{puzzle}{sep}{solution}{eos}'", metavar="TEXT"
    )
    add_bos: bool = option(False, help="begin every row with the begin token")
    add_eos: bool = option(True, help="end every row with the end-of-text token")
    max_length: int | None = option(
        None, help="longest row in tokens, not counting the shifted target; rows: 512", metavar="N"
    )
    truncate: Literal["cut", "drop", "error", "window"] = option(
        "cut", help="what happens to a longer row: cut it, drop it, stop, or take several windows of it"
    )
    stride: int | None = option(
        None, help="tokens from one window to the next; max-length if not given", metavar="N"
    )
    val_ratio: float = option(0.0, help="share of rows that go to validation, by a hash of the row number")
    seed: int = option(0, help="seed of the split and of the order")
    shuffle: bool = option(False, help="store the rows in an order drawn from the seed")
    limit: int | None = option(None, help="use only the first N usable rows", metavar="N")
    dtype: Literal["auto", "uint8", "uint16", "uint32"] = option(
        "auto", help="type of a stored id; auto takes the smallest"
    )
    materialize: bool = option(
        False, help="rows: also write input_ids, target_ids and attention_mask as plain arrays"
    )
    export: tuple[str, ...] = option(
        (), help="packed: make the files readable by nanogpt, megatron or both", metavar="NAME,…"
    )
    max_line_mb: int = option(128, help="a line or row longer than this is a bad row", metavar="MB")
    cell_mb: float = option(4.0, help="size of a shard of the input in MiB", how=True, metavar="MB")
    batch_size: int = option(1000, help="rows encoded at once", how=True)
    memory_mb: int = option(
        300, help="memory of a worker in MB above which its encoder is replaced", how=True, metavar="MB"
    )

    def __post_init__(self) -> None:
        _check_numbers(self)
        for name, layout in LAYOUTS.items():
            for setting in layout.settings:
                if getattr(self, setting) and name != self.layout:
                    raise ConfigError(f"--{setting} needs --layout {name}", hint="leave one of them out")
        if self.truncate == "window" and self.width is None:
            raise ConfigError("--truncate window needs --max-length", hint="for example --max-length 1024")
        if self.stride is not None and self.truncate != "window":
            raise ConfigError("--stride needs --truncate window", hint="add --truncate window")
        for name in self.export:
            if name not in EXPORTS:
                raise ConfigError(f"--export has {name!r}", hint="known: " + ", ".join(EXPORTS))
        if self.special_tokens == "ids" and built_in(self.tokenizer) in ("byte", "char", "word"):
            hint = "use --special-tokens text or error, or a tokenizer file"
            raise ConfigError(f"the {self.tokenizer} tokenizer finds no special tokens in text", hint=hint)
        self.parsed_template()

    @property
    def length(self) -> int | None:
        """Tokens of an input row; None when rows are never cut."""
        return LAYOUTS[self.layout].default_length if self.max_length is None else self.max_length

    @property
    def width(self) -> int | None:
        """Tokens stored of a row at most: one more than the input in rows, for the shifted target."""
        if self.length is None:
            return None
        return self.length + LAYOUTS[self.layout].targets

    @property
    def extras(self) -> Extras:
        """Further files that are written."""
        return Extras(self.export, self.materialize)

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits that are written."""
        return ("train", "val") if self.val_ratio > 0 else ("train",)

    @property
    def max_line_bytes(self) -> int:
        """Bytes of the longest line that is kept; workers hold several copies of one that long."""
        return self.max_line_mb << 20

    def parsed_template(self) -> Template:
        """Return what a row consists of."""
        return template_of(
            template=self.template, columns=self.columns, add_bos=self.add_bos, add_eos=self.add_eos
        )


def _check_numbers(config: TokensConfig) -> None:
    for name in ("vocab_size", "max_length", "stride", "limit", "max_line_mb", "batch_size", "memory_mb"):
        value = getattr(config, name)
        if value is not None and value < 1:
            raise ConfigError(f"--{name.replace('_', '-')} is {value}", hint="use 1 or more")
    if not 0 <= config.val_ratio < 1:
        raise ConfigError(f"--val-ratio is {config.val_ratio}", hint="use 0 up to, but not including, 1")
    if config.cell_mb <= 0:
        raise ConfigError(f"--cell-mb is {config.cell_mb}", hint="the default is 4")
    if not 0 <= config.seed < 1 << 64:
        raise ConfigError(f"--seed is {config.seed}", hint="use 0 up to 2**64 - 1")


def store_dtype(
    config: TokensConfig, tokenizer: Tokenizer
) -> np.dtype[np.unsignedinteger[np.typing.NBitBase]]:
    """Return the smallest type that holds every id, or check the one asked for.

    Raises:
        ConfigError: if ids do not fit, or nanoGPT's 16 bits do not.
    """
    size = tokenizer.vocab_size
    if config.dtype != "auto":
        if size > DTYPE_SIZES[config.dtype]:
            raise ConfigError(f"--dtype {config.dtype} is too small for {size} ids", hint="use --dtype auto")
        name: str = config.dtype
    else:
        smallest = "uint16" if "nanogpt" in config.export else "uint8"
        fits = [n for n, most in DTYPE_SIZES.items() if size <= most and most >= DTYPE_SIZES[smallest]]
        if not fits:
            raise ConfigError(f"the tokenizer has {size} ids, more than 2**31")
        name = fits[0]
    if "nanogpt" in config.export and name != "uint16":
        raise ConfigError(
            f"nanoGPT reads 16-bit ids, and these are {name}", hint="leave nanogpt out of --export"
        )
    return np.dtype(name).newbyteorder("<")
