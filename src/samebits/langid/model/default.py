"""The default model: the package's sample texts, trained on first use (about a second) and kept in the user's cache.

A committed model would be a binary file to be kept in step with the samples, the constants and the tables by hand; the
samples are in the package anyway, and the folder's name holds their digest, so a new release makes its own model.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from samebits.langid.constants import CONSTANTS
from samebits.langid.tables import unicode_version

__all__ = ["default_folder", "sample_rows"]


def sample_rows() -> Iterator[dict[str, str]]:
    """Yield one row per line of the sample texts; a file's name is its language."""
    for language, text in _samples():
        for line in text.splitlines():
            if line.strip():
                yield {"text": line, "lang": language}


def _samples() -> list[tuple[str, str]]:
    folder = resources.files("samebits").joinpath("samples")
    files = sorted(
        (item for item in folder.iterdir() if item.name.endswith(".txt")), key=lambda item: item.name
    )
    return [(item.name.removesuffix(".txt"), item.read_text(encoding="utf-8")) for item in files]


def default_folder() -> Path:
    """Return where the default model is kept; the name changes with anything that would change the model."""
    digest = hashlib.sha256(f"{unicode_version()} {CONSTANTS.tolist()}".encode())
    for language, text in _samples():
        digest.update(f"{language}\0{text}\0".encode())
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "samebits" / f"langid-{digest.hexdigest()[:16]}"
