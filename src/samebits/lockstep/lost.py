"""The error for a lost worker: who it was, which shards it had, at which step, why, and what to type next."""

from __future__ import annotations

from samebits.errors import WorkerLost
from samebits.lockstep.tree import shards_of

__all__ = ["AGAIN", "lost_worker"]

AGAIN = (
    "give the same torchrun command again, with any number of ranks: it goes on from the last checkpoint; "
    "torchrun --max-restarts 3 does that by itself"
)


def lost_worker(
    number: int, workers: int, num_shards: int, *, step: int, reason: str, is_rank: bool
) -> WorkerLost:
    """Return the error; a worker of this process is called worker, one of torchrun rank.

    >>> lost_worker(1, 2, 4, step=7, reason="killed by SIGKILL", is_rank=True).message
    'rank 1 (shards 2-3) was lost at step 7: killed by SIGKILL'
    """
    shards = shards_of(number, workers, num_shards)
    named = f"shard {shards[0]}" if len(shards) == 1 else f"shards {shards[0]}-{shards[-1]}"
    name = "rank" if is_rank else "worker"
    here = "if memory ran out, use fewer workers; the same call continues from the last checkpoint"
    return WorkerLost(
        f"{name} {number} ({named}) was lost at step {step}: {reason}",
        shard=shards[0],
        reason=reason,
        rank=number if is_rank else None,
        hint=AGAIN if is_rank else here,
    )
