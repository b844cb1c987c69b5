"""docs/concepts/walk.md names modules in the order work passes through them: they exist, and each leads to the next ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parent.parent
SRC = REPO / "src"
PAGE = (REPO / "docs" / "concepts" / "walk.md").read_text(encoding="utf-8")
MOST_MODULES = {"langid train": 30, "lm train": 32, "charset.detect": 9}
WALKS = {
    title: re.findall(r"^\| `(samebits[\w.]*)` \|", text, re.MULTILINE)
    for title, text in re.findall(r"^## [^`\n]*`([^`]+)`\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
}


def file_of(module: str) -> Path:
    path = SRC.joinpath(*module.split("."))
    found = [path / "__init__.py", path.with_suffix(".py"), path.with_suffix(".pyx")]
    return next((file for file in found if file.exists()), path)


def named_in(module: str) -> set[str]:
    """The modules a file imports or names in a table of its own, e.g. ``"samebits.langid.job:JOB"``."""
    text = file_of(module).read_text(encoding="utf-8")
    found = set(re.findall(r"samebits(?:\.\w+)+", text))
    for package, names in re.findall(r"from (samebits[\w.]*) c?import (\([^)]*\)|[^\n]*)", text):
        found |= {f"{package}.{name}" for name in re.findall(r"\w+", names)}
    return found


def test_the_page_has_the_three_walks() -> None:
    assert set(WALKS) == set(MOST_MODULES)


@pytest.mark.parametrize("walk", sorted(MOST_MODULES))
def test_a_walk_is_short_enough_to_take(walk: str) -> None:
    assert 5 <= len(WALKS[walk]) <= MOST_MODULES[walk]


@pytest.mark.parametrize("walk", sorted(MOST_MODULES))
def test_every_module_of_a_walk_is_named_by_one_before_it(walk: str) -> None:
    reached = set[str]()
    for number, module in enumerate(WALKS[walk]):
        assert file_of(module).is_file(), f"{module} does not exist"
        assert not number or any(name == module or name.startswith(module + ".") for name in reached), (
            f"nothing before {module} imports it"
        )
        reached |= named_in(module)
