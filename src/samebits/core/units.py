"""Numbers in words, as progress lines and the report show them."""

from __future__ import annotations

__all__ = ["show_size"]


def show_size(num_bytes: float) -> str:
    """Write a size in decimal units.

    >>> show_size(1_234_567)
    '1.2 MB'
    """
    for unit in ("B", "kB", "MB", "GB"):
        if num_bytes < 1000:
            return f"{num_bytes:.0f} B" if unit == "B" else f"{num_bytes:.1f} {unit}"
        num_bytes /= 1000
    return f"{num_bytes:.1f} TB"
