"""Code written for chardet and for charset-normalizer runs on `samebits.charset.compat`."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from samebits.charset import compat
from samebits.charset import compat as chardet
from samebits.charset import compat as charset_normalizer
from samebits.errors import ConfigError

GERMAN = "Schöne Grüße aus München und Köln, bis später!"
RUSSIAN = "Сегодня утром мы гуляли в старом парке у реки."


def test_detect_answers_with_the_keys_and_names_of_chardet() -> None:
    found = chardet.detect(GERMAN.encode("cp1252"))
    assert set(found) == {"encoding", "confidence", "language", "mime_type"}
    assert (found["encoding"], found["language"]) == ("Windows-1252", "de")
    assert found["mime_type"] == "text/plain"
    assert chardet.detect(bytearray(RUSSIAN.encode("koi8-r")))["encoding"] == "KOI8-R"
    assert chardet.detect(RUSSIAN.encode("koi8-r"), compat_names=False)["encoding"] == "koi8-r"
    assert chardet.detect("日本語の文章です。".encode("shift_jis"))["encoding"] == "SHIFT_JIS"


def test_empty_binary_and_hopeless_data_answer_as_chardet_does() -> None:
    assert chardet.detect(b"")["encoding"] == "utf-8"
    assert chardet.detect(b"", empty_input_encoding="ascii")["encoding"] == "ascii"
    picture = chardet.detect(b"\x89PNG\r\n\x1a\n" + bytes(30))
    assert (picture["encoding"], picture["mime_type"]) == (None, "image/png")
    with pytest.raises(TypeError):
        chardet.detect("text")  # type: ignore[arg-type]


def test_the_eras_superset_and_lists_of_chardet() -> None:
    data = GERMAN.encode("latin-1")
    assert chardet.detect(data, encoding_era=chardet.EncodingEra.LEGACY_ISO)["encoding"] == "ISO-8859-1"
    assert chardet.detect(data, include_encodings=["iso-8859-15"])["encoding"] == "iso8859-15"
    assert chardet.detect(b"plain", prefer_superset=True)["encoding"] == "Windows-1252"
    assert chardet.detect(b"plain", should_rename_legacy=True)["encoding"] == "Windows-1252"
    assert chardet.detect(data, exclude_encodings=["cp1252"])["encoding"] != "Windows-1252"
    with pytest.raises(ConfigError):
        chardet.detect(data, include_encodings=["no such thing"])


def test_detect_all_is_sorted() -> None:
    found = chardet.detect_all(b"\xe4\xf6", ignore_threshold=True)
    confidences = [row["confidence"] for row in found]
    assert len(found) > 3
    assert confidences == sorted(confidences, reverse=True)
    assert len(chardet.detect_all(GERMAN.encode("cp1252"))) >= 1


def test_the_loop_everybody_copied_from_chardets_manual() -> None:
    detector = chardet.UniversalDetector()
    for text, expected in ((GERMAN, "cp1252"), (RUSSIAN, "koi8-r")):
        detector.reset()
        for line in (text * 5).encode(expected).split(b" "):
            detector.feed(line + b" ")
            if detector.done:
                break
        detector.close()
        encoding = detector.result["encoding"]
        assert (text * 5).encode(expected).decode(encoding) == text * 5
    with pytest.raises(ValueError, match="after close"):
        detector.feed(b"more")


def test_a_mark_makes_the_detector_done_at_once() -> None:
    detector = chardet.UniversalDetector()
    detector.feed("text".encode("utf-16"))
    assert detector.done
    assert detector.result["encoding"] == "UTF-16"


def test_the_first_lines_of_charset_normalizers_manual(tmp_path: Path) -> None:
    path = tmp_path / "my_file.txt"
    path.write_bytes(RUSSIAN.encode("cp1251"))
    assert str(charset_normalizer.from_path(path).best()) == RUSSIAN
    with path.open("rb") as file:
        best = charset_normalizer.from_fp(file).best()
    assert best is not None
    assert (best.encoding, best.language) == ("cp1251", "Russian")
    assert best.output() == RUSSIAN.encode()
    assert best.raw == RUSSIAN.encode("cp1251")
    assert 0 <= best.chaos <= 1
    assert 0 <= best.percent_coherence <= 100


def test_matches_behave_as_a_sequence() -> None:
    matches = compat.from_bytes(GERMAN.encode("cp1252"))
    assert matches
    assert len(matches) == len(list(matches))
    best = matches.best()
    assert best is not None
    assert best == matches[0] == "cp1252"
    assert "latin_1" in best.could_be_from_charset
    assert matches["latin-1"] == best
    assert best.has_submatch
    assert str(best.submatch[0]) == GERMAN
    assert compat.from_bytes(GERMAN.encode("cp1252"), cp_isolation=["cp850"]).best() == "cp850"
    with pytest.raises(KeyError):
        matches["utf-16"]


def test_is_binary_takes_paths_files_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x7fELF" + bytes(100))
    assert compat.is_binary(tmp_path / "a")
    assert compat.is_binary(io.BytesIO(b"\x7fELF" + bytes(100)))
    assert not compat.is_binary(GERMAN.encode())
    assert compat.from_bytes(b"\x7fELF" + bytes(100)).best() is None
