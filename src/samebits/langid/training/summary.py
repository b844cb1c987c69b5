"""What a training says of itself: ``report.json``, and in brief the record."""

from __future__ import annotations

from typing import Any

from samebits.data.artifact import ArtifactWriter

__all__ = ["write_summary"]


def write_summary(
    out: ArtifactWriter,
    *,
    rows: dict[str, Any],
    num_blank: int,
    eval_rows: int,
    num_cut: int,
    languages: int,
    words: int,
    reports: list[dict[str, Any]],
    share_kept: float,
) -> dict[str, Any]:
    """Write the report; return the metrics of the record."""
    summary = {
        "lines": {"read": out.bad_rows.num_read, "blank": num_blank, "bad": out.bad_rows.num_bad},
        "rows": rows,
        "eval_rows": eval_rows,
        "texts_cut": num_cut,
        "languages": languages,
        "words": words,
        "cycles": reports,
    }
    out.write_json("report.json", summary)
    brief = [{key: value for key, value in report.items() if key != "confusion_pairs"} for report in reports]
    return {**summary, "cycles": brief, "share_kept": round(share_kept, 4)}
