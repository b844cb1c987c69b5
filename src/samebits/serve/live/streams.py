"""One loop a watched run, however many pages look at it; pages are told increments as server-sent events.

Every message is made once and shared by all pages that have the same version. A page that reads slowly is not waited for and
nothing is queued for it: its next message is made from the version it has, or is the whole (bounded) state.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec

from samebits.core.observing import clock
from samebits.serve.live.load import Cores
from samebits.serve.live.rows import Row, row_of
from samebits.serve.live.watch import Watcher
from samebits.serve.runs.about import Abouts
from samebits.serve.runs.places import FolderPlace, Places

__all__ = ["Hub", "TooManyStreams"]

TICK_SECONDS = 1.0
IDLE_TICK_SECONDS = 2.0  # of a run that is not running: only a resume would change it
KEEP_SECONDS = 60.0  # after the last page went away
MOST_WATCHERS = 32
MOST_STREAMS = 400
HEARTBEAT_SECONDS = 15.0
ROWS_SECONDS = 0.8
MOST_LISTED_LIVE = 16  # unfinished runs whose logs are read for the list
FIRST_LOOK_SECONDS = 0.15  # a page waits so long for a long log, and shows what is there


class TooManyStreams(Exception):
    """As many pages as are served are watching already."""


class _Watched:
    """A watcher, its loop, and what wakes its pages."""

    def __init__(self, watcher: Watcher) -> None:
        self.watcher = watcher
        self.pages = 0
        self.changed = asyncio.Event()
        self.messages: dict[int, tuple[bytes | None, int]] = {}
        self.first_look = asyncio.Event()

    async def run(self) -> None:
        """Look again and again, until nobody has asked for a while."""
        while self.pages or clock.seconds() - self.watcher.used < KEEP_SECONDS:
            await asyncio.to_thread(self.watcher.look)
            self.first_look.set()
            self.messages.clear()
            self.changed.set()
            self.changed = asyncio.Event()
            if self.watcher.reading:
                await asyncio.sleep(0)
            else:
                await asyncio.sleep(TICK_SECONDS if self.watcher.state == "running" else IDLE_TICK_SECONDS)

    def message(self, since: int) -> tuple[bytes | None, int]:
        """Return the message for a version; made once for all pages that have it."""
        if since not in self.messages:
            self.messages[since] = self.watcher.message(since)
        return self.messages[since]


class Hub:
    """All watchers, made when they are needed."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self.abouts = Abouts()
        self.cores = Cores()
        self.streams = 0
        self._rows: list[Row] = []
        self._rows_made = -ROWS_SECONDS
        self._making_rows = asyncio.Lock()
        self._watched: dict[str, tuple[_Watched, asyncio.Task[None]]] = {}

    async def watch(self, place: FolderPlace) -> Watcher:
        """Return the watcher of a run, after a first look or a short wait for it."""
        watched = self._get(place)
        with suppress(TimeoutError):  # a log of hundreds of megabytes: the rest comes by the stream
            await asyncio.wait_for(watched.first_look.wait(), FIRST_LOOK_SECONDS)
        return watched.watcher

    def _get(self, place: FolderPlace) -> _Watched:
        found = self._watched.get(place.key)
        if found is None or found[1].done():
            self._drop_one()
            watched = _Watched(Watcher(place, self.abouts, self.cores))
            found = watched, asyncio.create_task(watched.run())
            self._watched[place.key] = found
        found[0].watcher.used = clock.seconds()
        return found[0]

    def _drop_one(self) -> None:
        """Make room: watchers whose loop ended, then the one that nobody has looked at for longest."""
        for key in [key for key, (_, task) in self._watched.items() if task.done()]:
            del self._watched[key]
        if len(self._watched) >= MOST_WATCHERS:
            idle = [(w.watcher.used, key) for key, (w, _) in self._watched.items() if not w.pages]
            if not idle:
                raise TooManyStreams
            self._watched.pop(min(idle)[1])[1].cancel()

    async def follow(self, place: FolderPlace, since: int) -> AsyncIterator[bytes]:
        """Yield server-sent events about one run, for as long as the page listens.

        Raises:
            TooManyStreams: before the first event.
        """
        watched = self._get(place)
        with _Counted(self), _Page(watched):
            while True:
                changed = watched.changed
                message, since = watched.message(since)
                if message is not None:
                    yield b"event: update\ndata: " + message + b"\n\n"
                    continue
                try:
                    await asyncio.wait_for(changed.wait(), HEARTBEAT_SECONDS)
                except TimeoutError:
                    yield b": still here\n\n"

    async def rows(self) -> list[Row]:
        """Return one row for each run, newest first; made at most once a tick for all pages."""
        async with self._making_rows:
            if clock.seconds() - self._rows_made >= ROWS_SECONDS:
                self._rows = await self._make_rows()
                self._rows_made = clock.seconds()
        return self._rows

    async def _make_rows(self) -> list[Row]:
        rows, unfinished = await asyncio.to_thread(self._quiet_rows)
        for place in unfinished:
            watcher = await self.watch(place)
            rows[place.key] = row_of(place, watcher.about, watcher)
        return list(rows.values())

    def _quiet_rows(self) -> tuple[dict[str, Row], list[FolderPlace]]:
        """Return the rows as their files say, in order, and the runs whose logs say more."""
        places = self.places.all()
        rows = {place.key: row_of(place, self.abouts.get(place), None) for place in places}
        unfinished = [place for place in places if rows[place.key].state in ("running", "stopped")]
        return rows, unfinished[:MOST_LISTED_LIVE]

    async def follow_list(self) -> AsyncIterator[bytes]:
        """Yield what changed in the list of runs, once a tick at most."""
        with _Counted(self):
            told: dict[str, Row] = {}
            quiet_since = clock.seconds()
            while True:
                rows = {row.key: row for row in await self.rows()}
                changed = {key: row.plain() for key, row in rows.items() if told.get(key) != row}
                moved = bool(told) and (
                    [*told] != [*rows] or any(told[key].state != rows[key].state for key in rows)
                )
                if told and (changed or moved):
                    message = msgspec.json.encode({"moved": moved, "runs": changed})
                    yield b"event: list\ndata: " + message + b"\n\n"
                    quiet_since = clock.seconds()
                elif clock.seconds() - quiet_since >= HEARTBEAT_SECONDS:
                    quiet_since = clock.seconds()
                    yield b": still here\n\n"
                told = rows
                await asyncio.sleep(TICK_SECONDS)

    async def close(self) -> None:
        """End all loops."""
        for _, task in self._watched.values():
            task.cancel()
        await asyncio.gather(*(task for _, task in self._watched.values()), return_exceptions=True)


class _Counted:
    """Counts a stream while it lasts."""

    def __init__(self, hub: Hub) -> None:
        if hub.streams >= MOST_STREAMS:
            raise TooManyStreams
        self._hub = hub

    def __enter__(self) -> None:
        self._hub.streams += 1

    def __exit__(self, *_: object) -> None:
        self._hub.streams -= 1


class _Page:
    """Counts a page of a run while it lasts."""

    def __init__(self, watched: _Watched) -> None:
        self._watched = watched

    def __enter__(self) -> None:
        self._watched.pages += 1

    def __exit__(self, *_: object) -> None:
        self._watched.pages -= 1
        self._watched.watcher.used = clock.seconds()
