"""Train an objective: the entry for jobs, and what ``samebits.fit`` calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from samebits.core.place import Place
from samebits.lockstep.config import Every, FitConfig
from samebits.lockstep.events import FitObserver, ignore
from samebits.lockstep.objective import Floats, Objective

__all__ = ["FitResult", "train"]


@dataclass(frozen=True, slots=True)
class FitResult:
    """What a training run made. The history covers all steps from 0, also those before a resume.

    Attributes:
        params: The trained tensors by name.
        digest: sha256 over parameters and optimizer state.
        steps_done: Updates made; fewer than asked for after an early stop or a ``stop``.
        finished: False only when ``stop`` ended the run; the same call goes on.
        exact: False when a resume on another machine or library version was allowed.
        losses: Loss of each step.
        grad_norms: Gradient norm of each step, before clipping.
        lrs: Learning rate of each step.
        norms_crcs: crc32 of the chunk norms of each step.
        validations: (steps done, loss) of each validation.
        compute: Mode of a Modal objective, else "".
        fingerprint: CPU and libraries the workers had.
        memory: Bytes by what: ``shared`` for the mapping, ``largest_worker`` for the peak of one worker.
    """

    params: Mapping[str, Floats]
    digest: str
    steps_done: int
    finished: bool
    exact: bool
    losses: NDArray[np.float64]
    grad_norms: NDArray[np.float64]
    lrs: NDArray[np.float64]
    norms_crcs: NDArray[np.uint32]
    validations: tuple[tuple[int, float], ...]
    compute: str = ""
    fingerprint: Mapping[str, str] = field(default_factory=dict)
    memory: Mapping[str, int] = field(default_factory=dict)


def train(
    objective: Objective,
    config: FitConfig,
    *,
    place: Place,
    every: Every | None = None,
    observer: FitObserver = ignore,
    allow_environment_change: bool = False,
    stop: Callable[[], bool] | None = None,
) -> FitResult:
    """Train until ``config.steps`` are done, or go on from the newest checkpoint of ``place.folder``.

    Args:
        objective: What to train; stays unbound, workers get a copy.
        config: Everything that may change the result.
        place: Where and with how many workers; never changes the result.
        every: When to save checkpoints; without one, every minute.
        observer: Told of every event, in this thread.
        allow_environment_change: Resume also where CPU or libraries differ; the result is marked ``exact=False``.
        stop: Asked after every step; when it says True, the run saves a checkpoint and returns unfinished.

    Raises:
        ConfigError: a setting, or more workers than shards.
        NotDeterministic: the probe gave two different gradients.
        NotFinite: a loss or gradient is NaN or infinite; names step and shard.
        ShardFailed: the objective raised; names step and shard.
        WorkerLost: a worker died or hung more often than ``place.restarts``.
        PlanMismatch: the checkpoints belong to a run with other settings.
        EnvironmentMismatch: the checkpoints were made with another CPU or library version.
        Interrupted: Ctrl-C; a checkpoint was saved if there is a folder.
    """
    raise NotImplementedError
