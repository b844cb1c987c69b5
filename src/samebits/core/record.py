"""RunRecord: what a run was, for people and for the report. It holds every accident the artifact must not hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from samebits.core.digest import canonical_json
from samebits.core.events import Event, ShardDone, StageDone

__all__ = ["RunRecord", "StageTimes"]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One finished run.

    Attributes:
        stages: Stage name -> wall seconds and shards done now and taken from the journal.
        peak_rss: Largest resident memory in bytes of the driver and of its largest worker process (0 for threads).
    """

    job: str
    config: dict[str, Any]
    inputs: tuple[str, ...]
    plan_digest: str
    artifact_digest: str
    executor: str
    workers: int
    why_workers: str
    started_at: str
    seconds: float
    stages: dict[str, dict[str, float]]
    peak_rss: dict[str, int]
    metrics: dict[str, Any]
    environment: dict[str, Any]

    def save(self, path: Path) -> None:
        """Write the record as JSON."""
        path.write_bytes(canonical_json(asdict(self)))


@dataclass
class StageTimes:
    """An observer that adds up where the time went."""

    stages: dict[str, dict[str, float]] = field(default_factory=dict)

    def __call__(self, event: Event) -> None:
        """Take note of shards and stages."""
        if isinstance(event, ShardDone):
            entry = self._entry(event.stage)
            entry["shards_resumed" if event.resumed else "shards_done"] += 1
            entry["task_seconds"] += event.seconds
        elif isinstance(event, StageDone):
            self._entry(event.stage)["seconds"] += event.seconds

    def _entry(self, stage: str) -> dict[str, float]:
        fresh = {"shards_done": 0, "shards_resumed": 0, "task_seconds": 0.0, "seconds": 0.0}
        return self.stages.setdefault(stage, fresh)
