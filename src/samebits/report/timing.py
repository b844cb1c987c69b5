"""Where the time went: speed-up over workers, shards per worker over time, memory."""

from __future__ import annotations

import statistics
from typing import Any

from markupsafe import Markup

from samebits.core.observing.amdahl import fit_amdahl
from samebits.core.observing.units import show_size
from samebits.report.charts import ChartSpan, Line, line_chart, timeline
from samebits.report.collect import Collection, ReportedRun
from samebits.report.parts import Section, heading, paragraph, table

__all__ = ["memory_section", "speedup_section", "timeline_section"]

LEAST_SECONDS = 0.5  # of the run with fewest workers; below it start-up is what is measured
MOST_SPANS = 3000  # a page of a million rectangles helps nobody; the slowest are kept


def speedup_section(found: Collection) -> Section | None:
    """Draw what ``bench speedup`` measured, the fit of Amdahl's law and the ideal line.

    Single runs are no measurement, however many there are of one plan: start-up and noise are most of a short one.
    """
    body = Markup("")
    for report in found.speedups:
        body += _speedup(f"{report['job']} on {report['executor']}", report["rows"])
    return Section("speedup", "Speed-up", body) if body else None


def _speedup(title: str, rows: list[dict[str, Any]]) -> Markup:
    if len(rows) < 2 or float(rows[0]["seconds"]) < LEAST_SECONDS:
        took = f"{float(rows[0]['seconds']):.2g} s with {rows[0]['workers']} worker"
        return heading(title) + paragraph(
            f"Too short to tell: {took}. Measure on an input that takes a second or more."
        )
    serial = fit_amdahl([(int(row["workers"]), float(row["speedup"])) for row in rows])
    most = max(2, 2 * max(int(row["workers"]) for row in rows))
    counts = range(1, most + 1)
    chart = line_chart(
        f"Speed-up of {title}",
        [
            Line("measured", [(float(row["workers"]), float(row["speedup"])) for row in rows], dots=True),
            Line(
                f"Amdahl's law, {serial:.1%} serial",
                [(float(w), 1 / (serial + (1 - serial) / w)) for w in counts],
            ),
            Line("ideal", [(float(w), float(w)) for w in counts]),
        ],
        x_label="workers",
        y_label="times as fast",
        from_zero=True,
    )
    head = ("workers", "seconds", "fastest", "slowest", "speed-up", "efficiency", "memory")
    names = ("workers", "seconds", "fastest", "slowest", "speedup")
    cells = [
        (*(row[name] for name in names), f"{row['efficiency']:.0%}", show_size(row["peak_rss"]))
        for row in rows
    ]
    return heading(title) + chart + table(head, cells)


def timeline_section(found: Collection) -> Section | None:
    """Draw the shards of each run, one row a worker."""
    body = Markup("")
    for run in found.runs:
        shards = [event for event in run.events if _is_work(event)]
        if len(shards) < 2:  # one shard is one bar: nothing to see
            continue
        body += heading(f"{run.name} ({run.job})") + _timeline(run, shards) + paragraph(_balance(shards))
    return Section("timeline", "Where the time went", body) if body else None


def _is_work(event: dict[str, Any]) -> bool:
    return event.get("event") == "ShardDone" and not event.get("resumed")


def _timeline(run: ReportedRun, shards: list[dict[str, Any]]) -> Markup:
    kept = sorted(shards, key=lambda e: -float(e["seconds"]))[:MOST_SPANS]
    workers = sorted({str(event["worker"]) for event in shards})
    stages = list(dict.fromkeys(str(event["stage"]) for event in shards))
    spans = [
        ChartSpan(
            workers.index(str(event["worker"])),
            float(event["started"]),
            float(event["started"]) + float(event["seconds"]),
            stages.index(str(event["stage"])),
            f"{event['stage']} shard {event['index']}: {float(event['seconds']) * 1000:.1f} ms",
        )
        for event in kept
    ]
    return timeline(f"Shards of {run.name} by worker", workers, spans, stages)


def _balance(shards: list[dict[str, Any]]) -> str:
    """Say how busy the workers were and what kept the last one."""
    first = min(float(event["started"]) for event in shards)
    last = max(float(event["started"]) + float(event["seconds"]) for event in shards)
    busy = sum(float(event["seconds"]) for event in shards)
    workers = len({event["worker"] for event in shards})
    typical = statistics.median(float(event["seconds"]) for event in shards)
    slowest = max(shards, key=lambda event: float(event["seconds"]))
    share = busy / (workers * (last - first)) if last > first else 1.0
    return (
        f"{len(shards):,} shards on {workers} workers in {last - first:.2f} s, busy {min(share, 1):.0%} of the time. "
        f"Typical shard {typical * 1000:.1f} ms; slowest {float(slowest['seconds']) * 1000:.1f} ms "
        f"({slowest['stage']}, shard {slowest['index']})."
    )


def memory_section(found: Collection) -> Section | None:
    """Draw resident memory while each run went on."""
    lines = []
    for run in found.runs:
        samples = [event for event in run.events if event.get("event") == "Memory"]
        if len(samples) > 1:
            start = float(samples[0]["at"])
            lines.append(Line(run.name, [(float(s["at"]) - start, float(s["bytes"]) / 1e6) for s in samples]))
    if not lines:
        return None
    chart = line_chart("Memory over time", lines, x_label="seconds", y_label="MB", from_zero=True)
    text = "Resident memory of the driver and its children, sampled while events came in."
    return Section("memory", "Memory", paragraph(text) + chart)
