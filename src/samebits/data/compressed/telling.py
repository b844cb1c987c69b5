"""Say how far a pass over a compressed file is: it comes before the plan, so there is no progress line yet."""

from __future__ import annotations

from collections.abc import Iterator

from samebits.core.observing import clock, waiting
from samebits.core.observing.units import show_size

__all__ = ["told"]

TELL_SECONDS = 1.0


def told(content: Iterator[bytes], what: str) -> Iterator[bytes]:
    """Yield content, and tell every second how much there was.

    Args:
        content: What is read.
        what: What is done, e.g. ``unpacking a.zst``.
    """
    since, num_bytes, spoke = clock.seconds(), 0, False
    try:
        for data in content:
            num_bytes += len(data)
            yield data
            if clock.seconds() - since >= TELL_SECONDS:
                since, spoke = clock.seconds(), True
                waiting.tell(f"{what}: {show_size(num_bytes)} of content so far")
    finally:
        if spoke:
            waiting.tell("")
