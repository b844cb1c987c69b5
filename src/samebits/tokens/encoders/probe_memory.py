"""Which probes passed before: kept in the user's cache under a key made of the tokenizer and the versions.

Imports next to nothing: the command line asks before its own modules are loaded.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from samebits.machine.environment import installed_version

__all__ = ["document_digest", "probe_key", "remember", "was_equal"]

PROBE_VERSION = 5
_LAST: list[tuple[bytes, str]] = []


def probe_key(document: bytes, package: str, special_tokens: str, encoder: str = "") -> str:
    """Key of one tokenizer under one encoder (that of the package's name), with the installed versions of it and of the reference."""
    versions = [f"{name} {installed_version(name)}" for name in ("tokenizers", package)]
    told = f"{PROBE_VERSION} {versions} {encoder or package} {special_tokens} {document_digest(document)}"
    return hashlib.sha256(told.encode()).hexdigest()


def document_digest(document: bytes) -> str:
    """Return the sha256 of a file; that of the last one is known, because a command asks four times."""
    for known, digest in _LAST:
        if known == document:
            return digest
    digest = hashlib.sha256(document).hexdigest()
    _LAST[:] = [(document, digest)]
    return digest


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
