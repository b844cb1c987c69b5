"""The models on the page: loss curves with samples, and drawings of predicted against expected graphs."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from samebits.report.charts import Line, image, line_chart
from samebits.report.collect import Collection, ReportedRun
from samebits.report.parts import Section, details, heading, paragraph, quote, table

__all__ = ["graph_section", "lm_section"]

MOST_DRAWINGS = 12
MOST_SAMPLES = 4


def lm_section(found: Collection) -> Section | None:
    """Draw the loss of every language model and show what it writes."""
    body = Markup("")
    for run in found.of_job("lm"):
        body += heading(run.name) + paragraph(_facts(run)) + _curves(run) + _samples(run)
    return Section("lm", "Language model", body) if body else None


def _facts(run: ReportedRun) -> str:
    about = run.metrics
    pieces = [f"{about[name]:,} {words}" for name, words in FACTS if isinstance(about.get(name), int)]
    if isinstance(about.get("val_loss"), float):
        pieces.append(f"validation loss {about['val_loss']:.4f}")
    if isinstance(about.get("bits_per_byte"), float):
        pieces.append(f"{about['bits_per_byte']:.3f} bits per byte")
    return ", ".join(pieces)


FACTS = (("parameters", "parameters"), ("steps", "steps"), ("tokens_seen", "tokens seen"))


def _curves(run: ReportedRun) -> Markup:
    train = [
        (float(row["step"]) + 1, _float(row["loss"])) for row in run.lines("steps.jsonl") if "loss" in row
    ]
    valid = [(float(row["step"]), _float(row["loss"])) for row in run.lines("val.jsonl") if "loss" in row]
    lines = [Line("training", train), Line("validation", valid, dots=True)]
    return line_chart(f"Loss of {run.name}", lines, x_label="step", y_label="loss")


def _float(value: Any) -> float:
    """Read a number that may be written exactly, in hexadecimal."""
    return float.fromhex(value) if isinstance(value, str) else float(value)


def _samples(run: ReportedRun) -> Markup:
    names = sorted(name for name in run.artifact.files if name.startswith("samples/"))
    steps = [name for name in names if name != "samples/final.txt"]
    body = Markup("")
    for name in [*steps[:: max(1, len(steps) // MOST_SAMPLES)][:MOST_SAMPLES], "samples/final.txt"]:
        if name in names:
            text = run.artifact.path(name).read_text(encoding="utf-8", errors="replace")
            title = (
                "What it writes at the end" if name.endswith("final.txt") else name.removeprefix("samples/")
            )
            body += (
                heading(title) + quote(text) if name.endswith("final.txt") else details(title, quote(text))
            )
    return body


def graph_section(found: Collection) -> Section | None:
    """Show losses, scores by depth and drawings of the graph jobs."""
    body = Markup("")
    for run in [run for run in found.runs if run.job.startswith("graph")]:
        drawings = sorted(name for name in run.artifact.files if name.endswith(".svg") and name != "loss.svg")
        curves = _curves(run) if "steps.jsonl" in run.artifact.files else Markup("")
        scores = _scores(run.metrics)
        if not (drawings or curves or scores):
            continue
        body += heading(f"{run.name} ({run.job})") + curves + scores
        for name in drawings[:MOST_DRAWINGS]:
            svg = run.artifact.path(name).read_text(encoding="utf-8", errors="replace")
            body += image(svg, f"{run.name}: {name}")
    if not body:
        return None
    text = "Drawings: kept parts grey, deletions red and dashed, insertions green, changed labels orange."
    return Section("graph", "Graphs", paragraph(text) + body)


def _scores(metrics: dict[str, Any]) -> Markup:
    """A table of any metric that is itself a table: {depth: {score: value}}."""
    body = Markup("")
    for name, rows in metrics.items():
        if isinstance(rows, dict) and rows and all(isinstance(row, dict) for row in rows.values()):
            columns = sorted({str(key) for row in rows.values() for key in row})
            cells = [
                (
                    str(key),
                    *(value if isinstance(value := row.get(c), int | float | str) else None for c in columns),
                )
                for key, row in rows.items()
            ]
            body += heading(name.replace("_", " ")) + table((name.removeprefix("by_"), *columns), cells)
    return body
