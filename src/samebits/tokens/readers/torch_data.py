"""A token store for PyTorch: a map-style dataset of rows and a stream of batches that resumes exactly.

The only file of this job that imports torch; import it when torch is there::

    from samebits.tokens.readers.torch_data import TokenDataset, TokenStream

    stream = TokenStream(TokenStore.open("corpus"), length=1024, batch_size=32, seed=0)
    for inputs, targets in DataLoader(stream, batch_size=None, num_workers=2): ...

The order of windows is a permutation keyed by (seed, epoch), and batch ``b`` is a fixed slice of it. Loader workers take
batches in turn and replicas take rows of each batch, so neither number reaches what the model sees, and a position is
one number: the batch to go on with.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from samebits.data.token_store import TokenStore, epoch_order
from samebits.errors import ConfigError, MissingExtra

try:
    import torch
    from torch.utils.data import IterableDataset, get_worker_info
except ImportError:
    raise MissingExtra("torch", extra="torch", needed_for="TokenDataset and TokenStream") from None

__all__ = ["TokenDataset", "TokenStream"]


class TokenDataset:
    """Rows as ``(input, target, mask)`` of int64 and bool tensors; map-style, so it needs no base class.

    Args:
        store: A store of layout ``rows``.
        loss_on: ``all`` tokens, or the ``answer`` after the separator.
    """

    def __init__(self, store: TokenStore, *, loss_on: str = "all") -> None:
        if loss_on not in ("all", "answer"):
            raise ConfigError(f"loss_on is {loss_on!r}", hint="use 'all' or 'answer'")
        self.store, self.loss_on = store, loss_on
        self._mask = store.mask if loss_on == "all" else store.loss_mask
        self._mask(slice(0, 0))  # a store of another layout is refused here and not in a worker

    def __len__(self) -> int:
        return len(self.store)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        if not 0 <= row < len(self.store):
            raise IndexError(f"row {row} of {len(self.store)}")
        tokens = torch.from_numpy(self.store.tokens[row].astype(np.int64))
        mask = self._mask(np.array([row], np.int64))[0]
        return tokens[:-1], tokens[1:], torch.from_numpy(mask)


class TokenStream(IterableDataset):  # type: ignore[type-arg]  # generic only for type checkers
    """Batches of windows of a packed store as ``(inputs, targets)``; use it with ``batch_size=None``.

    Args:
        store: A store of layout ``packed``.
        length: Tokens of an input.
        batch_size: Windows of a batch, over all replicas.
        seed: Seed of the order.
        epoch: Which epoch's order.
        start: The batch to begin with.
        shuffle: False keeps the stored order.
        replica: Which of ``replicas`` equal parts of each batch this one takes.
        replicas: How many there are.
    """

    def __init__(
        self,
        store: TokenStore,
        *,
        length: int,
        batch_size: int,
        seed: int = 0,
        epoch: int = 0,
        start: int = 0,
        shuffle: bool = True,
        replica: int = 0,
        replicas: int = 1,
    ) -> None:
        if batch_size % replicas or not 0 <= replica < replicas:
            raise ConfigError(
                f"batch_size {batch_size} cannot be divided among {replicas} replicas (this one is {replica})",
                hint="use a multiple of the number of replicas",
            )
        self.store, self.length, self.batch_size = store, length, batch_size
        self.seed, self.epoch, self.start, self.shuffle = seed, epoch, start, shuffle
        self.replica, self.replicas = replica, replicas
        self.num_windows = store.num_windows(length)

    def __len__(self) -> int:
        """Batches of an epoch; windows left over at the end are in another batch of the next epoch's order."""
        return self.num_windows // self.batch_size

    def batch(self, number: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return one batch by number."""
        share = self.batch_size // self.replicas
        first = number * self.batch_size + self.replica * share
        positions = np.arange(first, first + share, dtype=np.int64)
        if self.shuffle:
            positions = epoch_order(self.num_windows, positions, seed=self.seed, epoch=self.epoch)
        tokens = torch.from_numpy(self.store.windows(positions, self.length))
        return tokens[:, :-1], tokens[:, 1:]

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        worker = get_worker_info()
        first, step = (self.start, 1) if worker is None else (self.start + worker.id, worker.num_workers)
        return (self.batch(number) for number in range(first, len(self), step))

    def state_dict(self, *, consumed: int) -> dict[str, int]:
        """Return the position after ``consumed`` batches of this stream; the loader may have fetched more."""
        return {"seed": self.seed, "epoch": self.epoch, "start": self.start + consumed}

    def load_state_dict(self, state: dict[str, int]) -> None:
        """Go on from a position.

        Raises:
            ConfigError: if it belongs to a stream of another seed.
        """
        if state["seed"] != self.seed:
            raise ConfigError(
                f"the position is of seed {state['seed']}, and this stream has seed {self.seed}"
            )
        self.epoch, self.start = state["epoch"], state["start"]
