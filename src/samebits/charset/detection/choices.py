"""What a caller knows or wants beforehand: encodings to consider or not, languages, how much to read."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from samebits.charset.codec import canonical_name
from samebits.charset.detection.encodings import ERAS, era_of
from samebits.errors import ConfigError, did_you_mean

__all__ = ["DEFAULT_MAX_BYTES", "Choices", "choices"]

#: As much as the peer reads; more bytes hardly ever change an answer.
DEFAULT_MAX_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class Choices:
    """How to detect; every field has the value that suits files of unknown origin.

    Attributes:
        include: Consider these encodings only; all when empty. Canonical names.
        exclude: Never answer these encodings. Canonical names.
        eras: Consider encodings of these eras only; all when empty.
        languages: The text is in one of these languages, as far as the caller knows.
        priors: Bits in favour of an encoding (negative: against it), by canonical name.
        prefer_superset: Name the larger encoding where one contains the other (cp1252 for iso8859-1).
        max_bytes: Look at this many bytes at most.
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


def choices(
    *,
    include: Iterable[str] = (),
    exclude: Iterable[str] = (),
    eras: Iterable[str] = (),
    languages: Iterable[str] = (),
    priors: Mapping[str, float] | None = None,
    prefer_superset: bool = False,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Choices:
    """Check what a caller asks for.

    Raises:
        ConfigError: An encoding or era nobody knows, or a size below 1.
    """
    if max_bytes < 1:
        raise ConfigError(f"max_bytes is {max_bytes}", hint="use 1 or more")
    for era in (eras := tuple(eras)):
        if era not in ERAS:
            raise ConfigError(f"no era named {era!r}", hint=did_you_mean(era, ERAS))
    return Choices(
        include=_canonical(include),
        exclude=_canonical(exclude),
        eras=frozenset(eras),
        languages=frozenset(languages),
        priors=tuple(sorted((canonical_name(name), float(bits)) for name, bits in (priors or {}).items())),
        prefer_superset=prefer_superset,
        max_bytes=max_bytes,
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
