"""The text jobs on the page: encodings found, languages confused, rows dropped and why, lengths in tokens."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from markupsafe import Markup

from samebits.report.charts import Bar, bar_chart, heat_map
from samebits.report.collect import Collection, ReportedRun
from samebits.report.parts import Section, details, heading, paragraph, table

__all__ = ["charset_section", "langid_section", "tokens_section"]

MOST_ROWS = 40
MOST_LANGUAGES = 40
EXAMPLES = 5


def charset_section(found: Collection) -> Section | None:
    """Show what share of letters each pair keeps, and which encodings were detected in which files."""
    body = Markup("")
    for run in found.of_job("charset"):
        pairs = [row for row in run.lines("pairs.jsonl") if row.get("status") == "trained"]
        body += heading(f"{run.name}: {len(pairs)} {'pair' if len(pairs) == 1 else 'pairs'} trained")
        worst = sorted(pairs, key=lambda row: (_share(row), str(row["pair"])))[:MOST_ROWS]
        rows = [
            (
                str(row["pair"]),
                row.get("samples"),
                row.get("bytes"),
                row.get("byte_pairs"),
                f"{_share(row):.1%}",
            )
            for row in worst
        ]
        shown = table(("pair", "samples", "bytes", "byte pairs", "letters kept"), rows)
        body += details(f"The {len(rows)} pairs that keep the smallest share of their letters", shown)
    for run in found.of_job("charset_decode"):
        body += heading(f"{run.name}: encodings found") + _decoded(run)
    return Section("charset", "Encodings", body) if body else None


def _share(row: dict[str, Any]) -> float:
    kept = row.get("retention")
    return float(kept) if isinstance(kept, int | float) else 1.0


def _decoded(run: ReportedRun) -> Markup:
    files = run.lines("files.jsonl")
    counts = Counter(str(row.get("encoding") or "none") for row in files)
    bars = [Bar(name, float(count)) for name, count in sorted(counts.items(), key=lambda e: (-e[1], e[0]))]
    rows = [
        (
            str(row["file"]),
            str(row.get("encoding") or "–"),
            f"{row['confidence']:.3f}",
            row.get("language"),
            row["rows"],
            row["undecodable_bytes"],
        )
        for row in sorted(files, key=lambda row: (float(row["confidence"]), str(row["file"])))[:MOST_ROWS]
    ]
    head = ("file", "encoding", "confidence", "language", "rows", "undecodable bytes")
    return bar_chart("Files by encoding", bars[:20]) + details(
        f"The {len(rows)} least certain files", table(head, rows)
    )


def langid_section(found: Collection) -> Section | None:
    """Show the cycles of training, what was dropped with examples, and which languages are taken for which."""
    body = Markup("")
    for run in found.of_job("langid"):
        body += heading(f"{run.name}: training") + _cycles(run) + _dropped(run, "languages were trained on")
    for run in found.of_job("langid_clean"):
        body += heading(f"{run.name}: cleaning") + _dropped(run, "were kept") + _confusion(run)
    return Section("langid", "Languages", body) if body else None


def _cycles(run: ReportedRun) -> Markup:
    cycles = run.metrics.get("cycles")
    if not isinstance(cycles, list) or not cycles:
        return Markup("")
    head = ("cycle", "rows", "accuracy", "precision", "recall", "F1", "removed")
    names = ("cycle", "rows", "accuracy", "precision", "recall", "f1", "removed")
    return table(head, [tuple(cycle.get(name) for name in names) for cycle in cycles])


def _dropped(run: ReportedRun, kept_words: str) -> Markup:
    rows = run.lines("dropped.jsonl")
    if not rows:
        return paragraph("No row was dropped.")
    reasons = Counter(str(row.get("reason")) for row in rows)
    bars = [Bar(name, float(count)) for name, count in sorted(reasons.items(), key=lambda e: (-e[1], e[0]))]
    body = bar_chart("Dropped rows by reason", bars)
    for reason in sorted(reasons):
        examples = [row for row in rows if row.get("reason") == reason][:EXAMPLES]
        head = ("file", "line", "label", "found", "score", "text")
        body += details(f"Examples: {reason}", table(head, [_example(row) for row in examples]))
    return body


def _example(row: dict[str, Any]) -> tuple[str | int | float | None, ...]:
    top = row.get("top", row.get("predicted"))
    return (
        str(row.get("source", "")),
        row.get("line"),
        str(row.get("label", "")),
        str(top) if top is not None else None,
        row.get("score"),
        str(row.get("text", "")) or None,
    )


def _confusion(run: ReportedRun) -> Markup:
    counts: Counter[tuple[str, str]] = Counter()
    for row in run.lines("kept.jsonl"):
        label = str(row.get("lang", row.get(str(run.artifact.config.get("lang_column")), "")))
        counts[label, label] += 1
    for row in run.lines("dropped.jsonl"):
        if row.get("reason") == "label_mismatch":
            counts[str(row.get("label")), str(row.get("top"))] += 1
    totals: Counter[str] = Counter()
    for (label, _), count in counts.items():
        totals[label] += count
    names = sorted(sorted(totals), key=lambda name: -totals[name])[:MOST_LANGUAGES]
    names.sort()
    values = [[float(counts[label, top]) for top in names] for label in names]
    text = (
        "Rows by label (down) and the language found (across); darker is a larger share of the label's rows."
    )
    return paragraph(text) + heat_map("Confusion of languages", names, names, values)


def tokens_section(found: Collection) -> Section | None:
    """Show how long rows are in tokens, and how much of a padded batch would be padding."""
    body = Markup("")
    for run in found.of_job("tokens"):
        about = run.metrics
        lengths = _lengths(run)
        body += heading(f"{run.name}: {about.get('tokenizer')}, {about.get('vocab_size'):,} ids")
        splits = about.get("splits", {})
        body += table(
            ("split", "rows", "tokens"),
            [(str(name), split.get("rows"), split.get("tokens")) for name, split in splits.items()],
        )
        if lengths is not None and len(lengths):
            body += bar_chart("Rows by length in tokens", _histogram(lengths)) + paragraph(_padding(lengths))
    return Section("tokens", "Tokens", body) if body else None


def _lengths(run: ReportedRun) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    for name in ("train.offsets.npy", "train.lengths.npy"):
        if name in run.artifact.files:
            found = np.asarray(run.artifact.array(name, mmap=True), dtype=np.int64)
            return np.diff(found) if "offsets" in name else found
    return None


def _histogram(lengths: np.ndarray[Any, np.dtype[np.int64]]) -> list[Bar]:
    """Count rows in bins that double: lengths of texts spread over orders of magnitude."""
    top = int(lengths.max())
    edges = [0, 1]
    while edges[-1] <= top:
        edges.append(edges[-1] * 2)
    counts, _ = np.histogram(lengths, edges)
    pairs = zip(edges[:-1], edges[1:], counts.tolist(), strict=True)
    return [
        Bar(f"{a} to {b - 1}" if b - a > 1 else str(a), float(count), f"{count / len(lengths):.1%}")
        for a, b, count in pairs
        if count
    ]


def _padding(lengths: np.ndarray[Any, np.dtype[np.int64]]) -> str:
    longest, mean = int(lengths.max()), float(lengths.mean())
    waste = 1 - mean / longest if longest else 0.0
    return (
        f"Mean {mean:.1f}, median {float(np.median(lengths)):.0f}, longest {longest:,} tokens. Padding every row to the longest "
        f"would waste {waste:.0%}; the packed layout wastes nothing."
    )
