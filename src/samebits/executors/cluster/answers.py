"""Answers by way of the spool: what a message's shards gave, in one small file that is there when Dask says that the task has ended.

Dask tells a driver that a task has ended and keeps its result with the worker; fetching it is a request of its own, which costs a driver
whose caches are cold as much as all the rest of a message. A worker that sees the spool writes its answers there too, so that the
driver reads a file. Its name is new for each message. A file that is not there (no shared disk, a network disk that shows it late) or is damaged is no
loss: then the answers are fetched.
"""

from __future__ import annotations

import os
import pickle
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import xxhash

__all__ = ["Answers", "put_answers", "take_answers"]

DIGEST_BYTES = 16


class Answers(NamedTuple):
    """What came of a message.

    Attributes:
        found: By its place in the message, the answer of each shard that was run.
        more: Time was up before all shards of a shared list were claimed.
    """

    found: dict[int, bytes]
    more: bool = False


def put_answers(folder: str, name: str, answers: Answers) -> None:
    """Write the answers of one message, if the disk takes them; twice the same if a task runs twice."""
    path = _path(folder, name)
    data = pickle.dumps(answers, protocol=pickle.HIGHEST_PROTOCOL)
    mine = path.with_name(f"{path.name}-{os.getpid()}")
    try:
        mine.write_bytes(xxhash.xxh3_128_digest(data) + data)
        mine.rename(path)
    except OSError:
        with suppress(OSError):
            mine.unlink()


def take_answers(folder: str, name: str) -> Answers | None:
    """Return the answers of a message and remove their file; None if they have to be fetched."""
    if not folder:
        return None
    path = _path(folder, name)
    try:
        data = path.read_bytes()
        path.unlink()
    except OSError:
        return None
    digest, packed = data[:DIGEST_BYTES], data[DIGEST_BYTES:]
    if xxhash.xxh3_128_digest(packed) != digest:
        return None
    answers: Answers = pickle.loads(packed)  # noqa: S301 - whoever may write there may write the output
    return answers


def _path(folder: str, name: str) -> Path:
    return Path(folder) / f"answers-{name}"
