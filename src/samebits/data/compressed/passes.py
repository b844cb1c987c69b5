"""Passes over the content of compressed files: an index or a copy for those that need one, made by whoever hashes the inputs.

Where workers are threads of this process, threads make them; where they are elsewhere, the stage ``hash`` does so there, a file
per task, and the driver gets the points without their windows, or the digests of the copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from samebits.core.engine import Engine
from samebits.core.options import HASHING
from samebits.core.plan import Shard, ShardTable
from samebits.data.compressed.index import IndexOf, load_index, make_index
from samebits.data.compressed.points import POINT, RestartPoints
from samebits.data.compressed.unpacked import find_copy, make_copy
from samebits.data.inputs import hashing
from samebits.data.inputs.cache import folder_for
from samebits.data.inputs.corpus import Source, source_of
from samebits.data.inputs.formats import DELIMITERS, FileFormat
from samebits.data.inputs.listing import Found
from samebits.data.inputs.reading import engine_for, read_each
from samebits.errors import InputError

__all__ = ["MakePass", "Pass", "restored", "with_passes"]

Pass = Literal["none", "index", "copy"]
Wanted = tuple[Source, Pass]


def with_passes(wanted: Sequence[Wanted]) -> Iterator[Source]:
    """Yield the sources in order, with the index or the copy that they need."""
    loaded = [_loaded(source) if need == "index" else None for source, need in wanted]
    missing = [one for one, found in zip(wanted, loaded, strict=True) if one[1] != "none" and found is None]
    engine = _engine([source for source, _ in missing])
    made = iter(read_each(_made, missing) if engine is None else _made_on(engine, missing))
    for (source, need), found in zip(wanted, loaded, strict=True):
        yield source if need == "none" else found or next(made)


def _engine(sources: Sequence[Source]) -> Engine | None:
    """Return where to read them, if not here: what was just fetched lies here, and little is not worth sending."""
    num_bytes = sum(source.size for source in sources)
    if num_bytes < hashing.FEWEST_BYTES or any("://" in source.origin for source in sources):
        return None
    return engine_for([(source.path, source.size) for source in sources], num_bytes // hashing.SPAN_BYTES)


@dataclass(frozen=True, slots=True)
class MakePass:
    """The task: one file."""

    def __call__(self, shard: Shard, state: tuple[Wanted, ...], /) -> list[Any]:
        """Return what the driver must know of an index or a copy, as plain data; nothing for a file that can have none."""
        made = _made(state[shard.source])
        if made.points is not None:
            return [made.points.table.tobytes(), made.points.end, made.points.index]
        copy = made.unpacked
        return [] if copy is None else [copy.path, copy.size, copy.blocks, copy.states]


def _made_on(engine: Engine, wanted: Sequence[Wanted]) -> Iterator[Source]:
    sizes = [source.size for source, _ in wanted]
    shards = ShardTable.from_ranges(source=range(len(sizes)), start=[0] * len(sizes), stop=sizes)
    parts = engine.map_ordered(HASHING, MakePass(), shards, state=tuple(wanted), unit="bytes")
    for shard, part in parts:
        source, need = wanted[shard.source]
        if not part:
            yield source
        elif need == "index":
            table, end, path = part
            yield replace(source, points=RestartPoints(np.frombuffer(table, POINT), end, path))
        else:
            path, size, blocks, states = part
            copy = replace(source, path=path, size=size, compression="", blocks=blocks, states=states)
            yield replace(source, unpacked=copy)


def _made(wanted: Wanted) -> Source:
    source, need = wanted
    return _unpacked(source) if need == "copy" else _loaded(source) or _indexed(source)


def _index_of(source: Source) -> IndexOf:
    return IndexOf(source.digest, source.size, source.compression, DELIMITERS.get(source.format, 0))


def _loaded(source: Source) -> Source | None:
    found = load_index(folder_for("points"), _index_of(source))
    return None if found is None else replace(source, points=found)


def _indexed(source: Source) -> Source:
    with source.open() as file:
        return replace(source, points=make_index(file, folder_for("points"), _index_of(source)))


def _unpacked(source: Source) -> Source:
    """Return a source with its copy, or without where it can have none."""
    path = find_copy(folder_for("unpacked"), source.digest)
    if path is not None:
        copy = _copied(source, path)
        if copy.digest == path.name:
            return replace(source, unpacked=copy)
    path = _make_copy(source)
    return source if path is None else replace(source, unpacked=_copied(source, path))


def _make_copy(source: Source) -> Path | None:
    with source.open() as file:
        return make_copy(file, folder_for("unpacked"), digest=source.digest, compression=source.compression)


def _copied(source: Source, path: Path) -> Source:
    """Hash a copy as any input is hashed."""
    found = Found(source.name, str(path), source.origin, FileFormat(source.format, ""))
    (parts,) = hashing.hash_files([found], here=True)
    return source_of(found, parts)


def restored(source: Source) -> Source:
    """Return a source whose index or copy is on this machine; on another one than that of the plan it is made there too.

    Raises:
        InputError: The index of this machine has other points.
    """
    if source.points is not None and source.points.index and not Path(source.points.index).exists():
        found = _loaded(source) or _indexed(source)
        if found.points is None or not found.points.is_like(source.points):
            raise InputError("its index on this machine is not that of the plan", path=source.origin)
        return found
    if source.unpacked is not None and not Path(source.unpacked.path).exists():
        path = find_copy(folder_for("unpacked"), source.digest) or _make_copy(source)
        return replace(source, unpacked=replace(source.unpacked, path=str(path)))
    return source
