"""The process that models run in: requests come as JSON lines, answers go back as JSON lines. A program of its own.

Requests take turns, one piece of an answer at a time, so a long text does not keep a short question waiting. What goes wrong
in one request is the answer to that request. Whatever libraries print goes to the standard error, not between the answers.
"""

from __future__ import annotations

import os
import queue
import resource
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

import msgspec

__all__ = ["main"]

MOST_MEMORY = 8 << 30
GIVE_UP_FIRST = "1000"  # when memory runs out the kernel ends this process before any other


def main() -> None:
    """Answer until the standard input ends."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    _limit()
    requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(requests,), daemon=True).start()
    _Turns(requests, answers).run()


def _limit() -> None:
    from samebits.machine.caps import cap_threads

    cap_threads()
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(GIVE_UP_FIRST)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    with suppress(OSError):
        os.nice(5)  # a run that is being watched comes first


def _read(requests: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)  # the server is gone: nobody waits for what is being computed


class _Turns:
    """Requests at work, by number."""

    def __init__(self, requests: queue.SimpleQueue[bytes], answers: IO[bytes]) -> None:
        self._requests = requests
        self._answers = answers
        self._working: dict[int, Iterator[Any]] = {}

    def run(self) -> None:
        while True:
            self._take(wait=not self._working)
            for number in list(self._working):
                self._advance(number)

    def _take(self, *, wait: bool) -> None:
        """Take requests that came; a request without ``do`` ends the one of its number."""
        while True:
            try:
                line = self._requests.get(block=wait)
            except queue.Empty:
                return
            wait = False
            request = msgspec.json.decode(line)
            if "do" in request:
                self._working[request["id"]] = _begin(request["do"], request["with"])
            else:
                self._working.pop(request["id"], None)

    def _advance(self, number: int) -> None:
        """Compute the next piece of one answer."""
        from samebits.errors import SamebitsError

        try:
            answer = {"id": number, "part": next(self._working[number])}
        except StopIteration:
            answer = {"id": number, "end": True}
        except SamebitsError as error:
            answer = {"id": number, "error": error.message, "hint": error.hint}
        except MemoryError:
            answer = {"id": number, "error": "not enough memory", "hint": "try a shorter text"}
        except Exception as error:  # the request's fault or ours: either way only this request fails
            answer = {"id": number, "error": f"{type(error).__name__}: {error}"[:500], "hint": ""}
        if "part" not in answer:
            del self._working[number]
        self._answers.write(msgspec.json.encode(answer) + b"\n")


def _begin(name: str, given: dict[str, Any]) -> Iterator[Any]:
    from samebits.serve.trying.tries import TRIES

    return TRIES[name](**given)


if __name__ == "__main__":
    main()
