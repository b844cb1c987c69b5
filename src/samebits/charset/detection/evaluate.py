"""Judge a model on text it has not seen: short snippets, re-encoded in every pair.

A snippet is cut at character boundaries, is 20 to 200 bytes long and holds at least three characters beyond ASCII. The
answer is right when it names the same codec, or another one that decodes these bytes to the same text.
"""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from samebits.charset.codec import canonical_name
from samebits.charset.pairs import Pair
from samebits.charset.training.tasks import image_tables, pairs_by_language
from samebits.core.seeds import rng_for

__all__ = ["Score", "Snippet", "judge", "make_snippets"]

MIN_BYTES, MAX_BYTES = 20, 200
MIN_BEYOND_ASCII = 3
TRIES_PER_SNIPPET = 40


class Snippet(NamedTuple):
    """A piece of text as its encoding stores it."""

    pair: Pair
    data: bytes
    text: str


@dataclass(frozen=True, slots=True)
class Score:
    """How many snippets of a group were answered rightly."""

    right: int
    total: int

    @property
    def share(self) -> float:
        """Right answers over all."""
        return self.right / self.total


def make_snippets(
    pairs: Sequence[Pair],
    texts: Mapping[str, Sequence[str]],
    *,
    per_pair: int,
    seed: int,
    recipe: str = "default",
) -> list[Snippet]:
    """Cut snippets for every pair whose language has text; the same for the same seed, whatever the order."""
    out = []
    for language, members in pairs_by_language(pairs).items():
        pool = [text for text in texts.get(language, ()) if len(text) >= MIN_BYTES // 4]
        if not pool:
            continue
        for images in image_tables(recipe, members):
            pair = Pair(language, images.recipe.encoding, images.recipe.codec)
            rng = rng_for(seed, "charset-eval", pair.key)
            found: list[Snippet] = []
            for _ in range(per_pair * TRIES_PER_SNIPPET):
                if len(found) == per_pair:
                    break
                text = _cut(pool[int(rng.integers(len(pool)))], rng)
                step = images.recipe.before
                written = "".join(
                    image.text for image in images.of(list(text if step is None else step(text)))
                )
                snippet = _snippet(pair, written, int(rng.integers(MIN_BYTES, MAX_BYTES + 1)))
                if snippet is not None:
                    found.append(snippet)
            out += found
    return out


def _cut(text: str, rng: np.random.Generator) -> str:
    start = int(rng.integers(max(1, len(text) - MIN_BYTES)))
    return text[start : start + int(rng.integers(MIN_BYTES, MAX_BYTES))]


def _snippet(pair: Pair, text: str, max_bytes: int) -> Snippet | None:
    data = text.encode(pair.codec, "ignore")
    while len(data) > max_bytes:
        text = text[: -max(1, (len(data) - max_bytes) // 4)]
        data = text.encode(pair.codec, "ignore")
    beyond = sum(char > "\x7f" for char in text)
    return Snippet(pair, data, text) if len(data) >= MIN_BYTES and beyond >= MIN_BEYOND_ASCII else None


def is_right(snippet: Snippet, answer: str | None) -> bool:
    """Whether an answer names the codec, or one that gives the same text."""
    try:
        return answer is not None and (
            canonical_name(answer) == canonical_name(snippet.pair.codec)
            or codecs.decode(snippet.data, answer) == snippet.text
        )
    except (LookupError, ValueError):
        return False


def judge(snippets: Sequence[Snippet], answers: Sequence[str | None]) -> dict[str, Score]:
    """Scores of all answers, by length of the snippet and by family of encodings."""
    right: dict[str, int] = {}
    total: dict[str, int] = {}
    for snippet, answer in zip(snippets, answers, strict=True):
        verdict = is_right(snippet, answer)
        for group in ("all", _length_group(len(snippet.data)), family_of(snippet.pair)):
            right[group] = right.get(group, 0) + verdict
            total[group] = total.get(group, 0) + 1
    return {group: Score(right[group], total[group]) for group in sorted(total)}


def _length_group(num_bytes: int) -> str:
    return "020-049 bytes" if num_bytes < 50 else "050-099 bytes" if num_bytes < 100 else "100-200 bytes"


def family_of(pair: Pair) -> str:
    """Family of an encoding, for the table."""
    name = canonical_name(pair.codec)
    if name.startswith("utf"):
        return "utf"
    if pair.language in ("ja", "ko", "zh"):
        return "cjk"
    if name.startswith(("cp125", "cp874")):
        return "windows"
    if name.startswith(("iso8859", "koi8", "tis", "kz", "ptcp")):
        return "iso and koi8"
    if name.startswith(("mac", "hp")):
        return "mac"
    return "ebcdic" if name in ("cp037", "cp1026", "cp1140", "cp273", "cp424", "cp500", "cp875") else "dos"
