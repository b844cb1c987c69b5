"""Read a token store: memory-mapped arrays, no copy until a batch is asked for. NumPy alone.

>>> store = TokenStore.open("corpus-tokens")                     # doctest: +SKIP
>>> store.input[:8], store.target[:8], store.mask(slice(8))      # doctest: +SKIP

Rows and windows are addressed by number. An epoch's order is a permutation keyed by (seed, epoch) that can be asked for
any position, so a reader resumes exactly where it was and nothing is ever stored or shuffled in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from samebits.core.seeds import key_for
from samebits.data import checked
from samebits.data.artifact import Artifact, open_artifact
from samebits.errors import ConfigError, did_you_mean
from samebits.kernels.tokens.order import permute

__all__ = ["STORE_FORMAT", "TokenStore", "epoch_order"]

STORE_FORMAT = "samebits.tokens.v1"
Index = int | slice | NDArray[np.int64]
Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 60)]
Id = Annotated[int, msgspec.Meta(ge=0, lt=1 << 32)]


class SplitAbout(msgspec.Struct):
    """What a store says of one split."""

    tokens: Count


class StoreAbout(msgspec.Struct):
    """The fields of ``store.json`` that readers rely on; there may be more."""

    layout: Literal["rows", "packed"]
    dtype: Literal["|u1", "<u2", "<u4"]
    prompts: bool
    splits: dict[str, SplitAbout]
    vocab_size: Annotated[int, msgspec.Meta(ge=1, le=1 << 24)]
    specials: dict[str, Id | None]
    lines: dict[str, Any]
    rows_cut: Count
    text_bytes: Count
    tokenizer: Any


def epoch_order(num: int, positions: NDArray[np.int64], *, seed: int, epoch: int) -> NDArray[np.int64]:
    """Return which of ``num`` items stand at these positions of an epoch's order.

    >>> sorted(epoch_order(5, np.arange(5), seed=1, epoch=0).tolist())
    [0, 1, 2, 3, 4]
    """
    key = key_for(seed, "tokens", "epoch", epoch) & ((1 << 64) - 1)
    return permute(key, num, np.ascontiguousarray(positions, np.int64))


@dataclass(frozen=True)
class TokenStore:
    """One split of a store.

    Attributes:
        folder: Where it lies.
        split: ``train`` or ``val``.
        layout: ``rows`` or ``packed``.
        about: What the store says of itself: vocabulary size, special ids, counts.
        tokens: ``rows``: (rows, length + 1); ``packed``: all tokens in one array.
        source: Row number in the input, for each row or document.
        prompts: Tokens up to and including the separator, for each row; None without one.
    """

    folder: Path
    split: str
    layout: str
    about: dict[str, Any]
    tokens: NDArray[Any]
    source: NDArray[np.uint64]
    prompts: NDArray[Any] | None
    _lengths: NDArray[Any]  # rows: lengths; packed: offsets

    def __repr__(self) -> str:
        """Say what it holds; the ids are in ``tokens``."""
        where = f"{self.folder.name}/{self.split}"
        return (
            f"<TokenStore {where}: {self.layout}, {self.tokens.size:,} ids of {self.about['vocab_size']:,}>"
        )

    @classmethod
    def open(cls, folder: str | Path, split: str = "train", *, full_check: bool = False) -> TokenStore:
        """Open a split.

        Args:
            folder: What ``tokens build`` wrote.
            split: ``train`` or ``val``.
            full_check: Hash every file first; otherwise their sizes are checked.

        Raises:
            InputError: if there is no store.
            ConfigError: if it has no such split.
            ArtifactCorrupt: if a file is not what its manifest says.
        """
        artifact = open_artifact(folder, job="tokens", check="full" if full_check else "sizes")
        about = artifact.json("store.json")
        _check_about(artifact, about)
        if split not in about["splits"]:
            raise ConfigError(f"{folder} has no split {split!r}", hint=did_you_mean(split, about["splits"]))
        tokens, lengths = _load(artifact, split, about)
        num = len(lengths) - (about["layout"] == "packed")
        source = checked.array(artifact, f"{split}.source.npy", np.uint64, shape=(num,), mmap=True)
        prompts = artifact.array(f"{split}.prompts.npy", mmap=True) if about["prompts"] else None
        if prompts is not None:
            told = f"prompts are {prompts.dtype} of shape {prompts.shape}"
            checked.ensure(prompts.dtype.kind == "u" and prompts.shape == (num,), artifact.folder, told)
        return cls(Path(folder), split, about["layout"], about, tokens, source, prompts, lengths)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by place: a worker of a data loader maps the files again instead of copying them."""
        return TokenStore.open, (self.folder, self.split)

    def __len__(self) -> int:
        """Number of rows or documents."""
        return len(self.source)

    def __getitem__(self, row: int) -> NDArray[Any]:
        """Return the tokens of one row or document, without padding."""
        if not -len(self) <= row < len(self):
            raise IndexError(f"row {row} of {len(self)}")
        row %= len(self)
        if self.layout == "rows":
            return np.asarray(self.tokens[row, : int(self._lengths[row])])
        return np.asarray(self.tokens[int(self._lengths[row]) : int(self._lengths[row + 1])])

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of every row or document."""
        values = self._lengths if self.layout == "rows" else np.diff(self._lengths)
        return np.asarray(values, np.int64)

    @property
    def offsets(self) -> NDArray[Any]:
        """Packed: where each document starts, and the end."""
        self._need("packed")
        return self._lengths

    @property
    def input(self) -> NDArray[Any]:
        """Rows: the inputs, a view."""
        self._need("rows")
        view: NDArray[Any] = self.tokens[:, :-1]
        return view

    @property
    def target(self) -> NDArray[Any]:
        """Rows: the inputs shifted by one, a view."""
        self._need("rows")
        view: NDArray[Any] = self.tokens[:, 1:]
        return view

    def mask(self, rows: Index = slice(None)) -> NDArray[np.bool_]:
        """Rows: where a target is a token and not padding."""
        self._need("rows")
        lengths = np.asarray(self._lengths[rows], np.int64)
        mask: NDArray[np.bool_] = np.arange(self.tokens.shape[1] - 1) < lengths[..., None] - 1
        return mask

    def loss_mask(self, rows: Index = slice(None)) -> NDArray[np.bool_]:
        """Rows with a separator: where a target belongs to the answer, after the separator."""
        if self.prompts is None:
            raise ConfigError("this store has no prompts", hint="build it with a template that has {sep}")
        prompts = np.asarray(self.prompts[rows], np.int64)
        answer: NDArray[np.bool_] = np.arange(self.tokens.shape[1] - 1) >= prompts[..., None] - 1
        return self.mask(rows) & answer

    def num_windows(self, length: int) -> int:
        """Packed: how many windows of ``length`` inputs with their targets fit, one after the other."""
        self._need("packed")
        return max(0, (len(self.tokens) - 1) // length)

    def windows(self, numbers: NDArray[np.int64], length: int) -> NDArray[np.int64]:
        """Packed: the windows with these numbers, (windows, length + 1): inputs are ``[:, :-1]``, targets ``[:, 1:]``."""
        self._need("packed")
        out = np.empty((len(numbers), length + 1), np.int64)
        for i, number in enumerate(np.asarray(numbers, np.int64).tolist()):
            if not 0 <= number < self.num_windows(length):
                raise IndexError(f"window {number} of {self.num_windows(length)}")
            out[i] = self.tokens[number * length : number * length + length + 1]
        return out

    def _need(self, layout: str) -> None:
        if self.layout != layout:
            raise ConfigError(
                f"the store has layout {self.layout!r}, and this needs {layout!r}",
                hint=f"samebits tokens convert {self.folder} -o OUT --layout {layout}",
            )


def _check_about(artifact: Artifact, about: Any) -> None:
    """Check what a store says of itself; only then its fields are used."""
    path = artifact.path("store.json")
    checked.ensure(isinstance(about, dict), path, "not an object")
    found = about.get("format")
    checked.ensure(found == STORE_FORMAT, path, f"format {found!r} is not {STORE_FORMAT!r}")
    checked.fields(artifact, "store.json", StoreAbout)


def _load(artifact: Artifact, split: str, about: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    dtype = np.dtype(about["dtype"])
    if about["layout"] == "rows":
        tokens = checked.array(artifact, f"{split}.tokens.npy", dtype, shape=(None, None), mmap=True)
        lengths = artifact.array(f"{split}.lengths.npy", mmap=True)
        path = artifact.path(f"{split}.lengths.npy")
        checked.ensure(
            lengths.dtype.kind == "u" and lengths.shape == tokens.shape[:1], path, "not one length per row"
        )
        if len(lengths):
            told = f"a row of {int(lengths.max())} tokens in rows of {tokens.shape[1]}"
            checked.ensure(int(lengths.max()) <= tokens.shape[1], path, told)
        return tokens, lengths
    offsets = checked.array(artifact, f"{split}.offsets.npy", np.uint64, mmap=True)
    path = artifact.path(f"{split}.bin")
    size = path.stat().st_size
    checked.ensure(size % dtype.itemsize == 0, path, f"{size} bytes is not a whole number of tokens")
    checked.offsets(artifact.path(f"{split}.offsets.npy"), offsets, total=size // dtype.itemsize)
    # an empty file cannot be mapped
    empty: NDArray[Any] = np.empty(0, dtype)
    return (np.memmap(path, dtype, "r") if size else empty), offsets
