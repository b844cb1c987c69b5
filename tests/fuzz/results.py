"""What a fuzzer saw, for people and for a record: how runs ended, what was found, how long the slowest took."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from samebits.core.digest import canonical_json

__all__ = ["Results"]


@dataclass
class Results:
    """Counts the runs of one portion of a fuzzer.

    Attributes:
        what: What is fuzzed, e.g. ``forged artifacts``.
        start: Number of the first run.
        runs: How many.
    """

    what: str
    start: int
    runs: int
    ends: Counter[str] = field(default_factory=Counter)
    findings: int = 0
    slowest: float = 0.0
    began: float = field(default_factory=time.monotonic)

    def add(self, kind: str, ended: str, seconds: float, said: str) -> None:
        """Count one run; print at once what it found."""
        self.ends[f"{kind}: {ended}"] += 1
        self.slowest = max(self.slowest, seconds)
        if ended == "finding":
            self.findings += 1
            print(said, flush=True)

    def show(self) -> int:
        """Print the counts; return the exit code."""
        for name, num in sorted(self.ends.items()):
            print(f"{num:8,}  {name}")
        took = time.monotonic() - self.began
        print(
            f"{self.runs:,} {self.what}, {self.findings} findings, slowest {self.slowest:.1f} s, {took:.0f} s"
        )
        return 1 if self.findings else 0

    def keep(self, record: Path) -> None:
        """Put this portion into a record, beside others that start elsewhere, and add them up."""
        known: dict[str, Any] = json.loads(record.read_bytes()) if record.exists() else {"name": "sanitize"}
        section = known.setdefault(self.what.replace(" ", "_"), {"portions": {}})
        section["portions"][str(self.start)] = {
            "runs": self.runs,
            "findings": self.findings,
            "slowest_seconds": round(self.slowest, 2),
            "ends": dict(self.ends),
        }
        portions = section["portions"].values()
        section |= {name: sum(portion[name] for portion in portions) for name in ("runs", "findings")}
        section["slowest_seconds"] = max(portion["slowest_seconds"] for portion in portions)
        record.write_bytes(canonical_json(known))
