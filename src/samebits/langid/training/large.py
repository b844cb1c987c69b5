"""Which trainings are done on the workers, and the stages they have: apart from their code, so that small ones need not load it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from samebits.core.plan import Plan
from samebits.data.folding.shape import MOST_ROW_UNITS, row_starts
from samebits.langid.config import LangidConfig

__all__ = [
    "MODEL_ARRAYS",
    "STAGES",
    "WRITE",
    "input_bytes",
    "is_large",
    "node_bytes",
    "node_starts",
]

# Of the inputs, unpacked. Below it files between the stages cost more than they save; in exact mode they are felt for longer,
# because its stages are so quick.
LEAST_BYTES = {"exact": 1 << 30, "backoff": 256 << 20, "compact": 256 << 20}

# Of an input as large as this nodes are twice as large: every one costs the driver its share in every stage.
HUGE_BYTES = 100 << 30

# The tables of words in a model, and their numbers.
MODEL_ARRAYS: tuple[tuple[str, str], ...] = (
    ("words.npy", "|u1"),
    ("word_sizes.npy", "<u4"),
    ("entry_sizes.npy", "<u4"),
    ("entry_languages.npy", "<u2"),
    ("entry_counts.npy", "<u4"),
)
WRITE = "write words"
# A number behind some of them says which cycle it is.
STAGES = (
    "duplicates",
    "count reduce",
    "words",
    "sample",
    "ledger",
    WRITE,
    "write dropped.jsonl",
)


def is_large(plan: Plan, config: LangidConfig) -> bool:
    """Whether an input is worth keeping with the workers. A Parquet ledger is written by one process, which needs all of it."""
    return input_bytes(plan) >= LEAST_BYTES[config.mode] and config.ledger != "parquet"


def node_bytes(num_bytes: int) -> int:
    """Return how much text of an input of that size a worker holds as rows."""
    return 2 * MOST_ROW_UNITS if num_bytes >= HUGE_BYTES else MOST_ROW_UNITS


def node_starts(plan: Plan) -> NDArray[np.int64]:
    """Return the first shard of each node."""
    return row_starts(plan.shards, node_bytes(plan.shards.num_units))


def input_bytes(plan: Plan) -> int:
    """Return how large the inputs are: unpacked where they can be cut, which shards then say."""
    return max(int(plan.inputs.corpus.num_bytes), plan.shards.num_units)
