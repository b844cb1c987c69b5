"""Which languages were stored in which encodings.

Two small tables of facts, languages by region and encodings by region; a pair is where they meet, and UTF-8 is
everywhere. Sources of the facts: the published scope of the ISO 8859 parts, of the Windows, DOS, Mac and EBCDIC code
pages, and of the national standards. A corpus confirms each pair: one whose letters mostly do not fit is refused
in training by its retention.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from samebits.charset.codec import canonical_name
from samebits.core.regular_file import read_regular
from samebits.errors import ConfigError, InputError, did_you_mean

__all__ = ["Pair", "builtin_pairs", "choose_pairs", "detector_pairs", "read_pairs"]


class Pair(NamedTuple):
    """One model: a language as stored in an encoding that a Python codec writes."""

    language: str
    encoding: str
    codec: str

    @property
    def key(self) -> str:
        """``language/encoding``, the name of the model."""
        return f"{self.language}/{self.encoding}"


_LANGUAGES = {
    "west": "af br ca cy da de en es eu fi fr ga gl id is it ms nl no pt sv",
    "dos-us": "da de en es fi fr ga it nl pt sv",
    "ebcdic-us": "en nl pt",
    "central": "cs hr hu pl ro sk sl",
    "croatian": "hr sl",
    "romanian": "ro",
    "serbian-latin": "sr",
    "cyrillic": "be bg mk ru sr uk",
    "russian": "ru",
    "ukrainian": "uk",
    "baltic": "et lt lv",
    "nordic": "da et fi is lt lv no sv",
    "celtic": "br cy ga gd",
    "south": "eo mt tr",
    "greek": "el",
    "turkish": "tr",
    "hebrew": "he",
    "arabic": "ar fa",
    "urdu": "ur",
    "thai": "th",
    "vietnamese": "vi",
    "german": "de",
    "portuguese": "pt",
    "icelandic": "is",
    "quebec": "fr",
    "danish-norwegian": "da no",
    "kazakh": "kk",
    "tajik": "tg",
    "japanese": "ja",
    "korean": "ko",
    "chinese": "zh",
}
_ENCODINGS = {
    "west": "cp1252 iso8859-1 iso8859-15 mac-roman hp-roman8 cp850 cp858 cp500 cp1140",
    "dos-us": "cp437",
    "ebcdic-us": "cp037",
    "central": "cp1250 iso8859-2 cp852 mac-latin2 iso8859-16",
    "croatian": "mac-croatian",
    "romanian": "mac-romanian",
    "serbian-latin": "cp1250",
    "cyrillic": "cp1251 iso8859-5 cp855 cp866 mac-cyrillic",
    "russian": "koi8-r",
    "ukrainian": "koi8-u cp1125",
    "baltic": "cp1257 iso8859-13 iso8859-4 cp775",
    "nordic": "iso8859-10",
    "celtic": "iso8859-14",
    "south": "iso8859-3",
    "greek": "cp1253 iso8859-7 cp737 cp869 mac-greek cp875",
    "turkish": "cp1254 iso8859-9 cp857 mac-turkish cp1026",
    "hebrew": "cp1255 iso8859-8 cp862 cp856 cp424",
    "arabic": "cp1256 iso8859-6 cp720 cp864",
    "urdu": "cp1006",
    "thai": "cp874 tis-620",
    "vietnamese": "cp1258",
    "german": "cp273",
    "portuguese": "cp860",
    "icelandic": "cp861 mac-iceland",
    "quebec": "cp863",
    "danish-norwegian": "cp865",
    "kazakh": "kz1048 ptcp154",
    "tajik": "koi8-t",
    "japanese": "cp932 euc_jis_2004 shift_jis_2004 iso2022_jp_2 iso2022_jp_2004 iso2022_jp_ext",
    "korean": "cp949 euc_kr johab iso2022_kr",
    "chinese": "gb18030 big5hkscs hz",
}


@functools.cache
def builtin_pairs() -> tuple[Pair, ...]:
    """The built-in table, sorted by language and encoding; made once, which takes 2 ms."""
    encodings: dict[str, set[str]] = {}
    for region, languages in _LANGUAGES.items():
        for language in languages.split():
            encodings.setdefault(language, {"utf-8"}).update(_ENCODINGS[region].split())
    return tuple(
        Pair(language, name, name) for language in sorted(encodings) for name in sorted(encodings[language])
    )


#: Pairs the detector knows beyond the table that is trained by default.
_DETECTED_TOO = {
    "cp037": "br cy da de es fi fr ga id is it no sv",
    "cp437": "br cy id",
    "koi8-r": "bg",
}


@functools.cache
def detector_pairs() -> tuple[Pair, ...]:
    """The built-in table and what else files were found in; for the detector, which needs no model a pair."""
    more = {Pair(language, name, name) for name, found in _DETECTED_TOO.items() for language in found.split()}
    return tuple(sorted({*builtin_pairs(), *more}))


def read_pairs(path: str) -> tuple[Pair, ...]:
    """Read a table of one's own.

    TOML with ``[[pair]]`` tables or JSON with a list of objects; each has ``lang`` and ``encoding``, and ``codec`` when
    Python knows the encoding under another name.

    Raises:
        InputError: The file cannot be read as such a table.
    """
    rows = _rows(Path(path))
    out = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict) or not all(
            isinstance(row.get(name), str) for name in ("lang", "encoding")
        ):
            raise InputError(
                f"pair {number} has no text 'lang' and 'encoding'",
                path=path,
                hint='write [[pair]] lang = "de" encoding = "cp1252"',
            )
        out.append(Pair(row["lang"], row["encoding"], str(row.get("codec", row["encoding"]))))
    return _unique(out)


def _rows(path: Path) -> list[Any]:
    try:
        data = read_regular(path)
        table = tomllib.loads(data.decode()) if path.suffix == ".toml" else json.loads(data)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"is neither TOML (.toml) nor JSON: {error}", path=str(path)) from error
    rows = table.get("pair") if isinstance(table, dict) else table
    if not isinstance(rows, list):
        raise InputError(
            "holds no list of pairs", path=str(path), hint="TOML: [[pair]] tables; JSON: a list of objects"
        )
    return rows


def _unique(pairs: Sequence[Pair]) -> tuple[Pair, ...]:
    seen: set[str] = set()
    for pair in pairs:
        if pair.key in seen:
            raise ConfigError(f"the pair {pair.key} appears twice", hint="remove one of the two")
        seen.add(pair.key)
    return tuple(sorted(pairs))


def choose_pairs(
    pairs: Iterable[Pair], *, languages: Sequence[str] = (), encodings: Sequence[str] = ()
) -> tuple[Pair, ...]:
    """Keep the pairs of these languages and encodings (all when empty), any spelling of an encoding.

    Raises:
        ConfigError: A language or encoding is in no pair, or nothing is left.
    """
    pairs = tuple(pairs)
    _check_known("language", languages, {pair.language for pair in pairs})
    by_codec = {canonical_name(pair.codec) for pair in pairs}
    wanted = {_known_encoding(name, by_codec) for name in encodings}
    chosen = tuple(
        pair
        for pair in pairs
        if (not languages or pair.language in languages)
        and (not encodings or canonical_name(pair.codec) in wanted)
    )
    if not chosen:
        raise ConfigError(
            f"no pair joins the languages {', '.join(languages)} with the encodings {', '.join(encodings)}",
            hint="list the pairs with: samebits charset pairs",
        )
    return chosen


def _known_encoding(name: str, known: set[str]) -> str:
    found = canonical_name(name)
    if found not in known:
        _check_known("encoding", [found], known)
    return found


def _check_known(what: str, names: Sequence[str], known: set[str]) -> None:
    for name in names:
        if name not in known:
            raise ConfigError(f"no pair has the {what} {name!r}", hint=did_you_mean(name, known))
