"""Where a training run may work: made by the front door, carried by the engine, read by lockstep alone.

A job never sees RunOptions, so that nothing about where work runs can reach a result. A job that trains still has to say
where its steps are computed; the engine carries this little port for it, and ``lockstep`` is the only reader::

    result = train(objective, config, place=engine.place)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["STALL_TIMEOUT", "PartDone", "Place", "Replay", "Replayed"]

STALL_TIMEOUT = 60.0  # seconds without a sign of life: the one default of everything that waits for one


class Replay(NamedTuple):
    """Steps ``[start, stop)`` of a finished run, to be computed again from the nearest of its kept checkpoints."""

    start: int
    stop: int
    folder: Path


class Place(NamedTuple):
    """How a training run is carried out. Any two places give the same bits.

    Attributes:
        workers: Number of worker processes; never more than there are gradient shards.
        folder: Where checkpoints are kept; None keeps none, and a lost worker costs the run from its start.
        resume: Continue from the newest checkpoint of the folder; False throws the old ones away.
        restarts: How often lost workers are started again without a new checkpoint in between.
        stall_timeout: Seconds without a sign of life before a worker counts as lost.
        pin_cores: Tie each worker to one core.
        rank: This process runs only the worker of that number and others run the rest (torchrun); None runs all of them.
        helps: Another rank writes what comes of it: training ends with ``PartDone`` instead of a result.
        replay: Compute these steps alone: training ends with ``Replayed`` instead of a result, and saves nothing.
    """

    workers: int = 1
    folder: Path | None = None
    resume: bool = True
    restarts: int = 2
    stall_timeout: float = STALL_TIMEOUT
    pin_cores: bool = False
    rank: int | None = None
    helps: bool = False
    replay: Replay | None = None


class PartDone(BaseException):
    """This rank's part of a training job is done, and rank 0 writes the artifact; caught by the front door.

    Not an error and no Exception, so that no job mistakes it for a failure.
    """


class Replayed(BaseException):
    """The steps that ``Place.replay`` asked for are computed; carries what they gave to the front door, which asked."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result
