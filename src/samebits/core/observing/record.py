"""RunRecord: what a run was, for people and for the report. It holds every accident the artifact must not hold."""

from __future__ import annotations

from dataclasses import asdict, field
from pathlib import Path
from typing import Any

from samebits.core.digest import canonical_json
from samebits.core.light_dataclass import dataclass
from samebits.core.observing.events import Event, ShardDone, StageDone

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

    def __repr__(self) -> str:
        """Say what matters in one line; every field is there to be asked for."""
        workers = f"{self.workers} worker{'' if self.workers == 1 else 's'}"
        return f"<RunRecord {self.job}: {self.artifact_digest[:16]}, {workers} ({self.executor}), {self.seconds:.2f} s>"

    def _repr_html_(self) -> str:
        """Show a small table in a notebook."""
        from html import escape  # brings all names of characters

        rows = {
            "job": self.job,
            "digest": self.artifact_digest,
            "workers": f"{self.workers} ({self.executor})",
            "seconds": f"{self.seconds:.2f}",
            **{name: value for name, value in self.metrics.items() if isinstance(value, int | float | str)},
        }
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(str(name))}</th><td>{escape(str(value))}</td></tr>"
            for name, value in rows.items()
        )
        return f"<table>{cells}</table>"

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
