"""How each compressed file of a corpus will be cut: by what it says of itself, by an index, by a copy, or not at all.

This depends on the inputs and the size of a cell alone: neither on the number of workers nor on what the cache holds, which
only saves time. Nor does it change any row: an index and a copy give what reading from the start gives, and whether a file's own
points are used, which matters to what is read after damage, does not depend on the cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from samebits.core.observing.units import show_size
from samebits.data.compressed.decoders import check_ratio
from samebits.data.compressed.index import load_or_make
from samebits.data.compressed.points import RestartPoints
from samebits.data.compressed.tables import find_frames, find_members, thinned
from samebits.data.compressed.unpacked import find_copy, make_copy
from samebits.data.inputs.cache import folder_for
from samebits.data.inputs.corpus import Source, source_of
from samebits.data.inputs.formats import DELIMITERS, FileFormat
from samebits.data.inputs.hashing import hash_files
from samebits.data.inputs.listing import Found
from samebits.data.inputs.reading import read_each

__all__ = ["LEAST_BYTES", "cut_compressed", "restored"]

#: A smaller file is one shard: it takes a worker a fraction of a second.
LEAST_BYTES = 1 << 20
#: A frame that is larger, or more than this share of its file, is too large to be a shard, and cannot be entered.
LARGE_FRAME_BYTES = 8 << 20
LARGE_FRAME_SHARE = 1 / 4
#: Smaller shares of the whole input are not worth a pass of their own: there are enough other files to keep workers busy.
INDEX_SHARE = 1 / 256
COPY_SHARE = 1 / 16


def cut_compressed(sources: Sequence[Source], cell_bytes: int) -> tuple[tuple[Source, ...], list[str]]:
    """Return the sources, the compressed ones with what they are cut by, and sentences for the user.

    Raises:
        InputError: A file grows out of all proportion, has changed, or there is no room for its copy.
    """
    total = sum(source.size for source in sources)
    found = tuple(read_each(lambda source: _opened(source, cell_bytes, total), sources))
    notes = [note for source in found for note in _notes(source, cell_bytes)]
    return found, notes


def _opened(source: Source, cell_bytes: int, total: int) -> Source:
    """Find out how one source is cut."""
    if not source.compression or source.size < LEAST_BYTES:
        return source
    is_csv = source.format in DELIMITERS
    is_large = source.size > cell_bytes
    if source.compression == "zst":
        frames = find_frames(source.path, source.size)
        if frames.largest > max(LARGE_FRAME_SHARE * source.size, 1) or frames.largest > LARGE_FRAME_BYTES:
            return _unpacked(source) if is_large and source.size >= COPY_SHARE * total else source
    else:
        frames = find_members(source.path, source.size)
    if len(frames.contents) > 1 and frames.is_known and not is_csv:
        check_ratio(sum(frames.contents), source.size, source.origin)
        return replace(source, points=thinned(frames, source.size))
    if is_large and source.size >= INDEX_SHARE * total:
        return replace(source, points=_indexed(source))
    return source


def _indexed(source: Source) -> RestartPoints:
    with source.open() as file:
        return load_or_make(
            file,
            folder_for("points"),
            digest=source.digest,
            compression=source.compression,
            delimiter=DELIMITERS.get(source.format, 0),
        )


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
    (parts,) = hash_files([found], here=True)
    return source_of(found, parts)


def restored(source: Source) -> Source:
    """Return a source whose index or copy is on this machine; on another one than that of the plan it is made there too."""
    if source.points is not None and source.points.index and not Path(source.points.index).exists():
        return replace(source, points=replace(source.points, index=_indexed(source).index))
    if source.unpacked is not None and not Path(source.unpacked.path).exists():
        path = find_copy(folder_for("unpacked"), source.digest) or _make_copy(source)
        return replace(source, unpacked=replace(source.unpacked, path=str(path)))
    return source


def _notes(source: Source, cell_bytes: int) -> list[str]:
    if source.unpacked is not None:
        folder = Path(source.unpacked.path).parent.parent
        size = show_size(source.unpacked.size)
        return [f"{source.origin} cannot be entered in its middle: a copy of {size} is kept in {folder}"]
    if source.compression and source.points is None and source.size > cell_bytes:
        return [f"{source.origin} cannot be cut: it keeps one worker busy"]
    return []
