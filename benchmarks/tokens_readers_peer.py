"""What others read of a store: runs in their environment, so it imports nothing of samebits.

Usage: ``python tokens_readers_peer.py STORE ARROW``. Prints one JSON object: reader -> documents, tokens and a sha256 over
each document's length and ids.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

WINDOWS, LENGTH = 64, 128  # of the nanoGPT-style loader


def digest(documents: Iterable[Any]) -> dict[str, Any]:
    """Return what identifies a sequence of documents."""
    total, number, tokens = hashlib.sha256(), 0, 0
    for document in documents:
        ids = np.asarray(document, "<i8")
        total.update(len(ids).to_bytes(8, "little") + ids.tobytes())
        number, tokens = number + 1, tokens + len(ids)
    return {"documents": number, "tokens": tokens, "sha256": total.hexdigest()}


def windows(stream: Any) -> Iterable[Any]:
    """Inputs and targets as nanoGPT's ``get_batch`` cuts them from its ``train.bin``, places by a fixed rule."""
    for number in range(WINDOWS):
        at = number * 7919 % (len(stream) - LENGTH - 1)
        yield stream[at : at + LENGTH].astype(np.int64)
        yield stream[at + 1 : at + 1 + LENGTH].astype(np.int64)


def main() -> None:
    """Read the store three ways."""
    from datasets import Dataset
    from megatron.core.datasets.indexed_dataset import IndexedDataset

    store, arrow = sys.argv[1:]
    indexed = IndexedDataset(str(Path(store) / "train"))
    table = Dataset.from_file(arrow)
    found = {
        "megatron_core": digest(indexed[row] for row in range(len(indexed))),
        "nanogpt": digest(windows(np.memmap(Path(store) / "train.bin", np.uint16, "r"))),
        "datasets": digest(row["input_ids"] for row in table),
        "versions": {name: version(name) for name in ("megatron-core", "datasets", "numpy", "torch")},
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
