"""``tokens show`` and ``tokens stats``: what is in a store, decoded and counted. They return data; the CLI prints."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.data import checked
from samebits.data.token_store import TokenStore
from samebits.errors import ConfigError
from samebits.tokens.tokenizers.open_tokenizer import open_tokenizer
from samebits.tokens.tokenizers.vocab import Tokenizer

__all__ = ["ShownRow", "length_histogram", "parse_rows", "show_rows", "store_stats", "tokenizer_of"]

BLOCK_TOKENS = 1 << 22


@dataclass(frozen=True, slots=True)
class ShownRow:
    """One row, decoded."""

    row: int
    source: int
    length: int
    text: str
    ids: list[int]


def tokenizer_of(store: TokenStore) -> Tokenizer:
    """Open the tokenizer that is saved with the store."""
    return open_tokenizer(str(store.folder / "tokenizer.json"))


def parse_rows(text: str, num_rows: int) -> range:
    """Read ``5``, ``0:3``, ``:10`` or ``-2:`` as row numbers.

    >>> list(parse_rows("-2:", 10)), list(parse_rows("3", 10))
    ([8, 9], [3])

    Raises:
        ConfigError: if it is neither, or there is no such row.
    """
    start, colon, stop = text.partition(":")
    try:
        if colon:
            return range(num_rows)[slice(int(start) if start else None, int(stop) if stop else None)]
        return range(num_rows)[int(start) : int(start) + 1 or None]
    except ValueError:
        raise ConfigError(f"--rows is {text!r}", hint="write it like 5, 0:3, :10 or -2:") from None


def show_rows(store: TokenStore, rows: range) -> Iterator[ShownRow]:
    """Yield rows, decoded."""
    tokenizer = tokenizer_of(store)
    for row in rows:
        ids = [int(i) for i in store[row]]
        told = f"row {row} has token {max(ids, default=0)}, outside the vocabulary of {tokenizer.vocab_size}"
        checked.ensure(max(ids, default=0) < tokenizer.vocab_size, store.folder, told)
        yield ShownRow(row, int(store.source[row]), len(ids), tokenizer.decode(ids), ids)


def store_stats(store: TokenStore) -> dict[str, Any]:
    """Count lengths, padding, unknown tokens and which ids are used."""
    lengths, about = store.lengths, store.about
    used = _id_counts(store)
    num_tokens = int(lengths.sum())
    unknown = about["specials"].get("unk")
    told = f"the unknown token is {unknown}, the vocabulary {len(used)}"
    checked.ensure(unknown is None or unknown < len(used), store.folder, told)
    stored = store.tokens.size
    lines, splits = about["lines"], about["splits"]
    all_tokens = sum(split["tokens"] for split in splits.values())
    return {
        "split": store.split,
        "layout": store.layout,
        "dtype": about["dtype"],
        "tokenizer": about["tokenizer"],
        "rows": len(store),
        "tokens": num_tokens,
        "lengths": _summary(lengths),
        "length_histogram": length_histogram(lengths),
        "padding_share": 1 - num_tokens / stored if stored else 0.0,
        "rows_cut": about["rows_cut"],
        "unknown_share": 0.0 if unknown is None or not num_tokens else int(used[unknown]) / num_tokens,
        "bytes_per_token": about["text_bytes"] / all_tokens if all_tokens else 0.0,
        "vocabulary": {
            "size": about["vocab_size"],
            "used": int((used > 0).sum()),
            "never_used": int((used == 0).sum()),
        },
        "lines": lines,
    }


def _id_counts(store: TokenStore) -> NDArray[np.int64]:
    """How often each id occurs, padding not counted."""
    counts = np.zeros(store.about["vocab_size"], np.int64)
    if store.layout == "packed":
        for at in range(0, len(store.tokens), BLOCK_TOKENS):
            counts += _counted(store, store.tokens[at : at + BLOCK_TOKENS])
        return counts
    width = store.tokens.shape[1]
    step = max(1, BLOCK_TOKENS // width)
    lengths = store.lengths
    for row in range(0, len(store), step):
        real = np.arange(width) < lengths[row : row + step, None]
        counts += _counted(store, store.tokens[row : row + step][real])
    return counts


def _counted(store: TokenStore, ids: NDArray[Any]) -> NDArray[np.int64]:
    size = int(store.about["vocab_size"])
    largest = int(ids.max()) if len(ids) else 0
    checked.ensure(largest < size, store.folder, f"token {largest} is outside the vocabulary of {size}")
    return np.bincount(ids, minlength=size)


def _summary(lengths: NDArray[np.int64]) -> dict[str, Any]:
    if not len(lengths):
        return {"min": 0, "median": 0, "mean": 0.0, "p95": 0, "max": 0}
    ordered = np.sort(lengths)
    return {
        "min": int(ordered[0]),
        "median": int(ordered[len(ordered) // 2]),
        "mean": float(ordered.sum() / len(ordered)),
        "p95": int(ordered[min(len(ordered) - 1, len(ordered) * 95 // 100)]),
        "max": int(ordered[-1]),
    }


def length_histogram(lengths: NDArray[np.int64]) -> list[dict[str, int]]:
    """Count rows by length in bins whose borders double.

    >>> length_histogram(np.array([0, 1, 2, 3, 9]))
    [{'from': 0, 'to': 0, 'rows': 1}, {'from': 1, 'to': 1, 'rows': 1}, {'from': 2, 'to': 3, 'rows': 2}, {'from': 8, 'to': 15, 'rows': 1}]
    """
    bins = np.frexp(lengths.astype(np.float64))[1]  # 0 for 0, 1 for 1, 2 for 2-3, 3 for 4-7, ...
    found = np.bincount(bins) if len(bins) else np.zeros(0, np.int64)
    return [
        {"from": (1 << b) >> 1, "to": (1 << b) - 1, "rows": int(n)} for b, n in enumerate(found.tolist()) if n
    ]
