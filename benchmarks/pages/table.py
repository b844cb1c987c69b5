"""Write ``docs/benchmarks.md`` whole from the records and ``rows.toml``, which says what each figure means."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from benchmarks.pages.records import duration, load, measured, rate, value_of

__all__ = ["PAGE", "ROWS", "render"]

PAGE = "docs/benchmarks.md"
ROWS = Path(__file__).with_name("rows.toml")
HEAD = (
    "| what | compared with | samebits | the other | ratio | 2 workers / 1 | measured |\n"
    "|---|---|--:|--:|--:|--:|---|\n"
)


def render() -> str:
    """Return the page."""
    plan = tomllib.loads(ROWS.read_text(encoding="utf-8"))
    parts = [f"# Benchmarks\n\n{plan['opening'].strip()}\n"]
    for section in plan["section"]:
        rows = "".join(_row(row) for row in section["row"])
        parts.append(f"## {section['title']}\n\n{section['note'].strip()}\n\n{HEAD}{rows}")
    parts.append(_machines(plan["section"]))
    parts.append(_complaints(plan["complaints"]))
    return "\n".join(parts)


def _row(row: dict[str, Any]) -> str:
    name = row["record"]
    cells = [
        row["what"],
        row["peer"],
        _side(row, "ours"),
        _side(row, "theirs"),
        f"{_ratio(row, 'ratio')}",
        f"{_ratio(row, 'two')}",
        f"{measured(name, row.get('part', ''))}, [`{name}`](../benchmarks/records/{name}.json)",
    ]
    return f"| {' | '.join(cells)} |\n"


def _side(row: dict[str, Any], side: str) -> str:
    if side not in row:
        return ""
    value, unit = value_of(row["record"], row[side]), row.get("unit", "s")
    if unit == "%":
        return f"{100 * value:.1f} %"
    if unit == "count":
        return f"{value:,}"
    return duration(value) if unit == "s" else rate(value, unit)


def _ratio(row: dict[str, Any], key: str) -> str:
    if key not in row:
        return ""
    value = value_of(row["record"], row[key])
    if key == "ratio" and row.get("unit") == "%":
        points = 100 * (value_of(row["record"], row["ours"]) - value_of(row["record"], row["theirs"]))
        return f"**{points:+.1f} points**"
    if key == "ratio" and value >= 10:
        return f"**{value:,.0f}x**"
    return f"**{value:.2f}x**" if key == "ratio" else f"{value:.2f}x"


def _machines(sections: list[dict[str, Any]]) -> str:
    """Say on which machine each record was made."""
    names = dict.fromkeys(row["record"] for section in sections for row in section["row"])
    rows = [_machine(name) for name in names]
    return (
        "## Machines\n\n| record | CPU | instructions | Python | libraries |\n|---|---|---|---|---|\n"
        + "".join(rows)
    )


def _machine(name: str) -> str:
    about = load(name)["environment"]
    libraries = ", ".join(f"{library} {version}" for library, version in sorted(about["libraries"].items()))
    simd = about["simd"] if isinstance(about["simd"], str) else ", ".join(about["simd"])
    return f"| `{name}` | {about['cpu']} ({about['machine']}) | {simd} | {about['python']} | {libraries} |\n"


def _complaints(plan: dict[str, Any]) -> str:
    rows = "".join(
        f"| {row['what']} ([{row['where']}]({row['link']})) | {row['here']} | {row['see']} |\n"
        for row in plan["row"]
    )
    return (
        f"## {plan['title']}\n\n{plan['note'].strip()}\n\n"
        "| what people report | what happens here | see it |\n|---|---|---|\n" + rows
    )
