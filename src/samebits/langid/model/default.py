"""The default model, a part of the package: the languages of the world in 15 MB.

``docs/models.md`` says what it was trained on, and by which command it is made again, byte for byte.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["default_folder"]


def default_folder() -> Path:
    """Return where the default model is."""
    return Path(__file__).parent.parent / "world"
