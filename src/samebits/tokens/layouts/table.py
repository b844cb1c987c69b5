"""The layouts by name. A new one is a file that describes it, and one line here."""

from __future__ import annotations

from typing import Literal

from samebits.tokens.layouts.interface import StoreLayout
from samebits.tokens.layouts.packed import PACKED
from samebits.tokens.layouts.rows import ROWS

__all__ = ["LAYOUTS", "LayoutName"]

LayoutName = Literal["packed", "rows"]
LAYOUTS: dict[str, StoreLayout] = {"packed": PACKED, "rows": ROWS}
