"""Readings: the different texts some bytes may be, and what each costs.

Encodings that give the same text are one reading. Costs are bits: what it takes to write the text down for someone who knows
the language. They grow with every byte, so a longer text is a surer one. ``evidence_of`` says which models answer: the package's
own, or ones that a caller trained.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from samebits.charset.characters.model_file import (
    UNITS_PER_BIT,
    CharacterModel,
    open_model,
    prior_units,
    shipped_model,
)
from samebits.charset.detection.encodings import FAMILIES, Family, prior_bits, subset_name, superset_of
from samebits.charset.detection.interface import Choices, default_choices
from samebits.kernels.charset.doublebytes import walk
from samebits.kernels.charset.survey import first_high, survey

if TYPE_CHECKING:
    from samebits.charset.detection.model import CharsetModel

__all__ = [
    "ByteReading",
    "CharacterEvidence",
    "Evidence",
    "default_evidence",
    "evidence_of",
    "load_evidence",
]

NOT_WANTED = 0x7FFFFFFF
#: Readings this much dearer than the best are not worth a mention: their confidence would be below 0.001.
MARGIN_BITS = 40
#: What a declaration in the document is worth: so many bits, and a share of what the text costs. A wrong one
#: costs more than that once there are some dozens of characters.
DECLARED_BITS = 60
DECLARED_SHARE = 0.1
#: A bracket without its other half.
BRACKET_BITS = 6
#: Long data are tried on this many bytes first, and only encodings that come within so many bits there on all of them.
WINDOW = 4096
WINDOW_MARGIN_BITS = 250
#: A language other than those the caller named.
HINT_BITS = 8
#: Plain ASCII tells languages apart, and through them encodings; in sixteenths.
ASCII_WEIGHT = 8
#: Text of more characters names its language no better.
MAX_LANGUAGE_CHARS = 4096
_WIDE_PRIOR = {"utf-16-le": 6.0, "utf-16-be": 6.0, "utf-32-le": 4.0, "utf-32-be": 4.0}
_STRANGE_BITS = 20
_NO_LIMIT = 1e9
_SUPERSETS = frozenset(family.superset for family in FAMILIES)
_FORMS = {"gb18030": 1, "euc_jis_2004": 2}


class ByteReading(NamedTuple):
    """One text the bytes may be.

    Attributes:
        cost: Bits.
        names: Encodings that give this text, the best first.
        language: Its language.
    """

    cost: float
    names: tuple[str, ...]
    language: str


class _Trial(NamedTuple):
    """What to try: costs to add per encoding and per language, and the double-byte families."""

    choices: Choices
    priors: array[int]
    hints: array[int]
    families: tuple[Family, ...]


class Evidence(Protocol):
    """Models of either kind, asked by the same questions."""

    def rank(self, data: bytes, choices: Choices, declared: str) -> list[ByteReading]:
        """Readings by encodings that contain ASCII or EBCDIC, the cheapest first."""

    def wide(self, data: bytes, choices: Choices, name: str) -> ByteReading | None:
        """The reading by an encoding of two or four bytes a character, if it is one."""

    def language(self, text: str, choices: Choices) -> str:
        """Language of text."""


class CharacterEvidence:
    """Evidence from models of characters."""

    def __init__(self, model: CharacterModel) -> None:
        self.model = model
        self._prepared = lru_cache(maxsize=64)(self._prepare)

    def rank(self, data: bytes, choices: Choices, declared: str) -> list[ByteReading]:
        """Single-byte encodings by pairs of characters, double-byte ones by their characters."""
        trial = self._prepared(choices)
        base, found = self._costed(data, self._near(data, trial), MARGIN_BITS)
        if declared:
            found = self._with_declared(data, trial, base, found, declared)
        if sum(reading.names[0] in self.model.mainframe for reading in found) > 1:
            found = [self._with_brackets(data, reading) for reading in found]
        ranked = sorted(found, key=lambda reading: reading.cost)
        return _merged(_named(reading, data, choices) for reading in ranked)

    def _near(self, data: bytes, trial: _Trial) -> _Trial:
        """The encodings that are possible after a look at the first part of long data that is not plain ASCII."""
        if len(data) <= 2 * WINDOW:
            return trial
        start = max(0, first_high(data) - WINDOW // 16)
        window = data[start : start + WINDOW]
        if not window or survey(window)[0] < WINDOW // 16:
            return trial
        _, found = self._costed(window, trial, WINDOW_MARGIN_BITS)
        return self._only(trial, {name for reading in found for name in reading.names})

    def _only(self, trial: _Trial, names: set[str]) -> _Trial:
        """A trial of these encodings alone."""
        priors = array(
            "i",
            [
                prior if name in names else NOT_WANTED
                for name, prior in zip(self.model.encodings, trial.priors, strict=True)
            ],
        )
        families = tuple(f for f in trial.families if names.intersection((f.superset, *f.subsets)))
        return trial._replace(priors=priors, families=families)

    def _costed(self, data: bytes, trial: _Trial, margin: int) -> tuple[float, list[ByteReading]]:
        """Bits of the plain ASCII part, and the readings that cost at most `margin` bits more than the best."""
        base, ascii_words, rows = self.model.tables.rank(
            data, trial.priors, trial.hints, margin * UNITS_PER_BIT, ASCII_WEIGHT
        )
        found = self._grouped(rows)
        best = min((reading.cost for reading in found), default=math.inf)
        for family in trial.families if not data.isascii() else ():
            before = (
                base / UNITS_PER_BIT + prior_bits(family.superset) - trial.choices.favour(family.superset)
            )
            limit = int(min(best + margin - before, _NO_LIMIT) * UNITS_PER_BIT)
            cost, chars, _, runs = walk(
                data, self.model.double_byte[family.superset], _FORMS.get(family.superset, 0), limit
            )
            if chars and cost <= limit:
                bits = before + cost / UNITS_PER_BIT + words_bits(runs, ascii_words)
                found.append(ByteReading(bits, (family.superset,), family.language))
                best = min(best, bits)
        return base / UNITS_PER_BIT, [reading for reading in found if reading.cost <= best + margin]

    def _with_declared(
        self, data: bytes, trial: _Trial, base: float, found: list[ByteReading], declared: str
    ) -> list[ByteReading]:
        """Favour what the document says, in proportion to what there is to read."""
        names = {declared, superset_of(declared)}
        if not any(names.intersection(reading.names) for reading in found):
            _, more = self._costed(data, self._only(trial, names), MARGIN_BITS)
            found = found + more
        if not found:
            return found
        best = min(reading.cost for reading in found)
        favour = DECLARED_BITS + DECLARED_SHARE * max(0.0, best - base)
        return [
            reading._replace(cost=reading.cost - favour + (declared not in reading.names))
            if names.intersection(reading.names)
            else reading
            for reading in found
        ]

    def _with_brackets(self, data: bytes, reading: ByteReading) -> ByteReading:
        """Pages of mainframes differ in where brackets lie: text has as many open as closed ones."""
        if reading.names[0] not in self.model.mainframe:
            return reading
        text = data.decode(reading.names[0], "replace")
        return reading._replace(cost=reading.cost + BRACKET_BITS * abs(text.count("[") - text.count("]")))

    def wide(self, data: bytes, choices: Choices, name: str) -> ByteReading | None:
        """Read the beginning as wide characters; the cost is scaled to all of the data."""
        head = data[: 4 * MAX_LANGUAGE_CHARS]
        try:
            text = head[: len(head) // 4 * 4].decode(name)
        except UnicodeDecodeError as error:
            text = head[: error.start].decode(name) if error.start > len(head) * 0.99 else ""
        if not text or not choices.allows(name):
            return None
        cost, chars, language, strange = self._read(text, choices)
        if strange * 10 > chars:
            return None
        bits = (cost + strange * _STRANGE_BITS) * len(data) / max(1, min(len(data), len(head)))
        bits *= len(text) / chars
        return ByteReading(bits + _WIDE_PRIOR[name], (name,), language)

    def language(self, text: str, choices: Choices) -> str:
        """Language of text, by its script and its pairs of characters."""
        return self._read(text, choices)[2] if text else ""

    def _read(self, text: str, choices: Choices) -> tuple[float, int, str, int]:
        hints = self._prepared(choices).hints if choices.languages else self._no_hints()
        cost, chars, script, number, strange = self.model.tables.read(text, hints, MAX_LANGUAGE_CHARS)
        names = self.model.east_asian if script < 0 else self.model.languages
        return cost / UNITS_PER_BIT, chars, names[number], strange

    def _no_hints(self) -> array[int]:
        return self._prepared(default_choices()).hints

    def _prepare(self, choices: Choices) -> _Trial:
        priors = array("i")
        for name in self.model.encodings:
            bits = round(choices.favour(name) * UNITS_PER_BIT)
            priors.append(prior_units(name) - bits if choices.allows(name) else NOT_WANTED)
        penalty = HINT_BITS * UNITS_PER_BIT if choices.languages else 0
        hints = array("i", [0 if name in choices.languages else penalty for name in self.model.languages])
        families = tuple(
            family
            for family in FAMILIES
            if family.superset in self.model.double_byte
            and any(map(choices.allows, (family.superset, *family.subsets)))
        )
        return _Trial(choices, priors, hints, families)

    def _grouped(self, rows: list[tuple[int, int, int, int]]) -> list[ByteReading]:
        groups: dict[int, list[tuple[int, int, int]]] = {}
        for cost, encoding, language, reading in rows:
            groups.setdefault(reading, []).append((cost, encoding, language))
        out = []
        for members in groups.values():
            members.sort(key=lambda member: member[0])
            names = tuple(self.model.encodings[encoding] for _, encoding, _ in members)
            out.append(ByteReading(members[0][0] / UNITS_PER_BIT, names, self.model.languages[members[0][2]]))
        return out


def _merged(readings: Iterable[ByteReading]) -> list[ByteReading]:
    """Readings that go by one name are one: two supersets of it read the data alike."""
    out: dict[str, ByteReading] = {}
    for reading in readings:
        if not reading.names:
            continue
        known = out.setdefault(reading.names[0], reading)
        if known is not reading:
            out[reading.names[0]] = known._replace(names=tuple(dict.fromkeys((*known.names, *reading.names))))
    return list(out.values())


def _named(reading: ByteReading, data: bytes, choices: Choices) -> ByteReading:
    """Put the narrowest name of a double-byte family first, and leave out what the caller does not want."""
    if reading.names[0] not in _SUPERSETS:
        return reading
    names = dict.fromkeys((subset_name(reading.names[0], data), reading.names[0]))
    return reading._replace(names=tuple(name for name in names if choices.allows(name)))


def words_bits(strange: float, plain: float) -> float:
    """Bits to say which words are of another script; see the kernel's ``beta_bits``."""
    total = math.lgamma(strange + 10) - math.lgamma(10) + math.lgamma(plain + 1)
    return -(total - math.lgamma(strange + plain + 11) + math.lgamma(11)) / math.log(2)


@cache
def default_evidence() -> CharacterEvidence:
    """The models inside the package, opened once."""
    return CharacterEvidence(shipped_model())


def evidence_of(model: CharsetModel | CharacterModel | None) -> Evidence:
    """Evidence of a model of either kind; of the package's own when there is none."""
    if model is None:
        return default_evidence()
    if isinstance(model, CharacterModel):
        return CharacterEvidence(model)
    from samebits.charset.detection.byte_pairs import byte_pair_evidence

    return byte_pair_evidence(model)


def load_evidence(path: str | Path | None) -> Evidence:
    """Models at a path: a folder of ``charset train``, or a file of ``charset learn``; the package's own for None."""
    if path is None or not str(path):
        return default_evidence()
    if Path(path).is_file():
        return CharacterEvidence(open_model(path))
    from samebits.charset.detection.model import CharsetModel

    return evidence_of(CharsetModel.load(path))
