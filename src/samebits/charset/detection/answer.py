"""What a detection answers."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Candidate", "Detection"]


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
