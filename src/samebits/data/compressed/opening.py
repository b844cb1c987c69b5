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
from samebits.data.compressed.passes import Pass, with_passes
from samebits.data.compressed.tables import find_frames, find_members, thinned
from samebits.data.inputs.corpus import Source
from samebits.data.inputs.formats import DELIMITERS
from samebits.data.inputs.reading import read_each

__all__ = ["LEAST_BYTES", "cut_compressed"]

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
    looked_at = read_each(lambda source: _look(source, cell_bytes, total), sources)
    found = tuple(with_passes(looked_at))
    notes = [note for source in found for note in _notes(source, cell_bytes)]
    return found, notes


def _look(source: Source, cell_bytes: int, total: int) -> tuple[Source, Pass]:
    """Find out how one source is cut, and which pass over its content it needs for that."""
    if not source.compression or source.size < LEAST_BYTES:
        return source, "none"
    is_csv = source.format in DELIMITERS
    is_large = source.size > cell_bytes
    if source.compression == "zst":
        frames = find_frames(source.path, source.size)
        if frames.largest > max(LARGE_FRAME_SHARE * source.size, 1) or frames.largest > LARGE_FRAME_BYTES:
            return source, "copy" if is_large and source.size >= COPY_SHARE * total else "none"
    else:
        frames = find_members(source.path, source.size)
    if len(frames.contents) > 1 and frames.is_known and not is_csv:
        return replace(source, points=thinned(frames, source.size)), "none"
    return source, "index" if is_large and source.size >= INDEX_SHARE * total else "none"


def _notes(source: Source, cell_bytes: int) -> list[str]:
    if source.unpacked is not None:
        folder = Path(source.unpacked.path).parent.parent
        size = show_size(source.unpacked.size)
        return [f"{source.origin} cannot be entered in its middle: a copy of {size} is kept in {folder}"]
    if source.compression and source.points is None and source.size > cell_bytes:
        return [f"{source.origin} cannot be cut: it keeps one worker busy"]
    return []
