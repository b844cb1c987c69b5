"""charset-normalizer's functions and its classes of matches, answered by samebits."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from encodings.aliases import aliases
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.interface import Candidate, choices
from samebits.charset.detection.names import language_name
from samebits.charset.detection.readings import default_evidence

__all__ = ["CharsetMatch", "CharsetMatches", "from_bytes", "from_fp", "from_path", "is_binary"]

_ALL_CANDIDATES = 200
_MARKED = ("utf-8-sig", "utf-16", "utf-32")


class CharsetMatch:
    """One way to read some bytes, as charset-normalizer describes it."""

    def __init__(self, payload: bytes, candidate: Candidate) -> None:
        self._payload = payload
        self._candidate = candidate

    @property
    def raw(self) -> bytes:
        """The bytes."""
        return self._payload

    @property
    def encoding(self) -> str:
        """The encoding, spelt with underscores."""
        return _spelt(self._candidate.encoding)

    @property
    def encoding_aliases(self) -> list[str]:
        """Other names Python has for it."""
        return sorted(name for name, codec in aliases.items() if codec == self.encoding)

    @property
    def could_be_from_charset(self) -> list[str]:
        """This encoding and those that give the same text."""
        return [self.encoding, *map(_spelt, self._candidate.aliases)]

    @property
    def submatch(self) -> list[CharsetMatch]:
        """Matches by other encodings with the same text."""
        best = self._candidate
        return [
            CharsetMatch(self._payload, Candidate(name, best.confidence, best.language))
            for name in best.aliases
        ]

    @property
    def has_submatch(self) -> bool:
        """Whether another encoding gives the same text."""
        return bool(self._candidate.aliases)

    @property
    def language(self) -> str:
        """English name of the language, or Unknown."""
        return language_name(self._candidate.language) or "Unknown"

    @property
    def languages(self) -> list[str]:
        """The language, in a list."""
        return [self.language] if self._candidate.language else []

    @property
    def bom(self) -> bool:
        """Whether the data starts with a byte order mark."""
        return self._candidate.encoding in _MARKED

    byte_order_mark = bom

    @property
    def chaos(self) -> float:
        """How unlikely this reading is."""
        return round(1 - self._candidate.confidence, 4)

    @property
    def coherence(self) -> float:
        """How likely this reading is."""
        return round(self._candidate.confidence, 4)

    @property
    def percent_chaos(self) -> float:
        """`chaos` in percent."""
        return round(self.chaos * 100, 3)

    @property
    def percent_coherence(self) -> float:
        """`coherence` in percent."""
        return round(self.coherence * 100, 3)

    def output(self, encoding: str = "utf_8") -> bytes:
        """The text in another encoding."""
        return str(self).encode(encoding, "replace")

    def __str__(self) -> str:
        text = self._payload.decode(self._candidate.encoding, "replace")
        return text.removeprefix("\ufeff")

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return _spelt(codecs.lookup(other).name) == self.encoding
        return isinstance(other, CharsetMatch) and (self.encoding, self.raw) == (other.encoding, other.raw)

    def __hash__(self) -> int:
        return hash((self.encoding, self.raw))

    def __repr__(self) -> str:
        return f"<CharsetMatch {self.encoding!r} {self.coherence:.2f}>"


def _spelt(name: str) -> str:
    return {"utf-8-sig": "utf_8", "iso8859-1": "latin_1"}.get(name, name.replace("-", "_"))


class CharsetMatches:
    """All matches, the best first."""

    def __init__(self, results: Sequence[CharsetMatch] = ()) -> None:
        self._results = list(results)

    def best(self) -> CharsetMatch | None:
        """The likeliest match, or None for binary data."""
        return self._results[0] if self._results else None

    first = best

    def __iter__(self) -> Iterator[CharsetMatch]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    def __bool__(self) -> bool:
        return bool(self._results)

    def __getitem__(self, item: int | str) -> CharsetMatch:
        if isinstance(item, int):
            return self._results[item]
        wanted = _spelt(codecs.lookup(item).name)
        for match in self._results:
            if wanted in match.could_be_from_charset:
                return match
        raise KeyError(item)


def from_bytes(
    sequences: bytes | bytearray,
    steps: int = 5,
    chunk_size: int = 512,
    threshold: float = 0.2,
    cp_isolation: list[str] | None = None,
    cp_exclusion: list[str] | None = None,
    preemptive_behaviour: bool = True,
    explain: bool = False,
    language_threshold: float = 0.1,
    enable_fallback: bool = True,
) -> CharsetMatches:
    """Detect as ``charset_normalizer.from_bytes`` does; arguments about its way of measuring are ignored."""
    if not isinstance(sequences, (bytes, bytearray)):
        raise TypeError(f"Expected object of type bytes or bytearray, got: {type(sequences)}")
    data = bytes(sequences)
    if not data:
        return CharsetMatches([CharsetMatch(data, Candidate("utf-8", 1.0))])
    wanted = choices(include=cp_isolation or (), exclude=cp_exclusion or ())
    found = detect_with(default_evidence(), data, wanted, top=_ALL_CANDIDATES)
    return CharsetMatches([CharsetMatch(data, candidate) for candidate in found.candidates])


def from_fp(fp: BinaryIO, *args: object, **keywords: object) -> CharsetMatches:
    """Detect what a binary file object still holds."""
    return from_bytes(fp.read(), *args, **keywords)  # type: ignore[arg-type]  # checked by from_bytes' own signature


def from_path(path: str | PathLike[str], *args: object, **keywords: object) -> CharsetMatches:
    """Detect a file."""
    return from_bytes(Path(path).read_bytes(), *args, **keywords)  # type: ignore[arg-type]  # as above


def is_binary(
    fp_or_path_or_payload: str | PathLike[str] | BinaryIO | bytes, *args: object, **keywords: object
) -> bool:
    """Whether no encoding reads the data as text."""
    source = fp_or_path_or_payload
    if isinstance(source, (str, PathLike)):
        return not from_path(source, *args, **keywords)
    if isinstance(source, (bytes, bytearray)):
        return not from_bytes(source, *args, **keywords)  # type: ignore[arg-type]  # as above
    return not from_fp(source, *args, **keywords)
