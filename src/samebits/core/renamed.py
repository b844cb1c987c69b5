"""Settings that were called otherwise in 0.1: whoever uses an old name is told the new one."""

from __future__ import annotations

from collections.abc import Collection

from samebits.errors import did_you_mean

__all__ = ["RENAMED", "meant"]

RENAMED = {"dim": "width", "grad_shards": "shards", "model": "kind"}


def meant(name: str, known: Collection[str]) -> str:
    """Say which setting was probably meant: the new name of an old one, or one that is spelled alike.

    >>> meant("grad_shards", ["batch", "shards"])
    'it is called shards now'
    """
    new = RENAMED.get(name, "")
    return f"it is called {new} now" if new in known else did_you_mean(name, known)
