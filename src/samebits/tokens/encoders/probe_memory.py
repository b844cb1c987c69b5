"""Which probes passed before: kept in the user's cache under a key made of the tokenizer and the versions.

Imports next to nothing: the command line asks before its own modules are loaded.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from samebits.machine.environment import installed_version

__all__ = ["probe_key", "remember", "was_equal"]

PROBE_VERSION = 4


def probe_key(document: bytes, package: str, special_tokens: str, encoder: str = "") -> str:
    """Key of one tokenizer under one encoder (that of the package's name), with the installed versions of it and of the reference."""
    versions = [f"{name} {installed_version(name)}" for name in ("tokenizers", package)]
    return hashlib.sha256(
        f"{PROBE_VERSION} {versions} {encoder or package} {special_tokens} ".encode() + document
    ).hexdigest()


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "samebits" / "probes"


def was_equal(key: str) -> bool:
    """Whether a probe with this key passed before."""
    return (_folder() / key).is_file()


def remember(key: str) -> None:
    """Note that a probe passed; a cache that cannot be written is no reason to stop."""
    try:
        _folder().mkdir(parents=True, exist_ok=True)
        (_folder() / key).touch()
    except OSError:
        return
