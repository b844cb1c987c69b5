"""Events as JSON lines beside the record: the timeline of a run, for the report and for ``verify --rerun``.

Written as they come, because a run of a million shards should not hold a million events in memory, and handed to the
system at once unless they come thick and fast, because somebody may be watching (``samebits serve``). When an interrupted
run goes on, the events of the attempts before are kept in ``events.earlier.jsonl`` for as long as the journal is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from samebits.core.observing import clock
from samebits.core.observing.events import Event
from samebits.data.files import writing
from samebits.machine.memory import memory_of_all

__all__ = ["EARLIER", "EventLog", "event_line"]

EARLIER = "events.earlier.jsonl"

# Often enough for a picture. To find the children all processes of the machine are looked at, which takes milliseconds: after a
# look it rests so many times as long.
SAMPLE_SECONDS = 0.25
RESTS = 1000
SHARE_OF_RUN = 10  # of a long run fewer are as good a picture: a rest is a tenth of what it has taken so far
FLUSH_SECONDS = 0.25
FLUSHES = 20  # in that time: 80 a second at most, of 5 microseconds each
_to_json = json.JSONEncoder(separators=(",", ":")).encode


def event_line(event: Event) -> bytes:
    """Return an event as one flat JSON object and a newline."""
    # asdict copies deeply, 0.1 ms an event; events hold numbers and texts only
    fields: dict[str, Any] = {"event": type(event).__name__}
    fields |= {name: getattr(event, name) for name in event.__slots__}
    return _to_json(fields).encode() + b"\n"


def _memory_line() -> bytes:
    """Return the memory in use as a line of its own."""
    fields = {"event": "Memory", "at": clock.seconds(), "bytes": memory_of_all()}
    return _to_json(fields).encode() + b"\n"


class EventLog:
    """An observer that writes every event to a file, and the memory in use now and then."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._started = self._next_sample = self._next_flushes = clock.seconds()
        self._flushes_left = 0
        with writing(path):
            _keep_earlier(path)
            self._file = path.open("wb")

    def __call__(self, event: Event) -> None:
        """Write one event."""
        with writing(self.path):
            self._file.write(event_line(event))
            if (now := clock.seconds()) >= self._next_sample:
                self._file.write(_memory_line())
                ended = clock.seconds()
                so_far = (ended - self._started) / SHARE_OF_RUN
                self._next_sample = ended + max(SAMPLE_SECONDS, so_far, RESTS * (ended - now))
            if now >= self._next_flushes:
                self._next_flushes, self._flushes_left = now + FLUSH_SECONDS, FLUSHES
            if self._flushes_left:
                self._flushes_left -= 1
                self._file.flush()

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


def _keep_earlier(path: Path) -> None:
    """Append what an interrupted attempt left to the log of the attempts before it."""
    if path.exists() and path.stat().st_size:
        import shutil

        with path.open("rb") as left, path.with_name(EARLIER).open("ab") as kept:
            shutil.copyfileobj(left, kept)
