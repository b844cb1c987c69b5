"""What a worker of Dask runs: the shards of one message."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from samebits.core.plan import Shard
from samebits.executors.cluster.answers import Answers
from samebits.executors.cluster.claims import Claims
from samebits.executors.cluster.workers import leave_answers, work_together

__all__ = ["run_message"]


def run_message(
    task_key: str,
    state_key: str,
    task: bytes,
    state: bytes,
    shards: tuple[Shard, ...],
    claims: Claims | None,
) -> Answers:
    """Return the answers of some shards; they are left in the spool too, under the key of this task."""
    distributed: Any = import_module("distributed")
    worker = distributed.get_worker()
    fetch = (task_key, lambda: task), (state_key, lambda: state)
    name = str(worker.get_current_task())
    answers = work_together(*fetch, shards, worker.address, claims)
    leave_answers(task_key, name, answers)
    return answers
