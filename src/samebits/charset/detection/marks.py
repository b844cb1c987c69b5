"""Encodings that show themselves: byte order marks, escape sequences, UTF-7."""

from __future__ import annotations

import codecs
import re

__all__ = ["by_escapes", "by_mark"]

#: UTF-32 first: its little-endian mark starts with the one of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MARK_STARTS = frozenset((0x00, 0xEF, 0xFE, 0xFF))
#: Korean before Japanese: Python's iso2022_jp_2 also reads the header of iso2022_kr.
_SEVEN_BIT = ("hz", "iso2022_kr", "iso2022_jp_2", "iso2022_jp_2004", "iso2022_jp_ext")
#: A UTF-7 run: base 64 between + and -, at least one character of UTF-16 long.
_UTF7_RUN = re.compile(rb"\+([A-Za-z0-9/]{3,}(?:[A-Za-z0-9/]{0,3}))(-|(?=[^A-Za-z0-9+/]|$))")
_UTF7_RUNS_READ = 64


def by_mark(data: bytes) -> str | None:
    """The encoding a byte order mark names, if the bytes after it are of that encoding.

    >>> by_mark("abc".encode("utf-8-sig")), by_mark(codecs.BOM_UTF16_LE + bytes.fromhex("00d80000"))
    ('utf-8-sig', None)
    """
    if not data or data[0] not in _MARK_STARTS:
        return None
    for mark, name in _MARKS:
        if data.startswith(mark) and _reads(data, name):
            return name
    return None


def _reads(data: bytes, codec: str) -> bool:
    """Whether data decodes, an incomplete last character allowed."""
    try:
        codecs.getincrementaldecoder(codec)().decode(data)
    except UnicodeError:
        return False
    return True


def by_escapes(data: bytes) -> str | None:
    """A seven-bit encoding of bytes below 0x80, or None for plain ASCII.

    >>> by_escapes(b"int x = a~b + c-d;"), by_escapes("漢字".encode("iso2022_jp_2")), by_escapes("häßlich".encode("utf-7"))
    (None, 'iso2022_jp_2', 'utf-7')
    """
    if b"\x1b" in data or b"~{" in data or b"\x0e" in data:
        for name in _SEVEN_BIT:
            try:
                text = codecs.getincrementaldecoder(name)().decode(data)
            except UnicodeError:
                continue
            if not text.isascii():
                return name
    return "utf-7" if b"+" in data and _is_utf7(data) else None


def _is_utf7(data: bytes) -> bool:
    """Whether every + starts a run that decodes to characters beyond ASCII, as text has them.

    Source code and mail are full of + signs; one that starts nothing settles it, and so does a run of characters that no encoder would have
    written in base 64 or that no script holds side by side.
    """
    runs = [found.group() for found in _UTF7_RUN.finditer(data)]
    if not runs or len(runs) != data.count(b"+") - data.count(b"+-"):
        return False
    try:
        data.decode("utf-7")
        texts = [run.decode("utf-7") for run in runs[:_UTF7_RUNS_READ]]
    except UnicodeError:
        return False
    return all(_could_be_written(text) for text in texts)


def _could_be_written(text: str) -> bool:
    beyond = [char for char in text if char >= "\x80"]
    if not beyond or any(char < " " and char not in "\r\n\t" for char in text):
        return False
    blocks = {ord(char) >> 8 for char in beyond if char.isalpha()}
    one_script = len(blocks) <= 1 or all(0x30 <= block <= 0xD7 for block in blocks)
    return one_script and all(char.isprintable() or char == "\xa0" for char in beyond)
