"""The inputs of a run: which files, in which order, with which bytes, and where they may be cut.

A ``Corpus`` is made once, in the driver, before the plan. It is frozen and picklable; tasks get it as their state
and read one shard of it with ``samebits.data.readers.rows.iter_rows``. Its digest covers names, sizes and contents, and
neither folders, times nor how it is cut, so the same data elsewhere is the same corpus.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from samebits.core.light_dataclass import dataclass
from samebits.core.plan import ShardTable
from samebits.data.inputs.blocks import VerifiedFile
from samebits.data.inputs.hashing import Hashed, absolute, hash_files
from samebits.data.inputs.listing import Found, list_inputs
from samebits.errors import ConfigError

if TYPE_CHECKING:
    from samebits.data.compressed.points import RestartPoints

__all__ = ["CELL_BYTES", "Corpus", "Source", "open_corpus", "source_of"]

# The best known trade of engine overhead (under 1 % at 100 microseconds a shard) against balance and memory.
CELL_BYTES = 8 << 20
COMPRESSED_FACTOR = 4  # text in a compressed file, by its size


@dataclass(frozen=True, slots=True)
class Source:
    """One input file.

    Attributes:
        name: Relative to the argument it came from; safe to store.
        path: Where it is on this machine; never stored in a result.
        origin: What to call it in messages.
        size: Bytes on disk.
        format: One of ``samebits.data.inputs.formats.FORMATS``.
        compression: ``"gz"``, ``"zst"`` or empty.
        blocks: xxh3-128 digests of its blocks, one after the other.
        states: State of the record automaton at the start of each block (CSV and TSV that can be cut).
        row_group_bytes: Size of each row group (Parquet only).
        points: Where a compressed file may be entered, if it is cut; its shards are then ranges of its content.
        unpacked: A copy of the content of a compressed file that can be entered nowhere; rows are then read from that.
    """

    name: str
    path: str
    origin: str
    size: int
    format: str
    compression: str
    blocks: bytes
    states: bytes = b""
    row_group_bytes: tuple[int, ...] = ()
    points: RestartPoints | None = None
    unpacked: Source | None = None

    @property
    def digest(self) -> str:
        """The content as one sha256, over the digests of the blocks."""
        return hashlib.sha256(self.blocks).hexdigest()

    def open(self) -> VerifiedFile:
        """Open it for reading; every byte read is checked against ``blocks``.

        On another machine than the one that planned, a fetched file is not in the cache yet: it is fetched there too.
        """
        path = self.path
        if "://" in self.origin and not Path(path).exists():
            from samebits.data.inputs.fetch import fetch_urls  # brings the network libraries

            path = fetch_urls([self.origin])[self.origin][0][1]
        return VerifiedFile(path, size=self.size, blocks=self.blocks, origin=self.origin)

    def as_read(self) -> Source:
        """Return the source that rows are read from: this one, or the copy of its content."""
        if self.points is None and self.unpacked is None:
            return self
        from samebits.data.compressed.passes import restored  # only for large compressed files

        found = restored(self)
        return found.unpacked or found


@dataclass(frozen=True)
class Corpus:
    """All sources of a run, in order.

    Attributes:
        sources: The files.
        cell_bytes: Where line files are cut: at each multiple of this.
        notes: Sentences for the user about what was left out.
    """

    sources: tuple[Source, ...]
    cell_bytes: int = CELL_BYTES
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The sources' names, in order; one name may occur twice."""
        return tuple(source.name for source in self.sources)

    @property
    def num_bytes(self) -> int:
        """Bytes on disk of all sources."""
        return sum(source.size for source in self.sources)

    @property
    def likely_text_bytes(self) -> int:
        """Bytes of text that the sources probably hold."""
        return sum(s.size * (COMPRESSED_FACTOR if s.compression else 1) for s in self.sources)

    @property
    def files(self) -> tuple[tuple[str, int], ...]:
        """Path and size of each source that workers must find on their disks; fetched ones they can fetch again."""
        return tuple((source.path, source.size) for source in self.sources if "://" not in source.origin)

    @cached_property
    def digest(self) -> str:
        """What the corpus holds: sha256 over name, size and content of each source, in order."""
        total = hashlib.sha256()
        for source in self.sources:
            name = source.name.encode()
            total.update(b"%d:%b%d:%b" % (len(name), name, source.size, bytes.fromhex(source.digest)))
        return total.hexdigest()

    def shards(self) -> ShardTable:
        """Cut every source; an empty file gives no shard.

        Line files are cut on a byte grid, a line belonging to the cell that holds its first byte. Parquet is cut
        between row groups, compressed files at the first of their restart points after each cell of content.
        """
        ranges = [_cells(source, self.cell_bytes) for source in self.sources]
        lengths = [len(starts) for starts, _ in ranges]
        return ShardTable.from_ranges(
            source=np.repeat(np.arange(len(ranges), dtype=np.int64), lengths),
            start=_joined([starts for starts, _ in ranges]),
            stop=_joined([stops for _, stops in ranges]),
        )


def open_corpus(
    inputs: str | Path | Sequence[str | Path],
    *,
    format: str = "auto",  # noqa: A002  # the flag's own name
    cell_bytes: int = CELL_BYTES,
    cut_compressed: bool = True,
) -> Corpus:
    """List, fetch and hash the inputs.

    Args:
        inputs: Files, folders, globs, ``-`` for standard input, or URLs known to fsspec.
        format: One of ``FORMATS``, or ``auto``: by suffix (standard input is then plain text).
        cell_bytes: Size of a shard of a line file.
        cut_compressed: Whether rows of compressed files are read by ``iter_rows``, so that these may be cut; else each is one shard.

    Raises:
        ConfigError: No inputs, an unknown format, or cells of less than one byte.
        InputError: An input that cannot be used.
    """
    if cell_bytes < 1:
        raise ConfigError(f"cells of {cell_bytes} bytes cannot hold a row", hint="the default is 8 MiB")
    listing = list_inputs(inputs, format_name=format)
    files = absolute(listing.files)
    hashed = zip(files, hash_files(files, cell_bytes=cell_bytes), strict=True)  # strict: it runs to its end
    sources = tuple(source_of(found, spans) for found, spans in hashed)
    notes = list(listing.notes)
    if cut_compressed and any(source.compression for source in sources):
        from samebits.data.compressed.opening import cut_compressed as cut  # only for them

        sources, more = cut(sources, cell_bytes)
        notes += more
    return Corpus(sources, cell_bytes, tuple(notes))


def source_of(found: Found, parts: Sequence[Hashed]) -> Source:
    """Join what was read of one file."""
    source = Source(
        found.name,
        found.path,
        found.origin,
        sum(part.size for part in parts),
        found.kind.format,
        found.kind.compression,
        blocks=b"".join(part.blocks for part in parts),
        states=parts[0].states,
    )
    return _with_row_groups(source) if source.format == "parquet" else source


def _with_row_groups(source: Source) -> Source:
    from samebits.data.readers.parquet_rows import row_group_sizes

    with source.open() as file:
        return replace(source, row_group_bytes=row_group_sizes(file))


def _cells(source: Source, cell_bytes: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return starts and stops of a source's shards."""
    source = source.unpacked or source
    if source.points is not None:
        return source.points.cells(cell_bytes)
    if source.format == "parquet":
        starts = _row_group_starts(source.row_group_bytes, cell_bytes)
        return starts, np.append(starts[1:], len(source.row_group_bytes))[: len(starts)]
    if source.compression or source.size <= cell_bytes:
        whole = np.array([source.size] if source.size else [], dtype=np.int64)
        return np.zeros_like(whole), whole
    starts = np.arange(0, source.size, cell_bytes, dtype=np.int64)
    return starts, np.minimum(starts + cell_bytes, source.size)


def _row_group_starts(sizes: Sequence[int], cell_bytes: int) -> NDArray[np.int64]:
    """Join consecutive row groups until they reach the size of a cell."""
    starts = []
    room = 0
    for number, size in enumerate(sizes):
        if room <= 0:
            starts.append(number)
            room = cell_bytes
        room -= size
    return np.array(starts, dtype=np.int64)


def _joined(arrays: list[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(arrays) if arrays else np.empty(0, dtype=np.int64)
