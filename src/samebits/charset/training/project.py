"""From counts of a language to byte pairs of each of its encodings.

For a codec that treats characters one by one, the pair (a, b) adds its count to (last byte of a, first byte of
b), each character adds its count to the byte pairs inside its own bytes, and each distinct run is rewritten and
encoded once. All sums are integers, so the result equals encoding and counting every text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.charset.training.images import Image, ImageTable
from samebits.charset.training.tables import EDGE, LanguageCounts, PairTable, sum_by_key
from samebits.kernels.charset.bytecounts import add_crossings, add_weighted

__all__ = ["PairCounts", "project_language"]

_LOW = (1 << 21) - 1
NUM_DROPPED_SHOWN = 20
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PairCounts:
    """The counts of one (language, encoding) pair.

    Attributes:
        index: Byte pairs that occur, ascending.
        counts: How often each occurs.
        texts: Texts given, extra samples included.
        samples: Texts that were long enough; each storage order counts as one.
        num_bytes: Bytes of the samples.
        letters_kept: Alphabetic characters that survive.
        letters: Alphabetic characters after substitution.
        dropped: The commonest characters that the encoding cannot hold, with their counts.
        num_dropped: Number of all characters dropped.
        path: ``"project"`` or ``"direct"``: how the pair was counted, very short texts aside.
    """

    index: Ints
    counts: Ints
    texts: int
    samples: int
    num_bytes: int
    letters_kept: int
    letters: int
    dropped: tuple[tuple[str, int], ...]
    num_dropped: int
    path: str

    @property
    def retention(self) -> float | None:
        """Share of alphabetic characters that survive, or None without any."""
        return self.letters_kept / self.letters if self.letters else None


def project_language(counts: LanguageCounts, tables: Sequence[ImageTable]) -> dict[str, PairCounts]:
    """The counts of every encoding of one language."""
    prepared = [_Prepared.of(table) for table in counts.tables]
    return {
        images.recipe.encoding: _one_pair(images, prepared, counts)
        for images in tables
        if images.recipe.encoding not in counts.failed
    }


@dataclass(slots=True)
class _Prepared:
    """A table with ids instead of code points; the edge is the last id and is left out of all pairs."""

    table: PairTable
    chars: list[str]
    uses: Ints
    totals: Ints
    left: Ints
    right: Ints
    weights: Ints
    run_counts: Ints
    triple_run: Ints
    triple_left: Ints
    triple_right: Ints

    @staticmethod
    def of(table: PairTable) -> _Prepared:
        points, uses = table.chars()
        run_points, run_uses = _chars_of_runs(table)
        every, totals = sum_by_key(
            np.concatenate([points, run_points, table.hard_chars]),
            np.concatenate([uses, run_uses, table.hard_counts]),
        )
        all_uses = np.zeros(len(every), np.int64)
        all_uses[np.searchsorted(every, points)] = uses
        inner = (table.pairs >> 21 != EDGE) & (table.pairs & _LOW != EDGE)
        pairs = table.pairs[inner]
        return _Prepared(
            table=table,
            chars=[chr(point) for point in every.tolist()],
            uses=all_uses,
            totals=totals,
            left=np.searchsorted(every, pairs >> 21),
            right=np.searchsorted(every, pairs & _LOW),
            weights=table.pair_counts[inner],
            run_counts=table.run_counts(),
            triple_run=table.triples >> 42,
            triple_left=np.searchsorted(every, (table.triples >> 21) & _LOW),
            triple_right=np.searchsorted(every, table.triples & _LOW),
        )

    def add_to(self, counts: Ints, images: list[Image], codec: str) -> int:
        """Add this table's byte pairs in one encoding; returns the number of its bytes."""
        data = [image.data for image in images]
        lengths = np.fromiter(map(len, data), np.int64, len(data))
        stops = np.cumsum(lengths)
        starts = stops - lengths
        flat = b"".join(data)
        padded = np.frombuffer(flat + b"\0", np.uint8)
        # A character without bytes occurs in runs only; its entry is never used.
        first, last = padded[starts], padded[np.maximum(stops - 1, 0)]
        add_crossings(counts, self.left, self.right, self.weights, last, first)
        if lengths.max(initial=0) > 1:
            add_weighted(counts, flat, starts, stops, self.uses)
        return int((lengths * self.uses).sum()) + self._add_runs(counts, images, codec, first, last)

    def _add_runs(
        self, counts: Ints, images: list[Image], codec: str, first: NDArray[np.uint8], last: NDArray[np.uint8]
    ) -> int:
        if not self.table.runs:
            return 0
        written = {ord(c): image.text for c, image in zip(self.chars, images, strict=True) if image.text != c}
        data = [_shrink(run.translate(written)).encode(codec, "ignore") for run in self.table.runs]
        lengths = np.fromiter(map(len, data), np.int64, len(data))
        stops = np.cumsum(lengths)
        flat = b"".join(data)
        add_weighted(counts, flat, stops - lengths, stops, self.run_counts)
        padded = np.frombuffer(flat + b"\0", np.uint8)
        run_first, run_last = padded[stops - lengths], padded[np.maximum(stops - 1, 0)]
        edge = len(self.chars)
        gone = lengths[self.triple_run] == 0
        from_left, to_right = self.triple_left != edge, self.triple_right != edge
        weights = self.table.triple_counts
        for chosen, a, b, last_bytes, first_bytes in (
            (gone & from_left & to_right, self.triple_left, self.triple_right, last, first),
            (~gone & from_left, self.triple_left, self.triple_run, last, run_first),
            (~gone & to_right, self.triple_run, self.triple_right, run_last, first),
        ):
            add_crossings(counts, a[chosen], b[chosen], weights[chosen], last_bytes, first_bytes)
        return int((lengths * self.run_counts).sum())


def _chars_of_runs(table: PairTable) -> tuple[Ints, Ints]:
    lengths = [len(run) for run in table.runs]
    points = np.frombuffer("".join(table.runs).encode("utf-32-le"), np.uint32).astype(np.int64)
    return sum_by_key(points, np.repeat(table.run_counts(), lengths))


def _shrink(text: str) -> str:
    """Equal neighbours that are whitespace become one."""
    out = text[:1]
    for char in text[1:]:
        if char != out[-1] or not char.isspace():
            out += char
    return out


def _one_pair(images: ImageTable, prepared: Sequence[_Prepared], counts: LanguageCounts) -> PairCounts:
    name, codec = images.recipe.encoding, images.recipe.codec
    dense = np.zeros(65536, np.int64)
    samples = num_bytes = letters_kept = letters = texts = 0
    dropped: dict[str, int] = {}
    path = "direct"
    for table in prepared:
        if name not in table.table.measured:
            continue
        found = images.of(table.chars)
        texts += table.table.num_texts
        letters_kept += _weigh((image.letters_kept for image in found), table.totals)
        letters += _weigh((image.letters for image in found), table.totals)
        _add_dropped(dropped, table, found)
        if name in table.table.projected:
            num_bytes += table.add_to(dense, found, codec)
            samples += table.table.num_texts - table.table.num_hard
            path = "project"
    if name in counts.direct:
        direct = counts.direct[name]
        dense[direct.index] += direct.counts
        samples += direct.samples
        num_bytes += direct.num_bytes
        letters_kept += direct.letters_kept
        letters += direct.letters
        texts += direct.num_texts
    index = np.flatnonzero(dense)
    return PairCounts(
        index=index,
        counts=dense[index],
        texts=texts,
        samples=samples,
        num_bytes=num_bytes,
        letters_kept=letters_kept,
        letters=letters,
        dropped=tuple(sorted(dropped.items(), key=lambda item: (-item[1], item[0]))[:NUM_DROPPED_SHOWN]),
        num_dropped=sum(dropped.values()),
        path=path,
    )


def _weigh(values: Iterable[int], totals: Ints) -> int:
    return int((np.fromiter(values, np.int64, len(totals)) * totals).sum())


def _add_dropped(dropped: dict[str, int], table: _Prepared, images: Sequence[Image]) -> None:
    for char, image, total in zip(table.chars, images, table.totals.tolist(), strict=True):
        if not image.text:
            dropped[char] = dropped.get(char, 0) + total
