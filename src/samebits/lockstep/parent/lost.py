"""The error for a lost worker: who it was, which shard it had in hand, at which step, why, and what to type next."""

from __future__ import annotations

from collections.abc import Sequence

from samebits.errors import WorkerLost

__all__ = ["AGAIN", "lost_worker"]

AGAIN = (
    "give the same torchrun command again, with any number of ranks: it goes on from the last checkpoint; "
    "torchrun --max-restarts 3 does that by itself"
)


def lost_worker(number: int, shards: Sequence[int], *, step: int, reason: str, is_rank: bool) -> WorkerLost:
    """Return the error; a worker of this process is called worker, one of torchrun rank.

    Args:
        number: Which one.
        shards: The shard a worker had in hand, if any; all shards of a rank, which has its own.
        step: The step it was lost at.
        reason: Why.
        is_rank: Whether it is one of torchrun's.

    >>> lost_worker(1, range(2, 4), step=7, reason="killed by SIGKILL", is_rank=True).message
    'rank 1 (shards 2-3) was lost at step 7: killed by SIGKILL'
    >>> lost_worker(1, [5], step=7, reason="killed by SIGKILL", is_rank=False).message
    'worker 1 (shard 5) was lost at step 7: killed by SIGKILL'
    """
    name = f"{'rank' if is_rank else 'worker'} {number}"
    if shards:
        name += f" (shard {shards[0]})" if len(shards) == 1 else f" (shards {shards[0]}-{shards[-1]})"
    here = "if memory ran out, use fewer workers; the same call continues from the last checkpoint"
    return WorkerLost(
        f"{name} was lost at step {step}: {reason}",
        shard=shards[0] if shards else None,
        reason=reason,
        rank=number if is_rank else None,
        hint=AGAIN if is_rank else here,
    )
