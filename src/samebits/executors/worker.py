"""The worker's side: run one shard and describe what happened. The same function runs under every executor.

``run_shard`` never raises for a fault of the task: an exception that cannot be pickled, or a result that explodes when
it is unpickled, would take the whole pool with it. Results cross a process border as canonical bytes, never as pickles.
"""

from __future__ import annotations

import hashlib
from typing import Any

from samebits.core.codec import encode
from samebits.core.digest import digest_of_part
from samebits.core.observing import clock
from samebits.core.plan import Shard
from samebits.core.ports.executor import Done, Failed, Outcome, Task
from samebits.errors import SamebitsError, WorkerLost

__all__ = ["failed", "run_shard"]


def run_shard(task: Task, shard: Shard, state: Any, *, worker: str, encoded: bool) -> Outcome:
    """Run a task on a shard; the part is digested here, where it costs the driver nothing.

    Args:
        task: What to do.
        shard: What to do it with.
        state: The published state.
        worker: Name of this worker, for the timeline.
        encoded: Return the part as canonical bytes (it will cross a process border).
    """
    started = clock.seconds()
    try:
        part = task(shard, state)
        if hasattr(part, "_asdict") and type(part) is not getattr(task, "part_type", None):
            name = type(part).__name__
            raise TypeError(f"the part is a {name}, but its task does not say part_type = {name}")
        if encoded:
            part = encode(part)
            digest = hashlib.sha256(part).hexdigest()
        else:
            digest = digest_of_part(part)
    except (Exception, SystemExit) as error:
        return failed(shard, error)
    return Done(shard.index, part, encoded, digest, started, clock.seconds() - started, worker)


def failed(shard: Shard, error: BaseException) -> Failed:
    """Describe the exception that is being handled; memory that ran out is a lost worker, because it may not repeat."""
    import traceback  # only for faults

    trace = traceback.format_exc()
    if isinstance(error, MemoryError):
        reason = "out of memory"
        return Failed(shard.index, reason, trace, WorkerLost(reason, shard=shard.index, reason=reason))
    if isinstance(error, SamebitsError):
        return Failed(shard.index, error.message, trace, error)
    try:
        summary = f"{type(error).__name__}: {error}"
    except Exception:
        summary = f"{type(error).__name__}, which has no text"  # its __str__ raises
    return Failed(shard.index, summary, trace, None)
