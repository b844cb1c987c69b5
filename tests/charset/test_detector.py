"""What the detector is told and how it is fed: choices, declarations, markup, files, pieces; and that nothing breaks it."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import numpy as np
import pytest

from samebits import charset
from samebits.charset.detection.signs import declaration_of, magic_type
from samebits.errors import ConfigError, InputError
from samebits.kernels.charset.survey import without_markup

GERMAN = "Schöne Grüße aus München und Köln, bis später im Café!"
RUSSIAN = "Сегодня утром мы долго гуляли в старом парке у широкой реки, а потом пили чай."
WIDE = [
    "今天天气很好，我们一起走到公园去散步，然后喝茶。",
    "今日は天気がいいので、公園まで歩いて行きました。",
    "오늘은 날씨가 좋아서 공원까지 걸어서 갔습니다.",
    "เช้านี้เราไปเดินเล่นที่สวนสาธารณะเก่าริมแม่น้ำ",
    "ذهبنا هذا الصباح في نزهة إلى الحديقة القديمة مع الأصدقاء",
    "આજે સવારે અમે ઉદ્યાનમાં ફરવા ગયા હતા",
    RUSSIAN,
    GERMAN,
]
LANGUAGES = ["zh", "ja", "ko", "th", "ar", "gu", "ru", "de"]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-8", "utf-16"])
@pytest.mark.parametrize(("text", "language"), list(zip(WIDE, LANGUAGES, strict=True)))
def test_unicode_is_found_without_a_mark_and_has_a_language(text: str, language: str, encoding: str) -> None:
    found = charset.detect(text.encode(encoding))
    assert (found.encoding, found.language) == (encoding, language)


@pytest.mark.parametrize(
    ("document", "encoding"),
    [
        ('<html><head><meta charset="windows-1251"></head><p>%s', "cp1251"),
        ('<meta http-equiv="Content-Type" content="text/html; charset=koi8-r"><title>%s', "koi8-r"),
        ('<?xml version="1.0" encoding="iso-8859-5"?><a>%s</a>', "iso8859-5"),
        ("#!/usr/bin/python\n# -*- coding: cp866 -*-\nprint('%s')", "cp866"),
        ('@charset "windows-1251";\nq:before { content: "%s" }', "cp1251"),
        ("From: a\nContent-Type: text/plain;\n charset=koi8-r\n\n%s", "koi8-r"),
        ("%s\n/* vim: set fileencoding=cp1251 : coding */", "cp1251"),
    ],
)
def test_declarations_are_read_and_the_bytes_may_object(document: str, encoding: str) -> None:
    data = (document % RUSSIAN).encode(encoding)
    assert declaration_of(data).encoding == encoding
    assert charset.detect(data).encoding == encoding
    wrong = "cp855" if encoding != "cp855" else "cp866"
    assert charset.detect((document % (RUSSIAN * 20)).encode(wrong)).encoding == wrong
    assert charset.detect((document % RUSSIAN).encode()).encoding == "utf-8"


def test_a_declaration_decides_where_the_bytes_do_not() -> None:
    data = '<meta charset="iso-8859-15"><p>Café'.encode("iso-8859-15")
    assert charset.detect(data).encoding == "iso8859-15"
    assert charset.detect(data).mime_type == "text/html"


def test_markup_is_no_text() -> None:
    page = b"<p class='x'>Gr\xfc\xdfe&nbsp;aus<br/>K\xf6ln<script>var a = '<p>';</script><style>p{}</style>!"
    assert without_markup(page) == b" Gr\xfc\xdfe aus K\xf6ln  !"
    assert without_markup(b"a < b & c > d") == b"a < b & c > d"
    assert without_markup(b"<script>never closed") == b" "


def test_bytes_after_a_long_plain_beginning_are_seen() -> None:
    data = b"# plain words and nothing else\n" * 2000 + (RUSSIAN * 3).encode("koi8-r")
    assert charset.detect(data).encoding == "koi8-r"


@pytest.mark.parametrize("encoding", ["euc_kr", "cp932", "gb18030", "cp1251", "cp1253"])
def test_a_broken_byte_in_a_long_text_does_not_change_the_answer(encoding: str) -> None:
    text = {
        "euc_kr": WIDE[2],
        "cp932": WIDE[1],
        "gb18030": WIDE[0],
        "cp1251": RUSSIAN,
        "cp1253": "Το πρωί πήγαμε στη θάλασσα με τα παιδιά. ",
    }
    data = (text[encoding] * 20).encode(encoding)
    found = charset.detect(data[:100] + b"\xff" + data[100:])
    assert found.language == charset.detect(data).language
    known = {"euc_kr": "cp949"}.get(encoding, encoding)
    assert known in {found.encoding, *found.candidates[0].aliases}


def test_more_text_makes_the_answer_surer() -> None:
    confidences = [charset.detect(RUSSIAN[:n].encode("cp866")).confidence for n in (4, 12, 60)]
    assert confidences == sorted(confidences)
    assert confidences[-1] >= 0.95


def test_candidates_are_sorted_and_their_confidences_sum_to_at_most_one() -> None:
    for data in (b"\xe9", b"\xe9\xe8 a", GERMAN.encode("cp1252"), RUSSIAN[:9].encode("koi8-r")):
        found = charset.detect_all(data)
        confidences = [candidate.confidence for candidate in found]
        assert confidences == sorted(confidences, reverse=True)
        assert sum(confidences) <= 1 + 1e-5


def test_choices_narrow_the_answer() -> None:
    data = GERMAN.encode("cp1252")
    assert charset.detect(data, include=["utf-8", "latin-1"]).encoding == "iso8859-1"
    assert charset.detect(data, exclude=["windows-1252", "latin1"]).encoding == "iso8859-15"
    assert charset.detect(data, eras=["iso"]).encoding == "iso8859-1"
    assert charset.detect(data, exclude=["cp1252"], prefer_superset=True).encoding == "iso8859-1"
    assert charset.detect(data, eras=["iso", "web"], prefer_superset=True).encoding == "cp1252"
    assert charset.detect(b"plain", include=["cp1251"]).encoding == "cp1251"
    assert charset.detect(data, include=["cp949"]).encoding in (None, "cp949")
    assert charset.detect("日本語".encode("cp932"), include=["cp932"]).encoding == "cp932"


def test_languages_and_priors_decide_short_text() -> None:
    data = "ž".encode("cp1250")
    assert charset.detect(data, priors={"mac-latin2": 40}).encoding == "mac-latin2"
    assert charset.detect("по".encode("cp1251"), languages=["ru"]).language == "ru"


@pytest.mark.parametrize(
    "wrong", [{"include": ["nonsense"]}, {"eras": ["future"]}, {"max_bytes": 0}, {"include": "utf-8"}]
)
def test_wrong_choices_are_refused_with_a_hint(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError) as caught:
        charset.detect(b"abc", **wrong)  # type: ignore[arg-type]  # that is the point
    assert caught.value.hint


def test_paths_and_file_objects(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(RUSSIAN.encode("cp1251"))
    assert charset.detect(path).encoding == "cp1251"
    with path.open("rb") as file:
        assert charset.detect(file).encoding == "cp1251"
    assert charset.detect(io.BytesIO(b"abc")).encoding == "ascii"
    assert charset.detect(memoryview(b"abc"), max_bytes=2).encoding == "ascii"
    with pytest.raises(InputError):
        charset.detect(tmp_path / "nothing")
    with pytest.raises(ConfigError, match="opened as text"):
        charset.detect(io.StringIO("abc"))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="of a str"):
        charset.detect("abc")  # type: ignore[arg-type]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_pieces_answer_as_the_whole(size: int) -> None:
    for encoding, text in itertools.product(("koi8-r", "utf-8", "utf-16"), (RUSSIAN,)):
        data = text.encode(encoding)
        detector = charset.Detector()
        for start in range(0, len(data), size):
            detector.feed(data[start : start + size])
        assert detector.close() == charset.detect(data)
        with pytest.raises(ConfigError, match="closed"):
            detector.feed(b"x")
        detector.reset()
        assert detector.result.encoding is None


def test_a_detector_stops_at_its_limit() -> None:
    with charset.Detector(max_bytes=100) as detector:
        while not detector.done:
            detector.feed(RUSSIAN.encode("cp1251"))
    assert detector.result == charset.detect((RUSSIAN * 2).encode("cp1251")[:100])


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "application/pdf"),
        (
            b"PK\x03\x04..word/document.xml",
            "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        ),
        (b"PK\x03\x04....", "application/zip"),
        (b"RIFF\x00\x00\x00\x00WAVEfmt ", "audio/wav"),
        (b"\x00\x00\x00\x18ftypmp42", "video/mp4"),
        (b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        (bytes(range(256)) * 8, "application/octet-stream"),
    ],
)
def test_binary_data_has_a_type_and_no_encoding(data: bytes, mime: str) -> None:
    found = charset.detect(data)
    assert (found.encoding, found.mime_type, found.candidates) == (None, mime, ())


@pytest.mark.parametrize(
    "text", [b"PKZIP is a program", b"MZ is an abbreviation", b"RIFFs", b"BZ", b"GIF", b"Rar"]
)
def test_words_that_begin_like_a_format_are_text(text: bytes) -> None:
    assert magic_type(text) == ""
    assert charset.detect(text).encoding == "ascii"


def mutations(seed: int, number: int) -> list[bytes]:
    """Random bytes, and texts with bytes changed, cut out and put in."""
    rng = np.random.default_rng(seed)
    texts = [
        text.encode(codec, "ignore")
        for text in WIDE
        for codec in ("utf-8", "utf-16-le", "cp1251", "gb18030", "cp932", "cp500", "utf-7")
    ]
    texts += [
        b"<html><meta charset=",
        b"\x1b$B",
        b"~{",
        b"\xff\xfe",
        b"\xfe\xff\x00",
        b"+/v8-",
        b"# coding: ",
    ]
    out = []
    for _ in range(number):
        base = bytearray(texts[int(rng.integers(len(texts)))])
        for _ in range(int(rng.integers(0, 8))):
            at = int(rng.integers(len(base) + 1))
            base[at : at + int(rng.integers(0, 4))] = rng.integers(
                0, 256, int(rng.integers(0, 6)), np.uint8
            ).tobytes()
        out.append(
            bytes(base)
            if rng.random() < 0.7
            else rng.integers(0, 256, int(rng.integers(0, 300)), np.uint8).tobytes()
        )
    return out


def test_nothing_breaks_it() -> None:
    """100,000 such strings were tried when this was written (`benchmarks/charset_wild.py --strings`)."""
    for data in mutations(1, 1500):
        found = charset.detect(data)
        assert found.encoding is None or found.candidates[0].encoding == found.encoding
        assert 0 <= found.confidence <= 1


def test_one_name_is_one_candidate() -> None:
    names = [
        found.encoding for found in charset.detect_all("今日は天気がいいので公園へ。".encode("shift_jis"))
    ]
    assert names[0] == "shift_jis"
    assert len(names) == len(set(names))
