"""The pages of the documentation site: what MkDocs does not know is taken out, pictures come along."""

from __future__ import annotations

import re
from pathlib import Path

from release.site_pages import gather

FENCE = re.compile(r"^```(.*)$", re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]+\]\(([^)\s]+)\)")


def test_pages_have_fences_that_mkdocs_reads_and_the_pictures_they_show(repo: Path, tmp_path: Path) -> None:
    target = tmp_path / "pages"
    gather(target)
    pages = {page.relative_to(target).as_posix(): page.read_text() for page in target.rglob("*.md")}
    sources = {page.relative_to(repo / "docs").as_posix() for page in (repo / "docs").rglob("*.md")}
    assert set(pages) == sources | {"index.md", "reference/docstrings.md"}
    pictures = 0
    for name, text in pages.items():
        # A fence with words after its language opens nothing for MkDocs, and the rest of the page becomes code.
        assert not [fence for fence in FENCE.findall(text) if " " in fence], name
        assert "<!--" not in text, name
        for picture in PICTURE.findall(text):
            if "://" not in picture:
                assert (target / name).parent.joinpath(picture).exists(), f"{name} shows {picture}"
                pictures += 1
    assert pictures, "the guides have pictures"


def test_every_page_is_in_the_navigation_once(repo: Path, tmp_path: Path) -> None:
    gather(tmp_path / "pages")
    pages = sorted(
        page.relative_to(tmp_path / "pages").as_posix() for page in (tmp_path / "pages").rglob("*.md")
    )
    _, _, navigation = (repo / "mkdocs.yml").read_text().partition("\nnav:\n")
    assert sorted(re.findall(r"[\w/.-]+\.md", navigation)) == pages
