"""What an error tells people to install exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent


def test_every_extra_that_an_error_names_is_in_the_project() -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (REPO / "src").rglob("*.py"))
    named = set(re.findall(r'MissingExtra\([^)]*extra="(\w+)"', sources))
    assert named
    assert named <= set(project["optional-dependencies"])
