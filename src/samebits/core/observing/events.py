"""What a run tells while it runs. Progress line, log file and timeline are three observers of the same events."""

from __future__ import annotations

from collections.abc import Callable

from samebits.core.light_dataclass import dataclass

__all__ = [
    "Event",
    "Metric",
    "Observer",
    "ShardDone",
    "StageDone",
    "StageStarted",
    "Warned",
    "fan_out",
    "ignore",
]


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage begins; ``num_units`` is the total length of its shards, counted in ``unit`` (``bytes``, ``pairs``).

    ``pieces`` says what is counted as done: the shards of a map, the steps of a training.
    """

    stage: str
    num_shards: int
    num_units: int
    unit: str
    pieces: str = "shards"


@dataclass(frozen=True, slots=True)
class ShardDone:
    """A part arrived (in arrival order, not in shard order).

    ``started`` and ``seconds`` are on the machine's monotonic clock; ``resumed`` parts came from the journal. The steps
    before a resumed training are one event with their number as ``num_pieces``.
    """

    stage: str
    index: int
    num_units: int
    started: float
    seconds: float
    worker: str
    digest: str
    resumed: bool
    num_pieces: int = 1


@dataclass(frozen=True, slots=True)
class StageDone:
    """A stage is folded."""

    stage: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Metric:
    """A number worth showing while the run goes on, e.g. bad rows or a loss."""

    name: str
    value: float


@dataclass(frozen=True, slots=True)
class Warned:
    """Something a person should know; the run goes on."""

    message: str


Event = StageStarted | ShardDone | StageDone | Metric | Warned
Observer = Callable[[Event], None]


def ignore(event: Event) -> None:
    """Observe nothing."""


def fan_out(*observers: Observer) -> Observer:
    """Return one observer that tells all of them, in order."""

    def tell(event: Event) -> None:
        for observer in observers:
            observer(event)

    return tell
