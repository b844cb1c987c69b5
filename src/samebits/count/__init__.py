"""Word or character n-grams of a corpus. Small and useful, and the worked example of a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from samebits.lazy import lazy_names

if TYPE_CHECKING:
    from samebits.count.config import CountConfig

__all__ = [
    "CountConfig",
]

_HOMES = {
    "CountConfig": "samebits.count.config",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
