"""The server's side of the models: which there are, and how the process that runs them is asked.

One process, started when it is first needed. It is ended and started again when it says nothing for too long; every request
that was waiting then gets an error, and the page stays up.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from samebits.serve.runs.about import Abouts
from samebits.serve.runs.places import Places

__all__ = ["Model", "ModelFailed", "Models", "TooBusy", "models_in"]

Kind = Literal["language", "encoding", "tokens", "text", "graph"]
STALL_SECONDS = 45.0  # without a sign: loading a model takes most of it on a busy machine
MOST_WAITING = 32
MOST_LINE = 64 << 20
KINDS: dict[str, Kind] = {
    "langid": "language",
    "charset": "encoding",
    "tokens": "tokens",
    "tokens_tokenizer": "tokens",
    "lm": "text",
    "graph_train": "graph",
}


class TooBusy(Exception):
    """So many requests wait that one more would wait in vain."""


class ModelFailed(Exception):
    """A request went wrong; the message is for people, ``hint`` says what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Model:
    """A model one can try.

    Attributes:
        key: Key of the run that made it, or ``shipped``.
        kind: What it does.
        name: For people.
        folder: Where it is; empty for one inside the package.
    """

    key: str
    kind: Kind
    name: str
    folder: str

    def plain(self) -> dict[str, str]:
        """Return it as data; the folder is nobody's business."""
        return {"key": self.key, "kind": self.kind, "name": self.name}


SHIPPED = (
    Model("shipped", "language", "inside the package", ""),
    Model("shipped", "encoding", "inside the package", ""),
    Model("shipped", "tokens", "bytes", ""),
)


def models_in(places: Places, abouts: Abouts) -> list[Model]:
    """Return the models of finished runs, newest first, after the ones in the package."""
    found = list(SHIPPED)
    for place in places.all():
        if place.is_unfinished:
            continue
        about = abouts.get(place)
        kind = KINDS.get(about.job)
        if kind == "tokens" and "tokenizer.json" not in about.files:
            kind = None
        if kind is not None:
            found.append(Model(place.key, kind, place.name, str(place.output)))
    return found


@dataclass
class _Process:
    """A running process and who waits for its answers."""

    process: asyncio.subprocess.Process
    waiting: dict[int, asyncio.Queue[dict[str, Any]]] = field(default_factory=dict)
    heard: float = 0.0
    ended: bool = False


class Models:
    """Asks the process; see the module's first lines."""

    def __init__(self) -> None:
        self._now: _Process | None = None
        self._starting = asyncio.Lock()
        self._number = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def ask(self, do: str, seconds: float, **given: Any) -> Any:
        """Return the one piece of an answer.

        Raises:
            ModelFailed: the request went wrong, took too long, or the process ended.
            TooBusy: too many wait already.
        """
        async for part in self.stream(do, seconds, **given):
            return part
        raise ModelFailed("no answer")

    async def stream(self, do: str, seconds: float, **given: Any) -> AsyncIterator[Any]:
        """Yield an answer piece by piece; leaving early ends the work on it."""
        now = await self._process()
        if len(now.waiting) >= MOST_WAITING:
            raise TooBusy
        self._number += 1
        number = self._number
        answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        now.waiting[number] = answers
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        try:
            self._send(now, {"id": number, "do": do, "with": given})
            while True:
                try:
                    answer = await asyncio.wait_for(answers.get(), until - loop.time())
                except TimeoutError:
                    raise ModelFailed(f"stopped after {seconds:.0f} s", "try a shorter text") from None
                if "error" in answer:
                    raise ModelFailed(_without_folder(answer["error"], given), answer["hint"])
                if "end" in answer:
                    return
                yield answer["part"]
        finally:
            if now.waiting.pop(number, None) is not None:
                self._send(now, {"id": number})

    def _send(self, now: _Process, message: dict[str, Any]) -> None:
        stdin = now.process.stdin
        if stdin is not None and not stdin.is_closing():
            stdin.write(msgspec.json.encode(message) + b"\n")

    async def _process(self) -> _Process:
        async with self._starting:
            if self._now is None or self._now.ended:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "samebits.serve.trying.worker"),
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    limit=MOST_LINE,
                )
                self._now = _Process(process, heard=asyncio.get_running_loop().time())
                for loop in (self._listen(self._now), self._mind(self._now)):
                    task = asyncio.create_task(loop)
                    self._tasks.add(task)
                    task.add_done_callback(self._tasks.discard)
            return self._now

    async def _listen(self, now: _Process) -> None:
        """Hand answers to whoever waits; the end of the process is an answer to all of them."""
        assert now.process.stdout is not None
        try:
            async for line in now.process.stdout:
                now.heard = asyncio.get_running_loop().time()
                answer = msgspec.json.decode(line)
                queue = now.waiting.get(answer["id"])
                if queue is not None:
                    queue.put_nowait(answer)
        finally:
            now.ended = True  # known before the system says how it ended
            for queue in now.waiting.values():
                queue.put_nowait(
                    {"error": "the model's process ended", "hint": "try again, with a shorter text"}
                )

    async def _mind(self, now: _Process) -> None:
        """End a process that owes an answer and says nothing."""
        loop = asyncio.get_running_loop()
        quiet_from = loop.time()
        while now.process.returncode is None:
            await asyncio.sleep(1.0)
            if not now.waiting:
                quiet_from = loop.time()
            if loop.time() - max(now.heard, quiet_from) > STALL_SECONDS:
                now.process.kill()
                await now.process.wait()

    async def close(self) -> None:
        """End the process."""
        for task in list(self._tasks):
            task.cancel()
        if self._now is not None and self._now.process.returncode is None:
            self._now.process.kill()
            await self._now.process.wait()


def _without_folder(message: str, given: dict[str, Any]) -> str:
    """Say what went wrong without saying where on this machine."""
    folder = given.get("folder", "")
    return message.replace(f"{folder}/", "").replace(folder, "this model") if folder else message
