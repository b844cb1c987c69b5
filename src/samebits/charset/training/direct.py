"""Counting by encoding every text: for codecs with state, display order, shaped letters and very short texts.

Always exact, and the definition the projection has to equal: rewrite the text, put it into display order where
asked, encode it, keep it if it is long enough, count its byte pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from samebits.charset.block import TextBlock, alphabet_of, block_of, texts_of
from samebits.charset.codec import encodable
from samebits.charset.recipes.recipe import PLACEHOLDER, Order, Recipe
from samebits.charset.training.images import flatten, is_space_table
from samebits.charset.training.tables import DirectCounts
from samebits.kernels.charset.bytecounts import count_bytes, rewrite

__all__ = ["count_encoded", "count_rewritten", "count_shaped", "rewrite_texts"]

_IS_SPACE = is_space_table()
Table = NDArray[np.uint32]


def rewrite_texts(
    block: TextBlock, table: Table, images: Sequence[str], *, collapse: bool = True
) -> TextBlock:
    """Replace characters by their images; id k of the table (from 1) has the image ``images[k - 1]``."""
    points, offsets = flatten(images)
    is_space = _IS_SPACE[points].view(np.uint8) if collapse else np.zeros(len(points), np.uint8)
    data, ends = rewrite(block.buffer, block.starts, block.stops, table, points, is_space, offsets)
    return TextBlock(data, ends[:-1], ends[1:])


def count_rewritten(
    recipe: Recipe, block: TextBlock, table: Table, images: Sequence[str], orders: Sequence[Order]
) -> DirectCounts:
    """Encode and count every text of the block in each of the orders."""
    return count_encoded(recipe, texts_of(rewrite_texts(block, table, images)), orders)


def count_encoded(recipe: Recipe, texts: Sequence[str], orders: Sequence[Order]) -> DirectCounts:
    """Encode and count finished texts."""
    kept = [data for data in _encoded(recipe, texts, orders) if len(data) >= recipe.min_bytes]
    stops = np.cumsum([len(data) for data in kept], dtype=np.int64)
    starts = np.concatenate([np.zeros(1, np.int64), stops])[: len(kept)]
    counts = count_bytes(b"".join(kept), starts, stops)
    index = np.flatnonzero(counts)
    return DirectCounts(len(kept), int(stops[-1]) if kept else 0, index, counts[index])


def _encoded(recipe: Recipe, texts: Sequence[str], orders: Sequence[Order]) -> Iterator[bytes]:
    for text in texts:
        for order in orders:
            assert order == "logical" or recipe.visual is not None, "visual order needs its function"
            stored = text if order == "logical" or recipe.visual is None else recipe.visual(text)
            try:
                yield stored.encode(recipe.codec, "ignore")
            except UnicodeError:
                continue  # a codec that fails on a text although told to ignore: the text cannot be stored in it


def count_shaped(recipe: Recipe, block: TextBlock, table: Table, chars: Sequence[str]) -> DirectCounts:
    """Presentation-form pages: substitute per character, shape per text, map glyphs, reorder, encode."""
    assert recipe.shape is not None, "only shaped recipes come here"
    assert recipe.glyph is not None, "a recipe that shapes also says what to write for each glyph"
    written = ["".join(map(recipe.substitute, recipe.encoding if c == PLACEHOLDER else c)) for c in chars]
    shaped = block_of(
        [recipe.shape(text) for text in texts_of(rewrite_texts(block, table, written, collapse=False))]
    )
    points, counts = alphabet_of(shaped)
    glyphs = [recipe.glyph(chr(point)) for point in points.tolist()]
    images = ["".join(c for c in glyph if encodable(c, recipe.codec)) for glyph in glyphs]
    ids = np.zeros(0x110000, np.uint32)
    ids[points] = np.arange(1, len(points) + 1)
    out = count_rewritten(recipe, shaped, ids, images, recipe.orders)
    return DirectCounts(
        out.samples,
        out.num_bytes,
        out.index,
        out.counts,
        letters_kept=_letters(images, counts),
        letters=_letters(glyphs, counts),
        num_texts=len(block.starts),
    )


def _letters(texts: Sequence[str], counts: NDArray[np.int64]) -> int:
    return int(sum(sum(map(str.isalpha, text)) * n for text, n in zip(texts, counts.tolist(), strict=True)))
