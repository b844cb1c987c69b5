"""What goes into a detection and what comes out: the choices of a caller, candidates, and the answer."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

from samebits.charset.codec import canonical_name
from samebits.charset.detection.encodings import ERAS, era_of
from samebits.errors import ConfigError, did_you_mean

__all__ = ["DEFAULT_MAX_BYTES", "Candidate", "Choices", "Detection", "Wanted", "choices", "default_choices"]

#: As much as the peer reads; more bytes hardly ever change an answer.
DEFAULT_MAX_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class Choices:
    """How to detect; every field has the value that suits files of unknown origin.

    The arguments of ``detect`` in the form the rules want: names are canonical, sets are frozen, priors are sorted.
    """

    include: frozenset[str] = frozenset()
    exclude: frozenset[str] = frozenset()
    eras: frozenset[str] = frozenset()
    languages: frozenset[str] = frozenset()
    priors: tuple[tuple[str, float], ...] = ()
    prefer_superset: bool = False
    max_bytes: int = DEFAULT_MAX_BYTES

    def allows(self, encoding: str) -> bool:
        """Whether an encoding may be answered."""
        if not (self.include or self.exclude or self.eras):
            return True
        name = canonical_name(encoding)
        return (
            (not self.include or name in self.include)
            and name not in self.exclude
            and (not self.eras or era_of(name) in self.eras)
        )

    def favour(self, encoding: str) -> float:
        """Bits in favour of an encoding."""
        return next((bits for name, bits in self.priors if name == encoding), 0.0)


class Wanted(TypedDict, total=False):
    """The keyword arguments of ``detect``, which describes them, and of everything else that detects."""

    include: Iterable[str]
    exclude: Iterable[str]
    eras: Iterable[str]
    languages: Iterable[str]
    priors: Mapping[str, float] | None
    prefer_superset: bool
    max_bytes: int


def choices(**wanted: Unpack[Wanted]) -> Choices:
    """Check what a caller asks for.

    Raises:
        ConfigError: An encoding or era nobody knows, or a size below 1.
    """
    asked: dict[str, Any] = dict(wanted)
    if asked.get("max_bytes", 1) < 1:
        raise ConfigError(f"max_bytes is {asked['max_bytes']}", hint="use 1 or more")
    eras = frozenset(asked.pop("eras", ()))
    for era in sorted(eras.difference(ERAS)):
        raise ConfigError(f"no era named {era!r}", hint=did_you_mean(era, ERAS))
    priors = asked.pop("priors", None) or {}
    return Choices(
        include=_canonical(asked.pop("include", ())),
        exclude=_canonical(asked.pop("exclude", ())),
        eras=eras,
        languages=frozenset(asked.pop("languages", ())),
        priors=tuple(sorted((canonical_name(name), float(bits)) for name, bits in priors.items())),
        **asked,
    )


def _canonical(names: Iterable[str]) -> frozenset[str]:
    if isinstance(names, str):
        raise ConfigError(
            f"a list of encodings was wanted, not the text {names!r}", hint=f"write [{names!r}]"
        )
    return frozenset(map(canonical_name, names))


@functools.cache
def default_choices() -> Choices:
    """The choices of a caller who has none."""
    return Choices()


@dataclass(frozen=True, slots=True)
class Candidate:
    """One possible answer.

    Attributes:
        encoding: Name of the encoding, as Python knows it.
        confidence: How likely its text is the right one, 0 to 1.
        language: Language of the text, or empty.
        aliases: Other encodings that decode these bytes to the same text.
    """

    encoding: str
    confidence: float
    language: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Detection:
    """The answer for one piece of data.

    Attributes:
        encoding: The best candidate's; None for binary or empty data.
        confidence: The best candidate's; for binary data, how sure that is.
        language: The best candidate's, or empty.
        candidates: All answers worth a thought, the likeliest first.
        mime_type: ``text/plain`` or a markup type for text, the type of a binary file; empty for no data.
    """

    encoding: str | None
    confidence: float
    language: str
    candidates: tuple[Candidate, ...]
    mime_type: str = ""
