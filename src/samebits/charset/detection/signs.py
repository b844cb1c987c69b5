"""What bytes say about themselves, before any model is asked.

Byte order marks, escape sequences and UTF-7 name an encoding. The first bytes name a binary format, and control bytes tell that
something is no text. HTML ``meta``, the XML prolog (in ASCII and in EBCDIC), CSS ``@charset``, the coding lines of Python, Emacs
and Vim, and MIME headers declare an encoding: a strong hint, to be checked against the bytes.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from samebits.charset.codec import canonical_name
from samebits.errors import ConfigError

__all__ = ["Declaration", "by_escapes", "by_mark", "declaration_of", "is_binary", "magic_type"]

_HEAD = 4096

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


#: First bytes of formats that are no text, and their types. Only marks of four bytes and more, or ones that text cannot start with.
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\1\0", "image/x-icon"),
    (b"8BPS\0\1", "image/vnd.adobe.photoshop"),
    (b"\0\0\0\x0cjP  \r\n", "image/jp2"),
    (b"%PDF-", "application/pdf"),
    (b"\x1f\x8b\x08", "application/gzip"),
    (b"BZh", "application/x-bzip2"),
    (b"\xfd7zXZ\0", "application/x-xz"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (b"Rar!\x1a\x07", "application/vnd.rar"),
    (b"\x7fELF", "application/x-elf"),
    (b"\xca\xfe\xba\xbe", "application/java-vm"),
    (b"\xcf\xfa\xed\xfe", "application/x-mach-binary"),
    (b"\0asm\1\0\0\0", "application/wasm"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage"),
    (b"OggS\0", "audio/ogg"),
    (b"fLaC\0", "audio/flac"),
    (b"ID3\2", "audio/mpeg"),
    (b"ID3\3", "audio/mpeg"),
    (b"ID3\4", "audio/mpeg"),
    (b"MThd\0\0\0\6", "audio/midi"),
    (b"\x1aE\xdf\xa3", "video/x-matroska"),
    (b"FLV\1", "video/x-flv"),
    (b"\0\1\0\0\0", "font/ttf"),
    (b"OTTO\0", "font/otf"),
    (b"wOFF", "font/woff"),
    (b"wOF2", "font/woff2"),
    (b"PAR1", "application/vnd.apache.parquet"),
    (b"\x93NUMPY", "application/x-npy"),
    (b"\x89HDF\r\n\x1a\n", "application/x-hdf5"),
)
_RIFF = {b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo", b"WEBP": "image/webp"}
#: Names inside a ZIP file's first entry that tell what the archive is.
_ZIPPED = (
    (b"word/", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    (b"xl/", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    (b"ppt/", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    (b"mimetypeapplication/epub+zip", "application/epub+zip"),
    (b"mimetypeapplication/vnd.oasis.opendocument.text", "application/vnd.oasis.opendocument.text"),
    (b"META-INF/", "application/java-archive"),
)
_FIRST = frozenset(mark[0] for mark, _ in _MAGIC) | frozenset(b"RPM\0")
_CONTROLS = bytes([*range(9), 11, *range(14, 27), *range(28, 32), 127])


def magic_type(data: bytes) -> str:
    """MIME type of a binary format that the first bytes name, or nothing.

    >>> magic_type(b"%PDF-1.7 ..."), magic_type(b"plain words")
    ('application/pdf', '')
    """
    if not data or data[0] not in _FIRST:
        return ""
    for mark, name in _MAGIC:
        if data.startswith(mark):
            return name
    if data.startswith(b"RIFF"):
        return _RIFF.get(data[8:12], "")
    if data.startswith((b"PK\3\4", b"PK\5\6")):
        head = data[:_HEAD]
        return next((name for mark, name in _ZIPPED if mark in head), "application/zip")
    if data[4:8] == b"ftyp" or (data.startswith(b"MZ") and b"\0\0\0" in data[:64]):
        return "video/mp4" if data[4:8] == b"ftyp" else "application/vnd.microsoft.portable-executable"
    return ""


def is_binary(data: bytes) -> bool:
    """More than one NUL in a hundred bytes, or one control byte in ten: no single-byte encoding has such text.

    Line ends of EBCDIC pages are control bytes too, one in some forty; hence the wide margin.
    """
    head = data[:_HEAD]
    controls = len(head) - len(head.translate(None, _CONTROLS))
    return data.count(0) * 100 > len(data) or (len(head) >= 20 and controls * 10 > len(head))


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
