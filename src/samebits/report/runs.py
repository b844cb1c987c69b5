"""What was run, on what, and whether the digests agree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from samebits.core.observing.units import show_size
from samebits.report.collect import Collection, ReportedRun
from samebits.report.parts import Section, bold, details, heading, join, paragraph, table

__all__ = ["machine_section", "parity_section", "runs_section"]


def runs_section(found: Collection) -> Section | None:
    """List every run with its digest, and the stages of every pipeline."""
    if not found.runs:
        return None
    rows = [
        (
            run.name,
            run.job,
            _number(run.record.get("workers")),
            str(run.record.get("executor", "–")),
            _number(run.record.get("seconds")),
            show_size(_peak(run.record)) if _peak(run.record) else None,
            _digest(run.artifact.digest),
        )
        for run in found.runs
    ]
    body = table(("run", "job", "workers", "executor", "seconds", "peak memory", "digest"), rows)
    for pipeline in found.pipelines:
        body += heading(f"Pipeline {pipeline['name']}")
        body += paragraph(
            Markup("One digest over all stages: {}").format(_digest(str(pipeline.get("digest"))))
        )
        body += table(("stage", "job", "this time", "digest"), _stages(pipeline))
    if found.problems:
        body += heading("Could not be read")
        body += join(paragraph(problem) for problem in found.problems)
    return Section("runs", "What was run", body)


def _stages(pipeline: dict[str, Any]) -> Iterator[tuple[str, str, str, Markup]]:
    how = {stage.get("name"): stage for stage in pipeline["record"].get("stages", [])}
    for stage in pipeline.get("stages", []):
        took = how.get(stage["name"], {})
        text = "skipped: unchanged" if took.get("skipped") else f"{took.get('seconds', 0):.2f} s"
        yield str(stage["name"]), str(stage["job"]), text, _digest(str(stage["digest"]))


def _peak(record: dict[str, Any]) -> int:
    peak = record.get("peak_rss")
    return sum(peak.values()) if isinstance(peak, dict) else 0


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) else None


def _digest(digest: str) -> Markup:
    return Markup('<code title="{}">{}</code>').format(digest, digest[:16])


def parity_section(found: Collection) -> Section | None:
    """Compare the runs that were asked to do the same with different workers."""
    groups: dict[str, list[ReportedRun]] = {}
    for run in found.runs:
        groups.setdefault(str(run.record.get("plan_digest", "")), []).append(run)
    rows = []
    for plan, runs in groups.items():
        if not plan or len(runs) < 2:
            continue
        digests = {run.artifact.digest for run in runs}
        ways = ", ".join(sorted({f"{r.record.get('executor')} {r.record.get('workers')}" for r in runs}))
        verdict = bold("equal") if len(digests) == 1 else bold(f"DIFFERENT: {len(digests)} digests")
        rows.append((runs[0].job, len(runs), ways, verdict, _digest(runs[0].artifact.digest)))
    for report in found.speedups:
        ways = ", ".join(f"{row['workers']}" for row in report["rows"])
        rows.append(
            (
                str(report["job"]),
                len(report.get("records", [])),
                f"{report['executor']} {ways}",
                bold("equal"),
                _digest(str(report["digest"])),
            )
        )
    if not rows:
        return None
    text = "Runs of one plan must give one digest, whatever the number of workers."
    body = paragraph(text) + table(("job", "runs", "executor and workers", "digests", "digest"), rows)
    return Section("parity", "Same bits", body)


def machine_section(found: Collection) -> Section | None:
    """Say what the runs were made on."""
    seen: dict[str, dict[str, Any]] = {}
    for run in found.runs:
        environment = run.record.get("environment")
        if isinstance(environment, dict):
            seen.setdefault(repr(sorted(environment.items(), key=str)), environment)
    if not seen:
        return None
    body = join(
        table(("what", "value"), [(str(name), _listed(value)) for name, value in environment.items()])
        for environment in seen.values()
    )
    why = sorted({str(run.record["why_workers"]) for run in found.runs if run.record.get("why_workers")})
    body += details("How the number of workers was chosen", join(paragraph(sentence) for sentence in why))
    return Section("machine", "Machine", body)


def _listed(value: Any) -> str:
    """Write lists and tables of versions as people do: ``numpy 2.4, samebits 0.2``."""
    if isinstance(value, dict):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
