"""Count one slice of a language's text for all its encodings at once.

Texts that share the same context-dependent steps share one pass. In that pass characters, pairs and runs are
counted for every encoding that treats characters one by one; the others, and texts so short that an encoding
might leave them out, are counted directly.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.charset.block import TextBlock, alphabet_of, block_of, texts_of
from samebits.charset.codec import is_per_character, pairing_marks
from samebits.charset.recipes.recipe import Recipe, TextStep
from samebits.charset.training.direct import count_rewritten, count_shaped, rewrite_texts
from samebits.charset.training.images import Image, ImageTable, is_space_table
from samebits.charset.training.tables import EDGE, LanguageCounts, PairTable, add_counts
from samebits.kernels.charset.bytepairs import COLLAPSE, HARD, SPACE, SPECIAL, count_pairs

__all__ = ["count_block"]

#: With more special characters than this, nearly all text is in runs and encoding it is cheaper than counting
#: runs. Both ways are exact; the number only moves time.
MAX_SPECIAL_SHARE = 0.03

_IS_SPACE = is_space_table()
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def count_block(tables: Sequence[ImageTable], block: TextBlock) -> LanguageCounts:
    """Counts of one block for the recipes behind these image tables (all of one language)."""
    failed: dict[str, str] = {}
    slices = [
        _Pass.prepare(variant, members, failed).run() for variant, members in _variants(tables, block, failed)
    ]
    return add_counts([*slices, LanguageCounts(failed=failed)])


@contextlib.contextmanager
def _noting(failed: dict[str, str], recipe: Recipe) -> Iterator[None]:
    """A recipe is foreign code: what it raises costs its own pair and no other."""
    try:
        yield
    except Exception as error:
        failed.setdefault(recipe.encoding, f"its recipe raised {type(error).__name__}: {error}")


def _variants(
    tables: Sequence[ImageTable], block: TextBlock, failed: dict[str, str]
) -> list[tuple[TextBlock, list[ImageTable]]]:
    """Group encodings by the text they see; a step that changes nothing here shares the plain text."""
    groups: dict[tuple[object, object, str], list[ImageTable]] = {}
    blocks: dict[tuple[object, object, str], TextBlock] = {}
    for table in tables:
        recipe = table.recipe
        with _noting(failed, recipe):
            before, source = (None, block) if recipe.before is None else _before(block, recipe.before)
            after = None
            if recipe.after is not None:
                after, source = _after(source, recipe.after, recipe.collapse)
            key = (before, after, recipe.collapse)
            groups.setdefault(key, []).append(table)
            blocks.setdefault(key, source)
    return [(blocks[key], members) for key, members in groups.items()]


def _before(block: TextBlock, step: TextStep) -> tuple[TextStep | None, TextBlock]:
    """Run a step on the raw text; None when it leaves every text as it is."""
    texts = texts_of(block)
    changed = [step(text) for text in texts]
    return (None, block) if changed == texts else (step, block_of(changed))


def _after(block: TextBlock, step: TextStep, collapse: str) -> tuple[TextStep | None, TextBlock]:
    """Run a step on the collapsed text; None when it leaves every text as it is."""
    points, _ = alphabet_of(block)
    table = _char_table(points, collapse)
    texts = texts_of(rewrite_texts(block, table, [chr(point) for point in points.tolist()], collapse=False))
    changed = [step(text) for text in texts]
    return (None, block) if changed == texts else (step, block_of(changed))


def _char_table(points: Ints, collapse: str) -> NDArray[np.uint32]:
    """Ids from 1 in code point order, with the bits for whitespace and for shrinking repeats."""
    table = np.zeros(0x110000, np.uint32)
    table[points] = np.arange(1, len(points) + 1)
    spaces = points[_IS_SPACE[points]]
    table[spaces] |= SPACE | COLLAPSE
    table[[ord(char) for char in collapse]] |= COLLAPSE
    return table


@dataclass(slots=True)
class _Pass:
    """One pass over one variant of the text: who is projected, and the character table for the kernel."""

    block: TextBlock
    points: Ints
    table: NDArray[np.uint32]
    members: list[tuple[Recipe, list[Image]]]
    projected: list[tuple[Recipe, list[Image]]]
    failed: dict[str, str]

    @staticmethod
    def prepare(block: TextBlock, tables: Sequence[ImageTable], failed: dict[str, str]) -> _Pass:
        points, counts = alphabet_of(block)
        chars = [chr(point) for point in points.tolist()]
        total = int(counts.sum())
        members, projected, special = [], [], np.zeros(len(points), np.bool_)
        for images in tables:
            recipe = images.recipe
            with _noting(failed, recipe):
                found = [] if recipe.shape else images.of(chars)
                members.append((recipe, found))
                mask = np.fromiter((image.special for image in found), np.bool_, len(found))
                if _may_project(recipe) and counts[mask].sum() <= MAX_SPECIAL_SHARE * total:
                    projected.append((recipe, found))
                    special |= mask
        table = _char_table(points, tables[0].recipe.collapse)
        table[points[special]] |= SPECIAL
        return _Pass(block, points, table, members, projected, failed)

    def run(self) -> LanguageCounts:
        """Count the table, then everything that has to be counted directly."""
        marks = sorted({ord(c) for recipe, _ in self.projected for c in pairing_marks(recipe.codec)})
        hard_marks = np.intersect1d(np.array(marks, np.int64), self.points)
        self.table[hard_marks] |= HARD
        out = count_pairs(
            self.block.buffer,
            self.block.starts,
            self.block.stops,
            self.table,
            num_ids=len(self.points) + 1,
            min_chars=max((recipe.min_bytes for recipe, _ in self.projected), default=0),
            look_for_hard=len(hard_marks) > 0,
        )
        counts = LanguageCounts([self._pair_table(*out)])
        hard = out[6].view(np.bool_)
        for recipe, images in self.members:
            with _noting(self.failed, recipe):
                self._count_directly(counts, recipe, images, hard)
        return counts

    def _count_directly(
        self, counts: LanguageCounts, recipe: Recipe, images: list[Image], hard: Bools
    ) -> None:
        name = recipe.encoding
        if recipe.shape is not None:
            counts.direct[name] = count_shaped(
                recipe, self.block, self.table, [chr(p) for p in self.points.tolist()]
            )
            return
        texts = [image.text for image in images]
        if not any(recipe is other for other, _ in self.projected):
            counts.direct[name] = count_rewritten(recipe, self.block, self.table, texts, recipe.orders)
            return
        if hard.any():
            counts.direct[name] = count_rewritten(
                recipe, self.block.subset(hard), self.table, texts, ("logical",)
            )
        if "visual" in recipe.orders:
            visual = count_rewritten(recipe, self.block, self.table, texts, ("visual",))
            counts.direct[name] = counts.direct[name] + visual if name in counts.direct else visual

    def _pair_table(
        self,
        pairs: Ints,
        pair_counts: Ints,
        run_ids: NDArray[np.uint32],
        run_offsets: Ints,
        triples: Ints,
        triple_counts: Ints,
        hard: NDArray[np.uint8],
        hard_counts: Ints,
    ) -> PairTable:
        """Replace the kernel's ids, which mean something in this block only, by code points."""
        to_point = np.concatenate([[EDGE], self.points])
        runs = _run_texts(to_point[run_ids], run_offsets)
        order = sorted(range(len(runs)), key=runs.__getitem__)
        rank = np.zeros(len(runs), np.int64)
        rank[order] = np.arange(len(runs))
        keys = (
            (rank[triples >> 42] << 42)
            | (_points_of(triples >> 21, to_point) << 21)
            | _points_of(triples, to_point)
        )
        by_key = np.argsort(keys, kind="stable")
        pair_keys = (_points_of(pairs >> 21, to_point) << 21) | _points_of(pairs, to_point)
        by_pair = np.argsort(pair_keys, kind="stable")
        hard_ids = np.flatnonzero(hard_counts)
        return PairTable(
            projected=tuple(recipe.encoding for recipe, _ in self.projected),
            measured=tuple(recipe.encoding for recipe, _ in self.members if recipe.shape is None),
            num_texts=len(hard),
            num_hard=int(hard.sum()),
            pairs=pair_keys[by_pair],
            pair_counts=pair_counts[by_pair],
            runs=tuple(runs[i] for i in order),
            triples=keys[by_key],
            triple_counts=triple_counts[by_key],
            hard_chars=to_point[hard_ids],
            hard_counts=hard_counts[hard_ids],
        )


def _points_of(ids: Ints, to_point: Ints) -> Ints:
    points: Ints = to_point[ids & ((1 << 21) - 1)]
    return points


def _run_texts(points: Ints, offsets: Ints) -> list[str]:
    text = points.astype(np.uint32).tobytes().decode("utf-32-le")
    return [text[start:stop] for start, stop in itertools.pairwise(offsets.tolist())]


def _may_project(recipe: Recipe) -> bool:
    return recipe.shape is None and "logical" in recipe.orders and is_per_character(recipe.codec)
