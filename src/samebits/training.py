"""``samebits.fit``: train any objective on all cores, with the same bits for any number of them.

This is the front door of ``samebits.lockstep``, as ``api`` is that of jobs: the one place where WHAT (FitConfig) and HOW
(RunOptions) meet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from samebits.core.observing.events import Event
from samebits.core.options import RunOptions
from samebits.core.ports.place import Place
from samebits.data.lock import OutputLock
from samebits.errors import ConfigError
from samebits.lockstep.logs.told import TrainingTold
from samebits.lockstep.parent.events import FitEvent, FitObserver, ignore
from samebits.lockstep.parent.train import FitResult, train
from samebits.lockstep.problem.config import Every, FitConfig
from samebits.lockstep.problem.given import as_batches, as_objective, validated
from samebits.lockstep.problem.objective import Objective
from samebits.machine.cores import choose_workers
from samebits.machine.ranks import Ranks, ranks_for
from samebits.progress.notebook import Show, showing

__all__ = ["fit"]


def fit(
    objective: Any,
    data: Any = None,
    *,
    steps: int,
    loss: Callable[..., Any] | None = None,
    batch: int | None = None,
    validation: Sequence[Any] | None = None,
    checkpoint: str | Path | None = None,
    every: Every | Mapping[str, float] | None = None,
    options: RunOptions | None = None,
    observer: FitObserver = ignore,
    progress: Show = "auto",
    allow_environment_change: bool = False,
    stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> FitResult:
    """Train an objective; the result depends on objective, data and settings, never on the workers.

    Args:
        objective: A model (``samebits.arithmetic.network``), a torch module with ``loss=``, or an objective of ``samebits.lockstep``.
        data: Arrays (one, a tuple or a dict of them), a torch ``DataLoader``, or a source of batches such as ``ArrayBatches``.
        steps: Updates to make.
        loss: For a torch module: torch's own of (outputs, targets), or a function of (module, batch).
        batch: Rows of one step, for arrays; 64 if not given.
        validation: Batches whose mean loss is the validation loss.
        checkpoint: Folder for exact checkpoints; the same call continues from the newest of them.
        every: When to save them, e.g. ``{"steps": 200, "seconds": 300}``; without it, every minute (``"seconds": 0``: never).
        options: ``workers``, ``resume``, ``retries``, ``stall_timeout`` and ``pin_cores`` have a meaning here. Under torchrun every
            rank is one worker and all return the same result; ``executor="lockstep"`` starts workers on this machine instead.
        observer: Told of every step, validation and checkpoint (``samebits.lockstep.parent.events``); by rank 0 alone.
        progress: Show progress: True, False, or "auto" for notebooks only.
        allow_environment_change: Continue also where CPU or libraries differ; marks the result ``exact=False``.
        stop: Asked after every step, by rank 0 alone; True saves a checkpoint and returns unfinished.
        settings: Any other field of ``samebits.lockstep.problem.config.FitConfig``: shards, optimizer, lr, schedule, seed, ...

    Raises:
        SamebitsError: one of its subclasses; see ``samebits.lockstep.parent.train.train``.
    """
    options = options or RunOptions()
    config = _config(steps, settings)
    objective = _with_data(validated(as_objective(objective, loss), validation), data, batch, config)
    ranks = ranks_for(options.executor, options.num_workers())
    folder = Path(checkpoint) if checkpoint is not None else None
    if ranks is not None and not ranks.writes:
        folder, observer, stop = None, ignore, None
    place = _place(options, config, ranks, folder)
    when = every if isinstance(every, Every) or every is None else _every(every)
    with _locked(folder), _shown(observer, progress, ranks) as told:
        found = train(
            objective,
            config,
            place=place,
            every=when,
            observer=told,
            allow_environment_change=allow_environment_change,
            stop=stop,
        )
    return replace(found, module=objective.trained(found.params)) if hasattr(objective, "trained") else found


def _place(options: RunOptions, config: FitConfig, ranks: Ranks | None, folder: Path | None) -> Place:
    return Place(
        workers=_workers(options, config, ranks),
        folder=folder,
        resume=options.resume,
        restarts=options.retries,
        stall_timeout=options.stall_timeout,
        pin_cores=options.pin_cores,
        rank=ranks.rank if ranks else None,
    )


@contextmanager
def _shown(observer: FitObserver, progress: Show, ranks: Ranks | None) -> Iterator[FitObserver]:
    """Give an observer that also shows progress; rank 0 shows it for all."""
    with showing(progress if ranks is None or ranks.writes else False, _nothing) as shown:
        told = TrainingTold(shown, unit="steps", units_per_step=1)

        def tell(event: FitEvent) -> None:
            told(event)
            observer(event)

        yield tell


def _nothing(event: Event) -> None:
    """Observe nothing."""


def _config(steps: int, settings: Mapping[str, Any]) -> FitConfig:
    try:
        config = FitConfig(steps=steps, **settings)
    except TypeError as error:
        raise ConfigError(
            f"fit: {error}", hint="settings are the fields of samebits.lockstep.problem.config.FitConfig"
        ) from None
    config.check()
    return config


def _every(given: Mapping[str, float]) -> Every:
    """Read settings of checkpoints; what is not given is as in ``Every()``."""
    whole = {"steps": int, "keep": int, "keep_every": int, "seconds": float}
    unknown = sorted(set(given) - set(whole))
    if unknown:
        raise ConfigError(f"every has {unknown[0]!r}", hint=f"known: {', '.join(sorted(whole))}")
    return Every(**{name: whole[name](value) for name, value in given.items()})


def _with_data(objective: Any, data: Any, batch: int | None, config: FitConfig) -> Objective:
    if data is None:
        return objective  # type: ignore[no-any-return]  # it was checked
    if not hasattr(objective, "with_data"):
        raise ConfigError(
            f"{type(objective).__name__} takes no data", hint="an objective of your own holds its data itself"
        )
    batches = as_batches(data, batch=batch, shards=config.shards, seed=config.seed)
    found: Objective = objective.with_data(batches)
    return found


def _workers(options: RunOptions, config: FitConfig, ranks: Ranks | None) -> int:
    asked = ranks.world if ranks is not None else options.num_workers()
    if asked is not None and asked > config.shards:
        raise ConfigError(
            f"{asked} {'ranks' if ranks else 'workers'} for {config.shards} gradient shards",
            hint=f"use at most {config.shards} workers; more shards allow more, but change the bits",
        )
    return choose_workers(asked, num_shards=config.shards).workers


def _locked(folder: Path | None) -> Any:
    """Hold the folder against a second run."""
    if folder is None:
        return nullcontext()
    lock = OutputLock(folder / "lock", output=folder)
    return closing(_Held(lock))


class _Held:
    """A lock with the method that ``closing`` calls."""

    def __init__(self, lock: OutputLock) -> None:
        self.close = lock.release
