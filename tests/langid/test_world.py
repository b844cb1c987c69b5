"""The model in the package: what it promises of Sorani, noise, size, and of how it is described and made."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

import pytest
from release.langid_rows import mended
from release.langid_words import counts_of

from release import langid_translated
from samebits import langid
from samebits.data.artifact import open_artifact
from samebits.langid.model.default import default_folder

REPO = Path(__file__).resolve().parents[2]
CORPUS = REPO.parent / "shared" / "data" / "world" / "world.jsonl.zst"
SORANI = (
    "هەموو مرۆڤەکان بە ئازادی لە دایک دەبن",
    "ئەم کتێبە زۆر خۆشە و من حەزم لێیەتی",
    "ئێمە لە هەولێر دەژین و کار دەکەین",
)


@pytest.fixture(scope="module")
def world() -> langid.LangidModel:
    return langid.load_default()


@pytest.mark.parametrize("text", SORANI)
def test_sorani_is_sorani_in_both_spellings(world: langid.LangidModel, text: str) -> None:
    """The letter AE is also written as heh with a zero-width non-joiner; the word must not be cut there."""
    older = text.replace("\u06d5", "\u0647\u200c")
    assert older != text
    assert world.predict([text, older]) == ["ckb", "ckb"]
    assert world.predict(older, languages=["ku", "ar", "fa"]) == "ckb"
    assert world.predict(text, scripts=True) == "ckb_Arab"


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [(["hbs", "sl"], {"bs", "hr", "sr"}), (["no", "da"], {"nb", "nn"}), (["nb", "sv"], {"nb"})],
)
def test_macrolanguages_stand_for_their_languages(
    world: langid.LangidModel, allowed: list[str], expected: set[str]
) -> None:
    text = "Dobro jutro, kako ste danas?" if "hbs" in allowed else "Jeg vet ikke hva jeg skal si"
    assert world.predict(text, languages=allowed) in expected


@pytest.mark.parametrize(
    "text",
    [
        "public static void main(String[] args) {",
        "x = y + 1",
        "for k in keys:",
        "from functools import reduce",
        "import sysconfig",
        "return None",
        '"annotations",',
        "GLAPI void APIENTRY glUniform4dv (GLint location, GLsizei count);",
        '0x0488: "wo_SN", # Wolof - Senegal',
        "#define LIMIT 100",
        "raise ValueError",
        "return cmd, arg, line",
        "return '/'",
        "import getopt, getpass",
        "exec(code, globals, locals)",
        "errread, errwrite):",
        'help="month number (1-12, text only)"',
        "self.error('You can only jump within the bottom frame')",
        "stream.read(12) # Skip the rest of the header",
        "pass  # must ignore broken pipe errors",
        "('fetch',('mailbox',)),",
        "cursor: pointer;",
        ".search-results article {",
        "chown $uid:$gid $file",
        "static int count_words(const char* text);",
        "asdfasdf",
        "qwerqwer",
        "https://example.org/a/b?c=d",
    ],
)
def test_code_and_mash_have_no_language(world: langid.LangidModel, text: str) -> None:
    assert world.predict(text) in ("zxx", "und")


@pytest.mark.parametrize(
    "text",
    [
        "Is it red & white; or blue?",
        "Igama lami nguSipho, ngihlala eThekwini kwaZulu-Natal",
        "これは本(SCIS)です。",
        "Каждый человек имеет право; это право включает свободу",
        "for example, this one",
        "return policy",
        '"Hello".',
        "YouTube & Facebook",
        'He said "yes", and then "no", and went home',
        '"Yes", he said, and "no", she said; and so on',
        "The words 'if', 'for', 'while', and 'else' are keywords.",
        "We import and export from and to many countries",
        "The price is $5 (about 4€) + tax.",
        "raise money for the school",
        "return home, my friend, and rest",
        "return, my friend, home",
        "import duties rose, exports fell",
        "We are # 1 in the world",
        "pass the salt, please # thanks",
        "Berlin(the capital of Germany)",
        "Ingredients (for four people):",
        "note: the price rose; nobody bought it",
        "It costs US$ 5 or A$ 7",
        "The value of x = 5 is small.",
        "If a = b and b = c then a = c holds.",
    ],
)
def test_prose_with_signs_has_a_language(world: langid.LangidModel, text: str) -> None:
    assert world.predict(text) not in ("zxx", "und")


def test_it_is_as_small_as_promised() -> None:
    assert sum(path.stat().st_size for path in default_folder().iterdir()) <= 15_000_000


def test_its_page_names_its_digest_and_command() -> None:
    page = (REPO / "docs" / "models.md").read_text(encoding="utf-8")
    artifact = open_artifact(default_folder())
    assert f"`{artifact.digest}`" in page
    assert f"--megabytes {artifact.config.get('megabytes', 15)} " in page


def test_words_are_written_as_often_as_they_occur_and_each_at_least_once() -> None:
    """The k-th list has the words of frequency ten to the power of -k/100; words with digits and signs are left out."""
    lists = [["the"], *([[]] * 199), ["house", "b2b", "rock-n-roll"], *([[]] * 399), ["zymurgy"]]
    assert counts_of(lists) == (["the", "house", "zymurgy"], [150_000, 1_500, 1])


def test_translated_words_count_as_often_as_the_words_they_stand_for() -> None:
    """What could not be translated is left out, and a name keeps its capital."""
    words, counts = ["saken", "agder", "Oslo", "fortsetter", "n"], [3, 2, 2, 1, 1]
    translated = ["saka", "*agder", "Oslo", "Held fram", ""]
    assert langid_translated.known(words, counts, translated) == (["saka", "Oslo", "held fram"], [3, 2, 1])


def test_another_version_of_the_translator_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in that writes back what it reads; then none at all."""
    program = tmp_path / "apertium"
    program.write_text("#!/bin/sh\nexec cat\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    one = langid_translated.TRANSLATIONS[0]
    with pytest.raises(SystemExit, match="apertium nob-nno_e wrote text of sha256"):
        langid_translated.translate(one, ["saken"])
    echoed = one._replace(sha256=hashlib.sha256(b"saken\n\nhus\n").hexdigest())
    assert langid_translated.translate(echoed, ["saken", "hus"]) == ["saken", "hus"]
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit, match="apt-get install apertium-nno-nob"):
        langid_translated.translate(one, ["saken"])


def test_rows_are_under_the_language_they_are_in() -> None:
    """Of the corpus one Bible is Swahili under the name of Swati; Sinhala of subtitles is in Latin letters."""
    rows = [
        {"text": "Nisalimieni ndugu wote", "lang": "ss", "source": "bible"},
        {"text": "lead marlinspike snow jane", "lang": "si", "source": "subtitle-words"},
        {"text": "lead marlinspike snow jane", "lang": "en", "source": "subtitle-words"},
    ]
    assert [row["lang"] for row in mended(iter(rows))] == ["sw", "en"]


def test_its_page_names_the_corpus() -> None:
    if not CORPUS.is_file():
        pytest.skip(
            f"no corpus at {CORPUS}: 'python -m benchmarks.langid_retrain' compares digests where it is"
        )
    page = (REPO / "docs" / "models.md").read_text(encoding="utf-8")
    found = re.search(r"sha256 `([0-9a-f]{64})`", page)
    assert found is not None
    with CORPUS.open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == found[1]
