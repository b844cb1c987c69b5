"""The seed benchmark of the dictionary method: random words in three languages that share all of them, with typos.

The rows are those of the reference project's own harness, byte for byte, so that figures can be compared with the ones
it reports. The generator is Python's ``random.Random(42)`` and the order of its draws matters: words of three characters
draw nothing for a typo.
"""

from __future__ import annotations

import json
import random  # noqa: TID251  # the reference harness draws from this generator; rng_for would make other rows
import string
from collections.abc import Iterator
from pathlib import Path

__all__ = ["seed_rows", "write_seed_rows"]

LANGUAGES = ["en", "es", "fr"]
WORDS_PER_ROW = 20
VOCABULARY = 10_000
TYPO_SHARE = 0.05


def seed_rows(num_rows: int) -> Iterator[dict[str, str]]:
    """Yield labelled rows.

    >>> next(seed_rows(1))["lang"]
    'en'
    """
    rng = random.Random(42)
    letters = string.ascii_lowercase + string.digits
    vocabulary = ["".join(rng.choice(letters) for _ in range(rng.randint(3, 10))) for _ in range(VOCABULARY)]
    for _ in range(num_rows):
        language = rng.choice(LANGUAGES)
        yield {"lang": language, "text": " ".join(_word(rng, vocabulary) for _ in range(WORDS_PER_ROW))}


def _word(rng: random.Random, vocabulary: list[str]) -> str:
    word = rng.choice(vocabulary)
    if len(word) > 3 and rng.random() <= TYPO_SHARE:
        place = rng.randrange(len(word))
        word = word[:place] + word[place + 1 :]
    return word


def write_seed_rows(path: Path, num_rows: int) -> None:
    """Write them as JSON lines."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in seed_rows(num_rows))
