"""Facts about encodings that no text teaches: how common each is, when it was used, and what contains it."""

from __future__ import annotations

import codecs
import functools
from typing import NamedTuple

from samebits.charset.codec import canonical_name

__all__ = ["ERAS", "FAMILIES", "Family", "era_of", "prior_bits", "subset_name", "superset_of"]

#: Who used an encoding; `Choices.eras` takes these names.
ERAS = {
    "web": "ascii utf-8 utf-8-sig utf-16 utf-16-le utf-16-be utf-32 utf-32-le utf-32-be cp1250 cp1251 cp1252 cp1253 cp1254 "
    "cp1255 cp1256 cp1257 cp1258 cp874 tis-620 big5 big5hkscs cp950 cp932 cp949 euc_jp euc_jis_2004 euc_kr gb2312 gbk gb18030 "
    "iso2022_jp iso2022_jp_1 iso2022_jp_2 iso2022_jp_2004 iso2022_jp_3 iso2022_jp_ext koi8-r koi8-u shift_jis shift_jis_2004",
    "iso": "iso8859-1 iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-10 iso8859-11 "
    "iso8859-13 iso8859-14 iso8859-15 iso8859-16 johab",
    "mac": "mac-roman mac-greek mac-cyrillic mac-turkish mac-iceland mac-latin2 mac-croatian mac-romanian",
    "regional": "cp720 cp1006 cp1125 koi8-t kz1048 ptcp154 hp-roman8 utf-7 hz iso2022_kr",
    "dos": "cp437 cp737 cp775 cp850 cp852 cp855 cp856 cp857 cp858 cp860 cp861 cp862 cp863 cp864 cp865 cp866 cp869",
    "mainframe": "cp037 cp273 cp424 cp500 cp875 cp1026 cp1140",
}
#: Bits of doubt before any byte is seen, smallest first; set by hand.
_COMMON = "cp1252 cp1251 cp1250 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 cp874 koi8-r"
_USUAL = "iso8859-1 iso8859-2 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-9 iso8859-15 koi8-u tis-620"
_SEEN = "cp437 cp850 cp852 cp866 mac-roman"
_PRIORS = {
    **dict.fromkeys(_COMMON.split(), 0.0),
    **dict.fromkeys(_USUAL.split(), 0.5),
    **dict.fromkeys(_SEEN.split(), 1.0),
    # Where both give the same text, the narrower name is said; in the west the web has settled on the Windows one.
    **dict.fromkeys(("cp1250", "cp1254", "cp1255", "cp1257"), 0.75),
    **dict.fromkeys(("iso8859-2", "iso8859-8", "iso8859-9", "iso8859-13"), 0.5),
    "cp862": 1.0,
    "cp864": 20.0,  # its letters lie where those of iso8859-6 do
    "johab": 16.0,  # nearly every pair of bytes is a syllable in it
    **dict.fromkeys(("cp932", "gb18030", "big5hkscs", "cp949", "euc_jis_2004"), 4.0),
    "shift_jis_2004": 20.0,  # cp932 has nearly all of its characters, and nearly all of the files
    "koi8-t": 12.0,  # as koi8-r has of Russian
}
_RARE_BITS = 2.0
#: What decodes everything the first does, and more.
_SUPERSETS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-2": "cp1250",
    "iso8859-5": "cp1251",
    "iso8859-6": "cp1256",
    "iso8859-7": "cp1253",
    "iso8859-8": "cp1255",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "iso8859-13": "cp1257",
    "tis-620": "cp874",
    "cp037": "cp1140",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
    "euc_jp": "euc_jis_2004",
    "iso2022_jp": "iso2022_jp_2",
}


class Family(NamedTuple):
    """A double-byte encoding and the narrower ones whose name is said when they decode the data to the same text."""

    superset: str
    language: str
    subsets: tuple[str, ...]


FAMILIES = (
    Family("big5hkscs", "zh", ("big5",)),
    Family("cp932", "ja", ("shift_jis",)),
    Family("cp949", "ko", ("euc_kr",)),
    Family("euc_jis_2004", "ja", ("euc_jp",)),
    Family("gb18030", "zh", ()),
    Family("johab", "ko", ()),
    Family("shift_jis_2004", "ja", ("shift_jis",)),
    Family("iso2022_jp_2", "ja", ("iso2022_jp",)),
)


@functools.cache
def _eras() -> dict[str, str]:
    return {name: era for era, names in ERAS.items() for name in names.split()}


def era_of(encoding: str) -> str:
    """Name of the era an encoding belongs to; ``regional`` when nothing else is known."""
    return _eras().get(canonical_name(encoding), "regional")


def prior_bits(encoding: str) -> float:
    """How many bits of evidence an encoding needs beyond a common one."""
    return _PRIORS.get(encoding, _RARE_BITS)


def superset_of(encoding: str) -> str:
    """The encoding that decodes all of this one's bytes and more, or itself."""
    return _SUPERSETS.get(canonical_name(encoding), encoding)


def subset_name(encoding: str, data: bytes) -> str:
    """The narrowest name of a double-byte encoding's family that decodes the data.

    >>> subset_name("cp932", "日本".encode("cp932")), subset_name("cp932", "①".encode("cp932"))
    ('shift_jis', 'cp932')
    """
    for family in FAMILIES:
        if family.superset == encoding:
            return next((name for name in family.subsets if _fits(name, family, data)), encoding)
    return encoding


def _fits(name: str, family: Family, data: bytes) -> bool:
    """Whether a narrower encoding reads the data, to the same text; of a wave dash Windows and the standard think differently."""
    text = _text(data, name)
    return text is not None and (name == "shift_jis" or text == _text(data, family.superset))


def _text(data: bytes, codec: str) -> str | None:
    """The text, an incomplete last character left out; None when the bytes are not of this codec."""
    try:
        return codecs.getincrementaldecoder(codec)().decode(data)
    except UnicodeError:
        return None
