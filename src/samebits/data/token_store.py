"""Read a token store: memory-mapped arrays, no copy until a batch is asked for. NumPy alone.

>>> store = TokenStore.open("corpus-tokens")                     # doctest: +SKIP
>>> store.input[:8], store.target[:8], store.mask(slice(8))      # doctest: +SKIP

Rows and windows are addressed by number. An epoch's order is a permutation keyed by (seed, epoch) that can be asked for
any position, so a reader resumes exactly where it was and nothing is ever stored or shuffled in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.seeds import key_for
from samebits.data.artifact import Artifact, open_artifact
from samebits.errors import ArtifactCorrupt, ConfigError, did_you_mean
from samebits.kernels.tokens.order import permute

__all__ = ["STORE_FORMAT", "TokenStore", "epoch_order"]

STORE_FORMAT = "samebits.tokens.v1"
Index = int | slice | NDArray[np.int64]


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
        if about.get("format") != STORE_FORMAT:
            raise ArtifactCorrupt(f"{folder}: format {about.get('format')!r} is not {STORE_FORMAT!r}")
        if split not in about["splits"]:
            raise ConfigError(f"{folder} has no split {split!r}", hint=did_you_mean(split, about["splits"]))
        prompts = artifact.array(f"{split}.prompts.npy", mmap=True) if about["prompts"] else None
        tokens, lengths = _load(artifact, split, about)
        source = artifact.array(f"{split}.source.npy", mmap=True)
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


def _load(artifact: Artifact, split: str, about: dict[str, Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    if about["layout"] == "rows":
        tokens = artifact.array(f"{split}.tokens.npy", mmap=True)
        return tokens, artifact.array(f"{split}.lengths.npy", mmap=True)
    offsets = artifact.array(f"{split}.offsets.npy", mmap=True)
    path, dtype = artifact.path(f"{split}.bin"), np.dtype(about["dtype"])
    if path.stat().st_size != int(offsets[-1]) * dtype.itemsize:
        raise ArtifactCorrupt(f"{path}: {path.stat().st_size} bytes do not hold {int(offsets[-1])} tokens")
    # an empty file cannot be mapped
    empty: NDArray[Any] = np.empty(0, dtype)
    return (np.memmap(path, dtype, "r") if path.stat().st_size else empty), offsets
