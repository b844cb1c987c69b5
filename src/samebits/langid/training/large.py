"""Which trainings are done on the workers, and the stages they have: apart from their code, so that small ones need not load it."""

from __future__ import annotations

from samebits.core.plan import Plan
from samebits.langid.config import LangidConfig

__all__ = [
    "MODEL_ARRAYS",
    "STAGES",
    "WRITE",
    "input_bytes",
    "is_large",
]

# Of the inputs, unpacked. Below it files between the stages cost more than they save; in exact mode they are felt for longer,
# because its stages are so quick.
LEAST_BYTES = {"exact": 1 << 30, "backoff": 256 << 20, "compact": 256 << 20}

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


def input_bytes(plan: Plan) -> int:
    """Return how large the inputs are: unpacked where they can be cut, which shards then say."""
    return max(int(plan.inputs.corpus.num_bytes), plan.shards.num_units)
