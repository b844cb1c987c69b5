"""Train an objective: the entry for jobs, and what ``samebits.fit`` calls.

One run is one or more attempts. An attempt starts workers from a state (a checkpoint, or nothing), follows what they say and
saves checkpoints while they compute. A lost worker ends the attempt; the next one begins at the last checkpoint and gives the
same bits, because no part of a step depends on who computes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from samebits.core.observing.events import Warned
from samebits.core.ports.place import PartDone, Place, Replayed
from samebits.errors import ConfigError, WorkerLost
from samebits.lockstep.exchange.memory import Sizes
from samebits.lockstep.parent.attempts import Attempt, Run, digest_of_state
from samebits.lockstep.parent.checkpoints import Checkpoint, load_nearest, load_newest, remove_all
from samebits.lockstep.parent.events import FitObserver, ignore
from samebits.lockstep.parent.replay import replay_result
from samebits.lockstep.parent.resume import Identity, check_run
from samebits.lockstep.problem.config import Every, FitConfig
from samebits.lockstep.problem.layout import make_layout
from samebits.lockstep.problem.objective import Floats, Objective, Validated
from samebits.lockstep.problem.optional_methods import check_shards, identity_of
from samebits.lockstep.worker.optimizers.share import check_matrices

__all__ = ["FitResult", "train"]


@dataclass(frozen=True, slots=True)
class FitResult:
    """What a training run made. The history covers all steps from 0, also those before a resume.

    Attributes:
        params: The trained tensors by name: their average where the settings ask for one.
        digest: sha256 over parameters, optimizer state and average.
        steps_done: Updates made; fewer than asked for after an early stop or a ``stop``.
        finished: False only when ``stop`` ended the run; the same call goes on.
        exact: False when a resume on another machine or library version was allowed.
        losses: Loss of each step.
        grad_norms: Gradient norm of each step, before clipping.
        lrs: Learning rate of each step.
        norms_crcs: crc32 of the chunk norms of each step.
        validations: (steps done, loss) of each validation.
        compute: Mode of a Modal objective, else "".
        fingerprint: What the bits depend on besides the settings: the version of the arithmetic; CPU and libraries too for an
            objective that is not portable.
        memory: Bytes by what: ``shared`` for the mapping, ``largest_worker`` for the peak of one worker.
        module: The trained torch module, where ``samebits.fit`` was given one; ready to predict.
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
    module: Any = None

    def __repr__(self) -> str:
        """Say how far it came; tensors and history are attributes."""
        loss = f", loss {float(self.losses[-1]):.4f}" if len(self.losses) else ""
        return f"<FitResult {self.digest[:16]}: {self.steps_done} steps{loss}>"


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
        ClusterLost: other ranks cannot be reached.
        PartDone: this rank only helps, and rank 0 has the result.
        Replayed: the steps of ``place.replay`` are computed.
    """
    identity = _identity(objective, config, place)
    run = Run(
        objective=objective,
        config=config,
        identity=identity,
        sizes=Sizes(
            identity.layout.size,
            config.shards,
            place.workers,
            _validation_shards(objective),
            averaged=config.average > 0,
        ),
        place=place,
        every=every or Every(),
        observer=observer,
        allow_environment_change=allow_environment_change,
        stop=stop,
    )
    if place.folder and not place.resume:
        remove_all(place.folder)
    found = _find(run)
    if found is None and place.folder and run.every.kept:
        remove_all(run.every.kept)  # of another run that had this output before
    if found:
        check_run(found, config, run.identity)
    return _attempts(run, found)


def _attempts(run: Run, found: Checkpoint | None) -> FitResult:
    """Start again from the last checkpoint as often as the place allows; a lost rank is torchrun's to start again."""
    losses, place = 0, run.place
    while True:
        attempt = Attempt(run, found)
        try:
            attempt.go()
            if place.helps:
                raise PartDone
            if place.replay:
                raise Replayed(replay_result(run, attempt))
            return _result(run, attempt)
        except WorkerLost as error:
            losses = 1 if attempt.saved else losses + 1
            if losses > place.restarts or place.rank is not None:
                raise
            found = _find(run)
            run.observer(Warned(f"{error.message}; starting again from step {found.step if found else 0}"))


def _identity(objective: Objective, config: FitConfig, place: Place) -> Identity:
    """Check what can be checked before any process starts, and say what the run is."""
    config.check()
    if not 1 <= place.workers <= config.shards:
        raise ConfigError(
            f"{place.workers} workers for {config.shards} gradient shards",
            hint=f"use 1 to {config.shards} workers; more shards allow more, but change the bits",
        )
    check_shards(objective, config.shards)
    layout = make_layout(objective.spec())
    check_matrices(config, layout)
    return Identity(layout, identity_of(objective))


def _validation_shards(objective: Objective) -> int:
    return objective.num_validation_shards() if isinstance(objective, Validated) else 0


def _find(run: Run) -> Checkpoint | None:
    if run.place.replay is not None:
        return load_nearest(run.place.replay.folder, run.place.replay.start)
    if run.place.folder is None:
        return None
    return load_newest(run.place.folder, lambda text: run.observer(Warned(text)))


def _result(run: Run, attempt: Attempt) -> FitResult:
    history = attempt.history.tensors()
    return FitResult(
        params=run.identity.layout.views(attempt.tensors["average" if run.config.average else "params"]),
        digest=digest_of_state(attempt.tensors),
        steps_done=attempt.steps_done,
        finished=not attempt.stopped,
        exact=attempt.exact,
        losses=history["losses"],
        grad_norms=history["grad_norms"],
        lrs=history["lrs"],
        norms_crcs=history["norms_crcs"],
        validations=tuple(attempt.history.validations),
        compute=attempt.compute,
        fingerprint=attempt.fingerprint,
        memory={"shared": run.sizes.num_bytes, "largest_worker": attempt.peak_bytes},
    )
