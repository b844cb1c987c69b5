"""What a job is: a Config, a plan cut from it, and a run of that plan. It never sees RunOptions."""

from __future__ import annotations

from typing import Any, Protocol

from samebits.core.engine import Engine
from samebits.core.plan import Plan

__all__ = ["Job"]


class Job(Protocol):
    """One way of turning inputs into an artifact.

    Attributes:
        name: CLI group, config table and guide page.
        version: Raised when the bytes of its artifact change.
        summary: One line for the help.
        Config: Frozen dataclass of ``option`` fields.
        default_executor: Where its tasks run best.
        bytes_per_worker: What a worker needs, for the memory cap; 0 if it does not matter.
    """

    name: str
    version: int
    summary: str
    Config: type[Any]
    default_executor: str
    bytes_per_worker: int

    def plan(self, config: Any) -> Plan:
        """Cut the inputs into shards; a pure function of Config and input."""
        ...

    def run(self, plan: Plan, config: Any, engine: Engine, out: Any) -> dict[str, Any]:
        """Compute the artifact's files into ``out`` (an ArtifactWriter); return metrics for the record."""
        ...
