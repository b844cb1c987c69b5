"""Binary files: known by their first bytes, or by control bytes no text has."""

from __future__ import annotations

__all__ = ["is_binary", "magic_type"]

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
_HEAD = 4096


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
