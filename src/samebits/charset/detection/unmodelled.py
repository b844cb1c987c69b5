"""Encodings that show themselves: byte order marks, escape sequences, NUL lanes, UTF-8."""

from __future__ import annotations

import codecs
import unicodedata
from typing import Literal

__all__ = ["by_escapes", "by_lanes", "by_mark", "is_binary", "utf8_share", "utf8_verdict"]

#: UTF-32 first: its little-endian mark starts with the one of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Korean before Japanese: Python's iso2022_jp_2 also reads the header of iso2022_kr. UTF-7 is not tried: source code
#: looks like it too often.
_SEVEN_BIT = ("hz", "iso2022_kr", "iso2022_jp_2", "iso2022_jp_2004", "iso2022_jp_ext")
_SAMPLE = 4096
_ASCII = bytes(range(128))
_CONTROLS = bytes([*range(9), 11, *range(14, 27), *range(28, 32), 127])


def by_mark(data: bytes) -> str | None:
    """The encoding a byte order mark names."""
    return next((name for mark, name in _MARKS if data.startswith(mark)), None)


def by_escapes(data: bytes) -> str | None:
    """A seven-bit encoding, or ASCII when nothing but plain ASCII is there.

    >>> by_escapes(b"int x = a~b;"), by_escapes("漢字".encode("iso2022_jp_2"))
    ('ascii', 'iso2022_jp_2')
    """
    if not data or not data.isascii() or b"\0" in data:
        return None
    if b"\x1b" in data or b"~{" in data or b"\x0e" in data:
        for name in _SEVEN_BIT:
            try:
                text = data.decode(name)
            except UnicodeError:
                continue
            if not text.isascii():
                return name
    return "ascii"


def by_lanes(data: bytes) -> str | None:
    """UTF-16 or UTF-32 without a mark: NULs always in the same place of two or four bytes."""
    head = data[:_SAMPLE]
    if b"\0" not in head:
        return None
    for name, width in (("utf-32-le", 4), ("utf-32-be", 4), ("utf-16-le", 2), ("utf-16-be", 2)):
        whole = head[: len(head) // width * width]
        try:
            text = whole.decode(name)
        except UnicodeError:
            continue
        if text and _looks_like_text(text):
            return name
    return None


def _looks_like_text(text: str) -> bool:
    """Mostly assigned, printable characters, and a script that is not scattered over all of Unicode."""
    good = sum(char.isalnum() or char.isspace() or unicodedata.category(char)[0] in "PSM" for char in text)
    narrow = sum(ord(char) < 0x0600 or char.isspace() for char in text)
    return good >= 0.95 * len(text) and "\0" not in text and narrow >= 0.3 * len(text)


def is_binary(data: bytes) -> bool:
    """More than one NUL in a hundred bytes, or one control byte in ten, outside the lanes of a wide encoding.

    Line ends of EBCDIC pages are control bytes too, one in some forty; hence the wide margin.
    """
    head = data[:_SAMPLE]
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return data.count(0) * 100 > len(data) or (len(head) >= 20 and controls * 10 > len(head))


def utf8_verdict(data: bytes) -> Literal["yes", "cut", "no"]:
    """Whether data is UTF-8: with whole characters, with only the last one incomplete, or not."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.reason != "unexpected end of data":
            return "no"
        return "yes" if any(byte >= 0x80 for byte in data[: error.start]) else "cut"
    return "yes"


def utf8_share(data: bytes) -> float:
    """The share of whole characters among those beyond ASCII, if data is read as UTF-8.

    >>> utf8_share("ありがとう".encode()[:-1])
    0.8
    """
    text = data.decode("utf-8", "replace")
    beyond = len(text) - (len(data) - len(data.translate(None, _ASCII)))
    broken = text.count("\ufffd") - data.count("\ufffd".encode())
    return (beyond - broken) / beyond if beyond else 0.0
