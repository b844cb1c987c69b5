"""Nasty strings on which two encoders must agree before the faster one is trusted.

The strings cover every block of the basic plane, emoji, combining marks, all white space, contractions, digits of
many scripts and text that looks like special tokens. A probe takes about 0.2 s, mostly for loading the slower
library; ``probe_memory`` keeps it from being made twice.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from samebits.core.seeds import rng_for

__all__ = ["probe_texts"]

PROBE_COUNT = 1500
FIXED = (
    "",
    "\n",
    "  ",
    "<|endoftext|>",
    "a<|endoftext|>b",
    " <|endoftext|> x",
    "don't we'll",
    "<|endoftext|",
)


def _pools() -> tuple[str, ...]:
    """Characters to draw from, by what tends to go wrong."""
    return (
        "".join(map(chr, range(128))),
        "".join(map(chr, range(0x80, 0x3000))),
        "".join(map(chr, range(0x3000, 0xD800))),
        "".join(map(chr, range(0x1F000, 0x1FB00))),
        " \t\n\r\u00a0\u2003\u3000\u200b\x0b\x0c\x85\u2028\x1c",
        "'sdmtllvereSDMTLLVERE' ",
        "0123456789\u00b2\u00bd\u0663\u096a\u2460\u2167  ",
        "\u0301\u0302\u0303aeiou\u200d\ufe0f\u263a ",
        "".join(map(chr, (*range(0xE000, 0xF000), *range(0x10000, 0x30000, 7)))),
    )


def probe_texts(count: int = PROBE_COUNT, *, seed: int = 5, tokens: Sequence[str] = ()) -> list[str]:
    """Return the fixed strings, ``count`` drawn ones of 1 to 12 pieces of 1 to 9 characters, and ``tokens``."""
    rng = rng_for(seed, "tokens", "probe")
    num_pieces = rng.integers(1, 13, count)
    total, alphabets = int(num_pieces.sum()), _pools()
    pools, lengths = rng.integers(0, len(alphabets), total).tolist(), rng.integers(1, 10, total).tolist()
    draws = rng.random(int(sum(lengths)))
    pieces, at = [], 0
    for pool, length in zip(pools, lengths, strict=True):
        chars = alphabets[pool]
        pieces.append("".join(chars[int(x * len(chars))] for x in draws[at : at + length].tolist()))
        at += length
    stops = np.cumsum(num_pieces).tolist()
    drawn = ["".join(pieces[a:b]) for a, b in zip([0, *stops[:-1]], stops, strict=True)]
    return [*FIXED, *drawn, *tokens]
