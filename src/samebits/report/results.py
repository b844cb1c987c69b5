"""What came out, in one row of large figures: the first thing on the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

from samebits.report.collect import Collection, ReportedRun
from samebits.report.parts import Section, join

__all__ = ["results_section"]


def results_section(found: Collection) -> Section | None:
    """Show a figure for each kind of result that is there; runs of one plan count once."""
    seen: set[str] = set()
    figures = []
    for run in found.runs:
        if run.artifact.digest not in seen:
            figures += list(_figures(run))
        seen.add(run.artifact.digest)
    figures += list(_same_bits(found))
    if not figures:
        return None
    cells = join(
        Markup('<div class="figure"><strong>{}</strong><span>{}</span></div>').format(value, text)
        for value, text in figures
    )
    return Section("results", "Results", Markup('<div class="figures">{}</div>').format(cells))


def _figures(run: ReportedRun) -> Iterator[tuple[str, str]]:
    about = run.metrics
    if run.job == "charset_decode" and _number(about.get("files")):
        yield f"{about['files']:,}", "files decoded"
    elif run.job == "langid" and _number(about.get("languages")):
        yield f"{about['languages']:,}", "languages told apart"
    elif run.job == "langid_clean" and _number(about.get("kept")):
        yield f"{about['kept']:,}", "clean rows kept"
    elif run.job == "tokens" and isinstance(about.get("splits"), dict):
        yield f"{sum(int(split.get('tokens', 0)) for split in about['splits'].values()):,}", "tokens"
    elif run.job == "lm" and about.get("steps") and _number(about.get("val_loss")):
        yield f"{about['val_loss']:.2f}", f"validation loss after {about['steps']:,} steps"
    elif run.job == "graph_eval" and _number(about.get("exact_match")):
        yield f"{about['exact_match']:.1%}", "of unseen texts parsed exactly"


def _same_bits(found: Collection) -> Iterator[tuple[str, str]]:
    plans: dict[str, list[str]] = {}
    for run in found.runs:
        plans.setdefault(str(run.record.get("plan_digest", "")), []).append(run.artifact.digest)
    repeated = [digests for plan, digests in plans.items() if plan and len(digests) > 1]
    if repeated:
        equal = sum(len(set(digests)) == 1 for digests in repeated)
        yield f"{equal} of {len(repeated)}", "repeated computations gave the same digest"


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
