"""Where finished parts are kept for a resume. The engine knows this port; ``data.journal`` is the real one."""

from __future__ import annotations

from typing import Any, Protocol

__all__ = ["NoStore", "PartStore"]


class PartStore(Protocol):
    """Keeps parts by (stage, shard index)."""

    def known_digest(self, stage: str, index: int) -> str | None:
        """Return the digest a shard had when it finished before, even if its part is damaged now."""
        ...

    def load(self, stage: str, index: int) -> tuple[bool, Any]:
        """Return (True, part) if the part is there and whole, else (False, None)."""
        ...

    def save(self, stage: str, index: int, part: Any, digest: str, encoded: bytes | None = None) -> None:
        """Keep a finished part; ``encoded`` is its encoding, if that is known already."""
        ...


class NoStore:
    """Keeps nothing: a run that cannot be resumed, e.g. a benchmark of the engine itself."""

    def known_digest(self, stage: str, index: int) -> str | None:
        """Know nothing."""
        return None

    def load(self, stage: str, index: int) -> tuple[bool, Any]:
        """Find nothing."""
        return False, None

    def save(self, stage: str, index: int, part: Any, digest: str, encoded: bytes | None = None) -> None:
        """Keep nothing."""
