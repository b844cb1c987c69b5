"""chardet's functions and its detector class, answered by samebits."""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any, TypedDict, Unpack

from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.interface import DEFAULT_MAX_BYTES, Candidate, Choices, Detection, choices
from samebits.charset.detection.readings import default_evidence
from samebits.charset.detection.signs import by_mark

__all__ = ["EncodingEra", "LanguageFilter", "UniversalDetector", "detect", "detect_all"]

#: Candidates at or below are not listed unless asked for.
MINIMUM_THRESHOLD = 0.2
_ALL_CANDIDATES = 200


class EncodingEra(enum.IntFlag):
    """Which encodings to consider, as chardet groups them."""

    MODERN_WEB = 1
    LEGACY_ISO = 2
    LEGACY_MAC = 4
    LEGACY_REGIONAL = 8
    DOS = 16
    MAINFRAME = 32
    ALL = 63


class LanguageFilter(enum.IntFlag):
    """Accepted and ignored, as in chardet 7."""

    NONE = 0
    CHINESE_SIMPLIFIED = 1
    CHINESE_TRADITIONAL = 2
    JAPANESE = 4
    KOREAN = 8
    NON_CJK = 16
    ALL = 31
    CHINESE = 3
    CJK = 15


_ERAS = {
    EncodingEra.MODERN_WEB: "web",
    EncodingEra.LEGACY_ISO: "iso",
    EncodingEra.LEGACY_MAC: "mac",
    EncodingEra.LEGACY_REGIONAL: "regional",
    EncodingEra.DOS: "dos",
    EncodingEra.MAINFRAME: "mainframe",
}
#: Display names of chardet 5 to 7; every other encoding goes by Python's name.
_NAMES = {
    **{f"cp125{i}": f"Windows-125{i}" for i in range(8)},
    **{f"iso8859-{i}": f"ISO-8859-{i}" for i in (1, 2, 5, 6, 7, 8, 9, 13)},
    "big5": "Big5",
    "cp855": "IBM855",
    "cp866": "IBM866",
    "cp874": "CP874",
    "cp932": "CP932",
    "cp949": "CP949",
    "euc_jp": "EUC-JP",
    "euc_kr": "EUC-KR",
    "gb18030": "GB18030",
    "hz": "HZ-GB-2312",
    "iso2022_jp": "ISO-2022-JP",
    "iso2022_kr": "ISO-2022-KR",
    "johab": "Johab",
    "koi8-r": "KOI8-R",
    "kz1048": "KZ1048",
    "mac-cyrillic": "MacCyrillic",
    "mac-greek": "MacGreek",
    "mac-iceland": "MacIceland",
    "mac-latin2": "MacLatin2",
    "mac-roman": "MacRoman",
    "mac-turkish": "MacTurkish",
    "shift_jis": "SHIFT_JIS",
    "tis-620": "TIS-620",
    "utf-16": "UTF-16",
    "utf-32": "UTF-32",
    "utf-8-sig": "UTF-8-SIG",
}


class Keywords(TypedDict, total=False):
    """The arguments that chardet takes by name alone."""

    prefer_superset: bool
    compat_names: bool
    include_encodings: Iterable[str] | None
    exclude_encodings: Iterable[str] | None
    no_match_encoding: str
    empty_input_encoding: str


def _choices(era: EncodingEra, max_bytes: int, *, rename: bool, keywords: Keywords) -> Choices:
    every = era & EncodingEra.ALL == EncodingEra.ALL
    return choices(
        include=keywords.get("include_encodings") or (),
        exclude=keywords.get("exclude_encodings") or (),
        eras=() if every else [name for flag, name in _ERAS.items() if era & flag],
        prefer_superset=keywords.get("prefer_superset", False) or rename,
        max_bytes=max_bytes,
    )


def _name(encoding: str | None, *, compat_names: bool) -> str | None:
    return _NAMES.get(encoding, encoding) if encoding and compat_names else encoding


def _result(encoding: str | None, confidence: float, language: str, mime_type: str) -> dict[str, Any]:
    return {
        "encoding": encoding,
        "confidence": confidence,
        "language": language or None,
        "mime_type": mime_type or "text/plain",
    }


def _of_candidate(candidate: Candidate, found: Detection, *, compat_names: bool) -> dict[str, Any]:
    name = _name(candidate.encoding, compat_names=compat_names)
    return _result(name, candidate.confidence, candidate.language, found.mime_type)


def _answers(
    data: bytes | bytearray,
    era: EncodingEra,
    max_bytes: int,
    *,
    top: int,
    rename: bool,
    keywords: Keywords,
) -> list[dict[str, Any]]:
    _check_bytes(data)
    if unknown := sorted(keywords.keys() - Keywords.__annotations__.keys()):
        raise TypeError(f"detect() got an unexpected keyword argument {unknown[0]!r}")
    wanted = _choices(era, max_bytes, rename=rename, keywords=keywords)
    if not data:
        return [_result(keywords.get("empty_input_encoding", "utf-8"), 0.1, "", "text/plain")]
    found = detect_with(default_evidence(), bytes(data), wanted, top=top)
    if found.candidates:
        names = keywords.get("compat_names", True)
        return [_of_candidate(candidate, found, compat_names=names) for candidate in found.candidates]
    if found.confidence:  # binary
        return [_result(None, found.confidence, "", found.mime_type)]
    return [_result(keywords.get("no_match_encoding", "cp1252"), 0.1, "", "text/plain")]


def detect(
    byte_str: bytes | bytearray,
    should_rename_legacy: bool = False,
    encoding_era: EncodingEra = EncodingEra.ALL,
    chunk_size: int = 65536,
    max_bytes: int = DEFAULT_MAX_BYTES,
    **keywords: Unpack[Keywords],
) -> dict[str, Any]:
    """Detect as ``chardet.detect`` does: a dictionary with encoding, confidence, language and mime_type."""
    return _answers(byte_str, encoding_era, max_bytes, top=1, rename=should_rename_legacy, keywords=keywords)[
        0
    ]


def detect_all(
    byte_str: bytes | bytearray,
    ignore_threshold: bool = False,
    should_rename_legacy: bool = False,
    encoding_era: EncodingEra = EncodingEra.ALL,
    chunk_size: int = 65536,
    max_bytes: int = DEFAULT_MAX_BYTES,
    **keywords: Unpack[Keywords],
) -> list[dict[str, Any]]:
    """All candidates as ``chardet.detect_all`` gives them, sorted by confidence."""
    found = _answers(
        byte_str,
        encoding_era,
        max_bytes,
        top=_ALL_CANDIDATES,
        rename=should_rename_legacy,
        keywords=keywords,
    )
    likely = [row for row in found if row["confidence"] > MINIMUM_THRESHOLD]
    return found if ignore_threshold or not likely else likely


def _check_bytes(data: object) -> None:
    if not isinstance(data, (bytes, bytearray)):
        raise TypeError(f"Expected object of type bytes or bytearray, got: {type(data)}")


class UniversalDetector:
    """chardet's streaming detector: feed, close, result, done, reset."""

    MINIMUM_THRESHOLD = MINIMUM_THRESHOLD

    def __init__(
        self,
        lang_filter: LanguageFilter = LanguageFilter.ALL,
        should_rename_legacy: bool = False,
        encoding_era: EncodingEra = EncodingEra.ALL,
        max_bytes: int = DEFAULT_MAX_BYTES,
        **names: Any,
    ) -> None:
        """Take the same keyword arguments as `detect`."""
        self._keywords = {
            "should_rename_legacy": should_rename_legacy,
            "encoding_era": encoding_era,
            "max_bytes": max_bytes,
            **names,
        }
        detect(b"", **self._keywords)  # refuse what detect would refuse, now
        self._max_bytes = max_bytes
        self.reset()

    def reset(self) -> None:
        """Begin another document."""
        self._data = bytearray()
        self._closed = False
        self.done = False
        self.result: dict[str, Any] = _result(None, 0.0, "", "")

    def feed(self, byte_str: bytes | bytearray) -> None:
        """Take more bytes; `done` says when they no longer matter.

        Raises:
            ValueError: It was closed without a reset.
        """
        if self._closed:
            raise ValueError("feed() called after close() without reset()")
        if self.done:
            return
        self._data += byte_str[: self._max_bytes - len(self._data)]
        self.done = len(self._data) >= self._max_bytes or (
            len(self._data) >= 4 and by_mark(bytes(self._data)) is not None
        )
        if self.done:
            self.result = detect(self._data, **self._keywords)

    def close(self) -> dict[str, Any]:
        """Say that nothing more comes; return the result."""
        if not self._closed:
            self._closed = True
            self.done = True
            self.result = detect(self._data, **self._keywords)
        return self.result
