"""Evidence from models of byte pairs: what ``samebits charset train`` makes of a corpus of one's own."""

from __future__ import annotations

import codecs
import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from samebits.charset.codec import canonical_name
from samebits.charset.detection.encodings import prior_bits
from samebits.charset.detection.interface import Choices
from samebits.charset.detection.model import CharsetModel
from samebits.charset.detection.readings import (
    DECLARED_BITS,
    HINT_BITS,
    MARGIN_BITS,
    ByteReading,
    default_evidence,
)
from samebits.kernels.charset.bytescore import score

__all__ = ["BytePairEvidence", "byte_pair_evidence"]

#: More bytes than this do not change answers, only cost time.
MAX_BYTES = 16384
#: Pairs of ASCII bytes tell languages apart but hardly encodings: 1/4 of the weight was best on foreign text.
ASCII_WEIGHT, OTHER_WEIGHT = 1, 4
#: Units of a bit: costs are in 1/12 bit, times the weight of a pair.
UNITS_PER_BIT = 12 * OTHER_WEIGHT
_SKIPPED_REPEATS = (0x20, 0x09, 0x0A, 0x0D, 0x40, 0xA0)
_SEVEN_BIT = ("hz", "iso2022", "utf-7", "utf-8")


@dataclass(frozen=True, slots=True)
class _Tables:
    """What of a model's codecs is worked out once.

    Attributes:
        names: Encodings, sorted; `of_pair` numbers them.
        codecs: Their codecs.
        of_pair: Number of each pair's encoding, -1 for those that need no models.
        single: Whether each encoding is a single-byte one.
        invalid: (encodings, 256): bytes a single-byte codec has no character for.
    """

    names: tuple[str, ...]
    codecs: tuple[str, ...]
    of_pair: NDArray[np.int64]
    single: NDArray[np.bool_]
    invalid: NDArray[np.bool_]


@functools.lru_cache(maxsize=8)
def _tables(pairs: tuple[tuple[str, str, str], ...]) -> _Tables:
    found = sorted({(encoding, codec) for _, encoding, codec in pairs if not _is_seven_bit(codec)})
    number = {name: i for i, (name, _) in enumerate(found)}
    return _Tables(
        names=tuple(name for name, _ in found),
        codecs=tuple(codec for _, codec in found),
        of_pair=np.array([number.get(encoding, -1) for _, encoding, _ in pairs], np.int64),
        single=np.array([_is_single_byte(codec) for _, codec in found], np.bool_),
        invalid=np.stack([_invalid_bytes(codec) for _, codec in found] or [np.zeros(256, np.bool_)]),
    )


def _is_seven_bit(codec: str) -> bool:
    return canonical_name(codec).startswith(_SEVEN_BIT)


def _is_single_byte(codec: str) -> bool:
    """Every byte on its own is a character or an error, never the first half of one."""
    return all(
        _decodes(bytes([byte]), codec, final=True) or not _decodes(bytes([byte]), codec)
        for byte in range(256)
    )


def _invalid_bytes(codec: str) -> NDArray[np.bool_]:
    return np.array([not _decodes(bytes([byte]), codec) for byte in range(256)], np.bool_)


def _decodes(data: bytes, codec: str, *, final: bool = False) -> bool:
    """Whether data decodes strictly; an incomplete last character is allowed unless `final`."""
    try:
        codecs.getincrementaldecoder(codec)("strict").decode(data, final)
    except UnicodeError:
        return False
    return True


def byte_pair_evidence(model: CharsetModel) -> BytePairEvidence:
    """Evidence of a trained model."""
    return BytePairEvidence(model)


@dataclass(frozen=True)
class BytePairEvidence:
    """A trained model as the detector asks it; text in Unicode and wide encodings is the package's own models' business."""

    model: CharsetModel

    def rank(self, data: bytes, choices: Choices, declared: str) -> list[ByteReading]:
        """Encodings that strictly decode the data, those with the same text as one reading."""
        tables = _tables(self.model.pairs)
        if not tables.names:
            return []
        head = data[:MAX_BYTES]
        sums = score(head, self.model.costs, _skips(), ASCII_WEIGHT, OTHER_WEIGHT) / UNITS_PER_BIT
        if choices.languages:
            sums += [HINT_BITS * (pair.language not in choices.languages) for pair in self.model.pairs]
        best: dict[int, tuple[float, str]] = {}
        readable = self._readable(tables, data)
        for number, pair, bits in zip(tables.of_pair.tolist(), self.model.pairs, sums.tolist(), strict=True):
            if number >= 0 and readable[number] and (number not in best or bits < best[number][0]):
                best[number] = (bits, pair.language)
        ranked = []
        for number, (bits, language) in best.items():
            name = tables.names[number]
            if choices.allows(name):
                favour = choices.favour(name) + DECLARED_BITS * (
                    canonical_name(tables.codecs[number]) == declared
                )
                ranked.append((bits - favour, prior_bits(name), name, tables.codecs[number], language))
        ranked.sort()
        return _merged(ranked, head)

    def _readable(self, tables: _Tables, data: bytes) -> NDArray[np.bool_]:
        present = np.bincount(np.frombuffer(data, np.uint8), minlength=256) > 0
        readable: NDArray[np.bool_] = np.logical_not(np.any(tables.invalid & present, axis=1))
        for number in np.flatnonzero(readable & ~tables.single).tolist():
            readable[number] = _decodes(data, tables.codecs[number])
        return readable

    def wide(self, data: bytes, choices: Choices, name: str) -> ByteReading | None:
        """As the package's own models read it."""
        return default_evidence().wide(data, choices, name)

    def language(self, text: str, choices: Choices) -> str:
        """Language of text: the best of the model's own, of all known ones when it has none for UTF-8."""
        chosen = [i for i, pair in enumerate(self.model.pairs) if pair.encoding == "utf-8"]
        data = text[:MAX_BYTES].encode("utf-8", "replace")[:MAX_BYTES]
        if not chosen or not data:
            return default_evidence().language(text, choices)
        sums = score(data, self.model.costs, _skips(), ASCII_WEIGHT, OTHER_WEIGHT)
        return min((int(sums[i]), self.model.pairs[i].language) for i in chosen)[1]


def _merged(ranked: list[tuple[float, float, str, str, str]], head: bytes) -> list[ByteReading]:
    """Join encodings that give the same text; far ones are not looked at."""
    groups: dict[str, list[tuple[float, float, str, str]]] = {}
    for bits, prior, name, codec, language in ranked:
        if bits <= ranked[0][0] + MARGIN_BITS:
            text = codecs.decode(head, codec, "replace")
            groups.setdefault(text, []).append((bits, prior, name, language))
    out = []
    for members in groups.values():
        # The text is the same under each of these names: say the commonest one.
        names = tuple(name for _, _, name, _ in sorted(members, key=lambda member: member[1]))
        out.append(ByteReading(members[0][0], names, members[0][3]))
    return out


@functools.cache
def _skips() -> NDArray[np.uint8]:
    out = np.zeros(256, np.uint8)
    out[list(_SKIPPED_REPEATS)] = 1
    return out
