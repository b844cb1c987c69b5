"""Make the rows that the model of the package is trained on: the world corpus, mended, and what packages add to it.

    python -m release.langid_rows world.jsonl.zst rows.jsonl

Some files of the corpus are under the name of another language or hold hardly any text of theirs; ``MOVED`` and ``DROPPED`` list them by
language and source. They were found by comparing the words of each source with those of all languages, without the source itself
(dev/LOG.md). Word frequencies (``release/langid_words``, ``release/langid_translated``) and rows of other packages (``release/langid_packages``) follow. The file has the same bytes on every machine; it is not in the repository.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import zstandard
from release.langid_packages import package_rows
from release.langid_translated import translated_rows
from release.langid_words import fetch, word_rows

__all__ = ["mended", "write_rows"]

# Swahili under the name of Swati; Southern Sotho (ho, tse, hae) under that of Northern Sotho (go, tše, gagwe).
MOVED = {("ss", "bible"): "sw", ("nso", "ntrex"): "st"}
DROPPED = frozenset(
    {
        ("da", "debian-handbook"),  # mostly English
        ("dz", "libreoffice-help"),
        ("ro", "debian-handbook"),
        ("fr", "udhr"),  # half of it a dialect of the Vosges
        ("gsw", "udhr"),  # half of it Albanian
        ("si", "subtitle-words"),  # in Latin letters, much of it English
    }
)
Row = dict[str, str]


def main() -> None:
    """Write the rows to the file that was named."""
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    print(write_rows(Path(sys.argv[1]), Path(sys.argv[2])))


def write_rows(corpus: Path, target: Path) -> str:
    """Write all rows; returns the sha256 of the file."""
    encode, digest = msgspec.json.Encoder().encode, hashlib.sha256()
    with target.open("wb") as file:
        for row in all_rows(corpus):
            line = encode(row) + b"\n"
            digest.update(line)
            file.write(line)
    return digest.hexdigest()


def all_rows(corpus: Path) -> Iterator[Row]:
    """Yield the corpus, mended, then word frequencies, then translated ones, then rows of packages in its languages."""
    languages = set()
    for row in mended(corpus_rows(corpus)):
        languages.add(row["lang"])
        yield row
    with tempfile.TemporaryDirectory() as place:
        wheel = fetch(Path(place))
        yield from word_rows(wheel)
        yield from translated_rows(wheel)
    yield from package_rows(languages)


def corpus_rows(corpus: Path) -> Iterator[Row]:
    """Yield the rows of the corpus as they are."""
    with (
        corpus.open("rb") as packed,
        zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed) as file,
    ):
        yield from msgspec.json.Decoder().decode_lines(file.read())


def mended(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows under the language they are in, without files that are in none.

    >>> row = {"text": "Ke a leboha", "lang": "nso", "source": "ntrex"}
    >>> next(mended(iter([row])))["lang"]
    'st'
    """
    for row in rows:
        place = row["lang"], row["source"]
        if place not in DROPPED:
            yield {**row, "lang": MOVED.get(place, row["lang"])}


if __name__ == "__main__":
    main()
