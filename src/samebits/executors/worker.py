"""The worker's side: run one shard and describe what happened. The same function runs under every executor.

``run_shard`` never raises for a fault of the task: an exception that cannot be pickled, or a result that explodes when
it is unpickled, would take the whole pool with it. Results cross a process border as canonical bytes, never as pickles.
"""

from __future__ import annotations

import pickle
import traceback
from functools import lru_cache
from pathlib import Path
from typing import Any

from samebits.core import clock
from samebits.core.codec import encode
from samebits.core.digest import digest_of
from samebits.core.executor import Done, Failed, Handle, Outcome, Task
from samebits.core.plan import Shard
from samebits.errors import SamebitsError

__all__ = ["run_shard", "state_of"]


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
        if encoded:
            part = encode(part)
            digest = _digest_bytes(part)
        else:
            digest = digest_of(part)
    except SamebitsError as error:
        return Failed(shard.index, error.message, traceback.format_exc(), error)
    except Exception as error:
        return Failed(shard.index, f"{type(error).__name__}: {error}", traceback.format_exc(), None)
    return Done(shard.index, part, encoded, digest, started, clock.seconds() - started, worker)


def _digest_bytes(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


def state_of(handle: Handle) -> Any:
    """Return the published state; a state on disk is loaded once in each process."""
    return _load_state(handle.path) if handle.path else handle.value


@lru_cache(maxsize=2)
def _load_state(path: str) -> Any:
    # Written by our own driver a moment ago into a folder only this user can write: see processes.publish.
    return pickle.loads(Path(path).read_bytes())  # noqa: S301 - see above
