"""Write ``docs/benchmarks.md`` and bring the figures in all pages up to their records: ``python -m benchmarks.pages``."""

from __future__ import annotations

import sys

from benchmarks.common import REPO
from benchmarks.pages import prose, table


def main() -> int:
    """Write what changed and say so."""
    changed = prose.refresh(REPO)
    page = REPO / table.PAGE
    text = table.render()
    if not page.exists() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")
        changed.append(table.PAGE)
    print("changed: " + (", ".join(changed) or "nothing"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
