"""What has to be known about Python's codecs to count their bytes without encoding every text.

Most codecs map each character to its bytes whatever stands beside it; their byte pairs follow from pairs of
characters. The others have to see whole texts. When in doubt a codec is treated as one that must: both ways
give the same counts, only the speed differs.
"""

from __future__ import annotations

import codecs
import functools
import importlib
import pkgutil

from samebits.errors import ConfigError, did_you_mean

__all__ = ["canonical_name", "encodable", "is_per_character", "known_codecs", "pairing_marks"]

#: Second halves of two-character sequences that JIS X 0213 codecs write as one code. NUL is among them because
#: CPython's encoder swallows a NUL that follows the first half of such a sequence.
_JIS_X_0213_MARKS = "\u309a\u0300\u0301\u02e5\u02e9\x00"
_PAIRING_MARKS = {
    "euc_jis_2004": _JIS_X_0213_MARKS,
    "euc_jisx0213": _JIS_X_0213_MARKS,
    "shift_jis_2004": _JIS_X_0213_MARKS,
    "shift_jisx0213": _JIS_X_0213_MARKS,
    "big5hkscs": "\u0304\u030c",
}
_PER_CHARACTER_WITHOUT_TABLE = frozenset(
    {"ascii", "big5", "cp932", "cp949", "cp950", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "iso8859-1"}
    | {"johab", "shift_jis", "utf-8", *_PAIRING_MARKS}
)
#: Modules of the standard library's ``encodings`` package that turn text into bytes only with side rules.
_NOT_FOR_TEXT = frozenset(
    {"idna", "mbcs", "oem", "punycode", "raw_unicode_escape", "undefined", "unicode_escape"}
)


@functools.cache
def known_codecs() -> tuple[str, ...]:
    """Names of the text encodings of this Python, sorted."""
    package = importlib.import_module("encodings")
    names = {module.name for module in pkgutil.iter_modules(package.__path__)} - _NOT_FOR_TEXT - {"aliases"}
    return tuple(sorted(name for name in names if _is_text_codec(name)))


def _is_text_codec(name: str) -> bool:
    try:
        return isinstance("a".encode(name), bytes)
    except (LookupError, UnicodeError):
        return False


@functools.cache
def canonical_name(codec: str) -> str:
    """The one name under which all spellings of a codec are the same.

    >>> canonical_name("Windows-1252"), canonical_name("latin1")
    ('cp1252', 'iso8859-1')

    Raises:
        ConfigError: Python has no such text encoding.
    """
    try:
        found = codecs.lookup(codec).name
    except (LookupError, ValueError):
        found = ""
    if not found or not _is_text_codec(codec):
        raise ConfigError(
            f"Python has no encoding named {codec!r}", hint=did_you_mean(codec.lower(), known_codecs())
        )
    return found


@functools.cache
def is_per_character(codec: str) -> bool:
    """Whether the bytes of a text are the bytes of its characters, one after the other.

    True also for codecs with pairing marks; texts that hold such a mark are counted directly.
    """
    name = canonical_name(codec)
    if name in _PER_CHARACTER_WITHOUT_TABLE:
        return True
    try:
        module = importlib.import_module("encodings." + name.replace("-", "_"))
    except ImportError:
        return False
    return hasattr(module, "encoding_table") or hasattr(module, "encoding_map")


def pairing_marks(codec: str) -> str:
    """Characters that may change the bytes of the character before them."""
    return _PAIRING_MARKS.get(canonical_name(codec), "")


def encodable(char: str, codec: str) -> bool:
    """Whether the codec writes anything at all for this character on its own."""
    try:
        return char.encode(codec, "ignore") != b""
    except UnicodeEncodeError:
        return False
