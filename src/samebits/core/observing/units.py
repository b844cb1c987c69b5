"""Numbers in words, as progress lines and the report show them."""

from __future__ import annotations

__all__ = ["show_count", "show_size", "wrap_line"]


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


def show_count(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> show_count(1, "row"), show_count(1_200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def wrap_line(line: str, width: int, *, indent: int) -> str:
    """Break a line that is wider than ``width`` at spaces; what follows begins at column ``indent``.

    >>> print(wrap_line("note: 400 rows, 15,044 tokens", 16, indent=6))
    note: 400 rows,
          15,044
          tokens
    """
    if len(line) <= width:
        return line
    import textwrap  # only where something is too wide

    return textwrap.fill(
        line, width, subsequent_indent=" " * indent, break_long_words=False, break_on_hyphens=False
    )
