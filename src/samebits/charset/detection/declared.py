"""What a document says about its own encoding: a strong hint, to be checked against the bytes.

HTML ``meta``, the XML prolog (in ASCII and in EBCDIC), CSS ``@charset``, the coding lines of Python, Emacs and Vim, and MIME headers.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from samebits.charset.codec import canonical_name
from samebits.errors import ConfigError

__all__ = ["Declaration", "declaration_of"]

_HEAD = 4096
_NAME = rb"([A-Za-z0-9][A-Za-z0-9_.:+-]*)"
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta\b[^>]{0,400}?charset\s*=\s*[\"']?\s*" + _NAME, re.IGNORECASE)
_XML = re.compile(rb"^\s*<\?xml\b[^>]{0,200}?encoding\s*=\s*[\"']\s*" + _NAME)
_CSS = re.compile(rb"^@charset\s+[\"']" + _NAME, re.IGNORECASE)
_CODING = re.compile(rb"^[ \t\f]*(?:[#;%*\"/]|--|\.\\).*?coding[:=][ \t]*" + _NAME)
_VIM = re.compile(rb"\bvim?:.*\b(?:fileencoding|fenc)=" + _NAME)
_MIME = re.compile(
    rb"^content-type:[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*?charset\s*=\s*[\"']?" + _NAME,
    re.IGNORECASE | re.MULTILINE,
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body|meta|title|p|div|table|br|a\s)\b", re.IGNORECASE)
#: How the web reads these labels; Python has other ideas, or none.
_LABELS = {
    "x-sjis": "cp932",
    "x-gbk": "gb18030",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-mac-roman": "mac-roman",
    "x-euc-jp": "euc_jp",
    "x-x-big5": "big5",
    "x-user-defined": "cp1252",
    "unicode": "utf-16",
    "iso-8859-8-i": "iso8859-8",
    "iso-8859-8-e": "iso8859-8",
    "iso-8859-6-i": "iso8859-6",
    "windows-31j": "cp932",
    "windows-874": "cp874",
    "ks_c_5601-1987": "cp949",
    "dos-874": "cp874",
    "utf8": "utf-8",
    "macintosh": "mac-roman",
    "visual": "iso8859-8",
    "logical": "iso8859-8",
}


class Declaration(NamedTuple):
    """A declared encoding by its canonical name (empty: none that Python knows), and the document's type."""

    encoding: str
    mime_type: str


def declaration_of(data: bytes) -> Declaration:
    """Read the beginning (for Vim also the end) of a document.

    >>> declaration_of(b'<meta charset="windows-1251">')
    Declaration(encoding='cp1251', mime_type='text/html')
    """
    head = data[:_HEAD]
    if head[:6] == b"\x4c\x6f\xa7\x94\x93\x40":  # "<?xml " in EBCDIC
        return Declaration(_known(_XML, head.decode("cp037").encode("latin-1", "replace")), "text/xml")
    low = head.lower()
    mime = _type(head, low)
    if mime == "text/html" and b"charset" in low:
        head = _COMMENT.sub(b"", head)
        return Declaration(_known(_META, head) or _known(_MIME, head), mime)
    if mime == "text/xml":
        return Declaration(_known(_XML, head), mime)
    if low.startswith(b"@charset"):
        return Declaration(_known(_CSS, head), "text/css")
    if b"coding" in low and (name := _coding_line(head, data)):
        return Declaration(name, "text/x-python" if b"python" in low[:80] or b"\nimport " in low else mime)
    if b"content-type:" in low:
        return Declaration(_known(_MIME, head), mime)
    return Declaration("", mime)


def _type(head: bytes, low: bytes) -> str:
    if b"<" not in head:
        return "text/plain"
    start = low.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"<?xml") and b"<html" not in low:
        return "text/xml"
    if _HTML.search(low):
        return "text/html"
    return "text/xml" if start.startswith((b"<rss", b"<feed", b"<!doctype ")) else "text/plain"


def _coding_line(head: bytes, data: bytes) -> str:
    """A Python or Emacs coding line among the first two, or a Vim line among the first or last five."""
    lines = head.splitlines()
    for line in lines[:2]:
        if name := _known(_CODING, line):
            return name
    for line in (*lines[:5], *data[-512:].splitlines()[-5:]):
        if name := _known(_VIM, line):
            return name
    return ""


def _known(pattern: re.Pattern[bytes], data: bytes) -> str:
    found = pattern.search(data)
    return label(found.group(1).decode("ascii")) if found else ""


def label(name: str) -> str:
    """Canonical name of an encoding label as documents write it; empty when nobody knows it.

    >>> label("Shift_JIS"), label("x-sjis"), label("utf-8-unix"), label("none")
    ('shift_jis', 'cp932', 'utf-8', '')
    """
    low = name.lower()
    low = (
        re.sub(r"-(?:unix|dos|mac)$", "", low)
        if low.startswith(("utf", "iso", "latin", "cp", "euc", "koi"))
        else low
    )
    try:
        return canonical_name(_LABELS.get(low, low))
    except ConfigError:
        return ""
