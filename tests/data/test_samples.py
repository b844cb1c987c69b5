"""The sample texts keep the format that their README promises."""

import re
import unicodedata
from importlib.resources import files
from pathlib import Path

import pytest

SAMPLES = Path(str(files("samebits") / "samples"))
FILES = sorted(SAMPLES.glob("*.txt"))
FEWEST_LINES = 60
FEWEST_LANGUAGES = 20


def lines_of(path: Path) -> list[str]:
    """The lines of one file, cut at LF only: other separators are not line ends here."""
    return path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")


each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def test_there_are_sample_texts_in_at_least_twenty_languages() -> None:
    assert len(FILES) >= FEWEST_LANGUAGES


@each_file
def test_the_file_is_named_by_a_two_letter_language_code(path: Path) -> None:
    assert re.fullmatch(r"[a-z]{2}", path.stem)


@each_file
def test_the_bytes_are_utf8_without_mark_or_carriage_return_and_end_in_one_newline(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    assert "\ufeff" not in text
    assert "\r" not in text
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@each_file
def test_the_text_is_nfc(path: Path) -> None:
    wrong = [line for line in lines_of(path) if line != unicodedata.normalize("NFC", line)]
    assert wrong == []


@each_file
def test_no_line_is_blank_or_has_space_around_it_or_control_characters(path: Path) -> None:
    lines = lines_of(path)
    assert [line for line in lines if not line.strip()] == []
    assert [line for line in lines if line != line.strip()] == []
    assert [line for line in lines if any(unicodedata.category(char) == "Cc" for char in line)] == []


@each_file
def test_there_are_enough_distinct_lines(path: Path) -> None:
    assert len(set(lines_of(path))) >= FEWEST_LINES


def test_no_line_is_there_twice_within_or_across_files() -> None:
    first_seen: dict[str, str] = {}
    twice: list[tuple[str, str, str]] = []
    for path in FILES:
        for line in lines_of(path):
            if line in first_seen:
                twice.append((line, first_seen[line], path.stem))
            first_seen.setdefault(line, path.stem)
    assert twice == []


@each_file
def test_the_readme_names_the_language(path: Path) -> None:
    assert f"`{path.stem}`" in (SAMPLES / "README.md").read_text(encoding="utf-8")
