"""The digests of all inputs, before the plan: a tree over fixed blocks, so that anyone may hash any part of it.

A large file is cut into *spans* on the grid of its blocks. Where workers are threads of this process, each takes spans. Where
they are elsewhere (processes, Dask, Ray), the stage ``hash`` runs on them, and the driver gets 16 bytes for each 256 KiB.
Small inputs are hashed here in any case: sending them away costs more. The digests are the same whoever made them.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from samebits.core.light_dataclass import dataclass
from samebits.core.options import HASHING
from samebits.core.plan import Shard, ShardTable
from samebits.data.inputs.blocks import READ_BYTES, hash_blocks, taken_blocks
from samebits.data.inputs.formats import DELIMITERS
from samebits.data.inputs.listing import Found
from samebits.data.inputs.reading import engine_for, read_each
from samebits.errors import InputError

if TYPE_CHECKING:
    from samebits.core.engine import Engine
    from samebits.data.readers.csv_rows import CsvStates

__all__ = ["HashSpans", "Hashed", "absolute", "hash_files"]

SPAN_BYTES = 8 * READ_BYTES  # of a large file, hashed by one thread: four have work from 64 MiB on
# What one task of the stage takes: at least so much that sending it away pays, and at most so much that no worker of many waits for
# another's; in between 8 tasks for each worker, and no more than 64, because every task costs the driver its share.
TASK_BYTES = 4 * SPAN_BYTES
MOST_TASK_BYTES = 16 * TASK_BYTES
MOST_TASKS = 64
TASKS_PER_WORKER = 8
FEWEST_BYTES = TASK_BYTES  # fewer than this in all are hashed by the driver


class Hashed(NamedTuple):
    """What was read of a span: its size, the digests of its blocks, and the states needed to cut CSV."""

    size: int
    blocks: bytes
    states: bytes


class FileSpan(NamedTuple):
    """Some blocks of a file, hashed in one go; the last span of a file reads to its end, wherever that is by then."""

    found: Found
    start: int
    num_bytes: int
    is_last: bool


def absolute(files: Sequence[Found]) -> list[Found]:
    """Return the files with absolute paths, because workers start in other folders."""
    here = os.getcwd()  # noqa: PTH109 - asked once: 20 µs a file otherwise
    # pathlib would rewrite odd names
    return [found._replace(path=os.path.normpath(os.path.join(here, found.path))) for found in files]  # noqa: PTH118


def hash_files(
    files: Sequence[Found], *, cell_bytes: int = TASK_BYTES, here: bool = False
) -> Iterator[list[Hashed]]:
    """Yield the spans of each file, in order.

    Args:
        files: With absolute paths.
        cell_bytes: Size of a shard, to guess how many workers there will be work for.
        here: Hash in this process in any case.

    Raises:
        InputError: A file that cannot be read, or that becomes shorter meanwhile.
    """
    sizes = [_size_of(found) for found in files]
    engine = None if here else _engine(files, sizes, cell_bytes)
    span_bytes = SPAN_BYTES if engine is None else task_bytes(sum(sizes), engine.executor.workers)
    known = [_begun(found, size) for found, size in zip(files, sizes, strict=True)]
    spans = [
        _spans(found, size, span_bytes) if done is None else []
        for found, size, done in zip(files, sizes, known, strict=True)
    ]
    every = list(chain.from_iterable(spans))
    hashed = iter(read_each(hash_span, every) if engine is None else _hash_on(engine, every, span_bytes))
    for own, done in zip(spans, known, strict=True):
        yield list(islice(hashed, len(own))) if done is None else [done]
    deque(hashed, maxlen=0)  # the engine tells of the end of its stage


def _begun(found: Found, size: int) -> Hashed | None:
    """Return what was hashed early, unless the file has another size now; later changes are found by whoever reads it."""
    known, blocks = taken_blocks(found.path)
    return Hashed(size, blocks, b"") if known == size and not _cuts_records(found) else None


def task_bytes(num_bytes: int, workers: int) -> int:
    """Return how much of an input of so many bytes one task hashes; the digests do not depend on it.

    >>> [task_bytes(size, 64) >> 20 for size in (1 << 30, 10 << 30, 1 << 40)]
    [64, 160, 1024]
    >>> [task_bytes(size, 2) >> 20 for size in (1 << 30, 10 << 30, 1 << 40)]
    [64, 640, 1024]
    """
    tasks = min(MOST_TASKS, TASKS_PER_WORKER * workers)
    wanted = -(-num_bytes // (tasks * READ_BYTES)) * READ_BYTES
    return min(max(TASK_BYTES, wanted), MOST_TASK_BYTES)


def _size_of(found: Found) -> int:
    try:
        return Path(found.path).stat().st_size
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=found.origin) from error


def _engine(files: Sequence[Found], sizes: Sequence[int], cell_bytes: int) -> Engine | None:
    """Return where to hash, if not here: what was just fetched lies here, and little is not worth sending."""
    if sum(sizes) < FEWEST_BYTES or any("://" in found.origin for found in files):
        return None
    seen = [(found.path, size) for found, size in zip(files, sizes, strict=True)]
    return engine_for(seen, sum(-(-size // cell_bytes) for size in sizes))


def _spans(found: Found, size: int, span_bytes: int) -> list[FileSpan]:
    """Cut a large file; one whose records need an automaton is read in one go."""
    if _cuts_records(found) or size <= span_bytes:
        return [FileSpan(found, 0, size, is_last=True)]
    starts = range(0, size, span_bytes)
    return [FileSpan(found, at, min(span_bytes, size - at), at + span_bytes >= size) for at in starts]


def _cuts_records(found: Found) -> bool:
    return found.kind.format in DELIMITERS and not found.kind.compression


@dataclass(frozen=True, slots=True)
class HashSpans:
    """The task of the stage ``hash``: some consecutive spans."""

    def __call__(
        self, shard: Shard, state: tuple[tuple[FileSpan, ...], ...], /
    ) -> list[tuple[int, bytes, bytes]]:
        """Return what was read of each span."""
        return [(found.size, found.blocks, found.states) for found in map(hash_span, state[shard.source])]


def _hash_on(engine: Engine, spans: Sequence[FileSpan], enough: int) -> Iterator[Hashed]:
    groups = _groups(spans, enough)
    lengths = [sum(span.num_bytes for span in group) for group in groups]
    shards = ShardTable.from_ranges(source=range(len(groups)), start=[0] * len(groups), stop=lengths)
    for _, part in engine.map_ordered(HASHING, HashSpans(), shards, state=groups, unit="bytes", kept=True):
        yield from (Hashed(*found) for found in part)


def _groups(spans: Sequence[FileSpan], enough: int) -> tuple[tuple[FileSpan, ...], ...]:
    """Join consecutive spans until they are enough for a task: ten thousand small files are not ten thousand tasks."""
    groups: list[list[FileSpan]] = []
    room = 0
    for span in spans:
        if room <= 0:
            groups.append([])
            room = enough
        groups[-1].append(span)
        room -= span.num_bytes
    return tuple(map(tuple, groups))


def hash_span(span: FileSpan) -> Hashed:
    """Read a span once.

    Raises:
        InputError: It cannot be read, or the file has become shorter.
    """
    found, digests, size = span.found, [], 0
    states = _states_of(found)
    try:
        with Path(found.path).open("rb", buffering=0) as file:
            file.seek(span.start)
            for block, digest in hash_blocks(file, num_bytes=None if span.is_last else span.num_bytes):
                size += len(block)
                digests.append(digest)
                if states is not None:
                    states.add(block)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=found.origin) from error
    if not span.is_last and size != span.num_bytes:
        raise InputError("the input became shorter while it was read", path=found.origin)
    return Hashed(size, b"".join(digests), bytes(states) if states is not None else b"")


def _states_of(found: Found) -> CsvStates | None:
    if not _cuts_records(found):
        return None
    from samebits.data.readers.csv_rows import CsvStates

    return CsvStates(DELIMITERS[found.kind.format])
