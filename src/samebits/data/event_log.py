"""Events as JSON lines beside the record: the timeline of a run, for the report and for ``verify --rerun``."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from samebits.core.events import Event

__all__ = ["EventLog", "event_line"]


def event_line(event: Event) -> dict[str, Any]:
    """Return an event as one flat JSON object."""
    return {"event": type(event).__name__, **asdict(event)}


@dataclass
class EventLog:
    """An observer that keeps all events, about 200 bytes each."""

    events: list[Event] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        """Keep one event."""
        self.events.append(event)

    def save(self, path: Path) -> None:
        """Write all events, one a line."""
        path.write_bytes(msgspec.json.Encoder().encode_lines([event_line(event) for event in self.events]))
