"""The slow definition: what a recipe means, text by text, in the order of its documented steps."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

from samebits.charset.codec import encodable
from samebits.charset.recipes.recipe import PLACEHOLDER, Recipe

Result = tuple[dict[int, int], int, int, int, int]


def naive_counts(recipe: Recipe, texts: Sequence[str]) -> Result:
    """(byte pair counts, samples, bytes, letters kept, letters) of one pair."""
    counts: Counter[int] = Counter()
    samples = num_bytes = kept = letters = 0
    for text in texts:
        written = _written(recipe, text)
        filtered = "".join(char for char in written if encodable(char, recipe.codec))
        letters += sum(map(str.isalpha, written))
        kept += sum(map(str.isalpha, filtered))
        collapsed = re.sub(r"(\s)\1+", r"\1", filtered)
        for order in recipe.orders:
            stored = collapsed if order == "logical" or recipe.visual is None else recipe.visual(collapsed)
            data = stored.encode(recipe.codec, "ignore")
            if len(data) >= recipe.min_bytes:
                samples += 1
                num_bytes += len(data)
                counts.update(a * 256 + b for a, b in itertools.pairwise(data))
    return dict(counts), samples, num_bytes, kept, letters


def _written(recipe: Recipe, text: str) -> str:
    text = text if recipe.before is None else recipe.before(text)
    text = re.sub(rf"([\s{re.escape(recipe.collapse)}])\1+", r"\1", text)
    text = text if recipe.after is None else recipe.after(text)
    text = text.replace(PLACEHOLDER, recipe.encoding)
    text = "".join(
        char if encodable(char, recipe.codec) and not recipe.substitutes_all else recipe.substitute(char)
        for char in text
    )
    if recipe.shape is not None and recipe.glyph is not None:
        text = "".join(map(recipe.glyph, recipe.shape(text)))
    return text
