"""The only place that reads a clock. Times go into records and progress lines, never into results."""

from __future__ import annotations

import time
from datetime import UTC, datetime

__all__ = ["seconds", "utc_now", "utc_seconds"]


def seconds() -> float:
    """Return monotonic seconds, comparable between processes of one machine."""
    return time.monotonic()


def utc_now() -> str:
    """Return the time of day in UTC, to the second, for records people read."""
    return datetime.now(UTC).replace(microsecond=0).isoformat()


def utc_seconds() -> float:
    """Return seconds since 1970, for file formats that ask for them."""
    return datetime.now(UTC).timestamp()
