"""Gather the pages of the documentation site: docs/, README.md as the first page, and a page of docstrings.

Links that leave docs/ (to examples, benchmarks, source) have no page on the site; their text alone is shown. Pictures are
copied.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
JOBS = ("charset", "count", "graph", "langid", "lm", "pipeline", "tokens")
LINK = re.compile(r"(!?)\[([^\]]+)\]\(([^)\s]+)\)")
FENCE = re.compile(
    r"^```(\w+) .*$", re.MULTILINE
)  # ```sh fragment: what our tests read, MkDocs does not know
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def gather(target: Path) -> None:
    """Write all pages below the target."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(REPO / "docs", target, ignore=shutil.ignore_patterns("*.md"))
    for page in sorted((REPO / "docs").rglob("*.md")):
        place = target / page.relative_to(REPO / "docs")
        place.write_text(_mended(page, page.parent, REPO / "docs"), encoding="utf-8")
    first = _mended(REPO / "README.md", REPO, REPO / "docs").replace("](docs/", "](")
    (target / "index.md").write_text(first, encoding="utf-8")
    body = "".join(
        f"\n## samebits.{job}\n\n::: samebits.{job}\n    options:\n      heading_level: 3\n" for job in JOBS
    )
    (target / "reference" / "docstrings.md").write_text(f"# Docstrings\n{body}", encoding="utf-8")


def _mended(page: Path, folder: Path, docs: Path) -> str:
    def mend(match: re.Match[str]) -> str:
        picture, text, target = match.groups()
        path = target.partition("#")[0]
        found = (folder / path).resolve()
        if "://" in target or not path or (found.is_relative_to(docs) and (picture or found.suffix == ".md")):
            return match.group()
        return text

    text = COMMENT.sub("", page.read_text(encoding="utf-8"))
    return LINK.sub(mend, FENCE.sub(r"```\1", text))


if __name__ == "__main__":
    gather(Path(sys.argv[1]))
