"""Numbers, times and sizes as people say them."""

from __future__ import annotations

from datetime import UTC, datetime

from samebits.core.observing.units import show_size

__all__ = ["ago", "count", "duration", "number", "rate", "share", "size"]

MINUTE, HOUR, DAY = 60, 3600, 86400


def size(num_bytes: float) -> str:
    """Return 1234567 as ``1.2 MB``."""
    return show_size(num_bytes)


def count(value: float) -> str:
    """Return a count with separators."""
    return f"{value:,.0f}"


def number(value: float | None) -> str:
    """Return a measured number with about five digits.

    >>> number(2.718281828), number(1234567.0), number(None)
    ('2.7183', '1,234,567', '–')
    """
    if value is None:
        return "–"
    if value == int(value) and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:,.5g}" if 1e-4 <= abs(value) < 1e6 else f"{value:.3g}"


def share(value: float) -> str:
    """Return 0.256 as ``26 %``; 100 % only for the whole.

    >>> share(0.256), share(0.9999), share(1.0)
    ('26 %', '99 %', '100 %')
    """
    return "100 %" if value >= 1 else f"{min(99, round(100 * value))} %"


def duration(seconds: float) -> str:
    """Return a length of time in one or two units.

    >>> duration(0.25), duration(75), duration(7300), duration(200000)
    ('0.25 s', '1 min 15 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds < 10:
        return f"{seconds:.2g} s"
    whole = round(seconds)
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def rate(units_per_second: float, unit: str) -> str:
    """Return a speed in a unit that keeps it readable.

    >>> rate(2_000_000, "bytes"), rate(12.3, "steps"), rate(0.05, "steps")
    ('2.0 MB/s', '12.3 steps/s', '3 steps/min')
    """
    if unit == "bytes":
        return f"{size(units_per_second)}/s"
    if units_per_second < 0.5:
        return f"{60 * units_per_second:.3g} {unit}/min"
    return (
        f"{units_per_second:,.3g} {unit}/s"
        if units_per_second < 1000
        else f"{units_per_second:,.0f} {unit}/s"
    )


def ago(then: float, now: float) -> str:
    """Return when something happened: ``just now``, ``5 min ago``, or the day."""
    passed = now - then
    if passed < MINUTE:
        return "just now"
    if passed < HOUR:
        return f"{int(passed // MINUTE)} min ago"
    if passed < DAY:
        return f"{int(passed // HOUR)} h ago"
    return datetime.fromtimestamp(then, UTC).strftime("%-d %b %Y, %H:%M UTC")
