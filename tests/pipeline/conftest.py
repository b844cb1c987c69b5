"""A small world for recipes: sample sentences as UTF-8 texts, and as raw files in old encodings."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest

ENCODINGS = {"de": "cp1252", "ru": "koi8-r", "el": "iso8859-7", "ja": "cp932"}
RECIPE = """
output = "run"
[stage.encodings]
job = "charset train"
inputs = ["texts"]
unit = "line"
[stage.text]
job = "charset decode"
inputs = ["raw"]
model = "@encodings"
[stage.languages]
job = "langid train"
inputs = ["@text"]
[stage.clean]
job = "langid clean"
inputs = ["@text"]
model = "@languages"
[stage.tokens]
job = "tokens build"
inputs = ["@clean"]
tokenizer = "word"
"""


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A folder with texts, raw files and a recipe."""
    samples = resources.files("samebits") / "samples"
    for language, encoding in ENCODINGS.items():
        lines = (samples / f"{language}.txt").read_text(encoding="utf-8").splitlines()
        for folder, chosen, code in (("texts", lines[::2], "utf-8"), ("raw", lines[1::2], encoding)):
            place = tmp_path / folder / language
            place.mkdir(parents=True)
            (place / "a.txt").write_bytes("\n".join(chosen).encode(code, "ignore"))
    (tmp_path / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    return tmp_path
