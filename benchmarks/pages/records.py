"""Look up a value in a record, and write it the way people say it."""

from __future__ import annotations

import json
import statistics
from functools import cache
from typing import Any

from benchmarks.common import RECORDS

__all__ = ["duration", "load", "measured", "rate", "show_like", "value_of"]


@cache
def load(name: str) -> dict[str, Any]:
    """Return the record of a benchmark."""
    record: dict[str, Any] = json.loads((RECORDS / f"{name}.json").read_text(encoding="utf-8"))
    return record


def value_of(name: str, path: str) -> Any:
    """Return the value at a dotted path of a record; the median where the path leads to a list of numbers."""
    value: Any = load(name)
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    if isinstance(value, list):
        return statistics.median(value)
    return value


def measured(name: str, part: str) -> str:
    """Return the day a part of a record was measured, or the whole where parts have no day of their own."""
    own = load(name).get("details", {}).get(part, {}) if part else {}
    day: str = own.get("measured", load(name)["measured"])
    return day


def duration(seconds: float) -> str:
    """Write seconds with three digits in the unit people would say: 47.4 s, 251 µs."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{_three(seconds / size)} {unit}"
    return f"{_three(seconds / 1e-9)} ns"


def rate(value: float, unit: str) -> str:
    """Write a rate with its unit: 33,700 tokens/s."""
    return f"{_three(value)} {unit}"


def _three(value: float) -> str:
    """Three digits, thousands with a comma."""
    if value >= 100:
        digits = len(str(int(value))) - 3
        return f"{round(value, -digits):,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}"


def show_like(value: float, shown: str) -> str:
    """Write a value with as many decimals, and thousands separators if so, as a page shows."""
    decimals = len(shown.partition(".")[2])
    return f"{value:,.{decimals}f}" if "," in shown else f"{value:.{decimals}f}"
