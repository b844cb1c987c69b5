"""Events as JSON lines beside the record: the timeline of a run, for the report and for ``verify --rerun``.

Written as they come, because a run of a million shards should not hold a million events in memory.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from samebits.core.events import Event
from samebits.data.files import writing

__all__ = ["EventLog", "event_line"]


def event_line(event: Event) -> bytes:
    """Return an event as one flat JSON object and a newline."""
    fields: dict[str, Any] = {"event": type(event).__name__, **asdict(event)}
    return msgspec.json.encode(fields) + b"\n"


class EventLog:
    """An observer that writes every event to a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with writing(path):
            self._file = path.open("wb")

    def __call__(self, event: Event) -> None:
        """Write one event."""
        with writing(self.path):
            self._file.write(event_line(event))

    def move_to(self, path: Path) -> None:
        """End the log and put the file where it belongs."""
        with writing(path):
            self._file.close()
            self.path.rename(path)

    def close(self) -> None:
        """End the log where it is; a full disk was reported when writing."""
        try:
            self._file.close()
        except OSError:
            return
