"""What a job is: a Config, a plan cut from it, and a run of that plan. It never sees RunOptions."""

from __future__ import annotations

from typing import Any, Protocol

from samebits.core.engine import Engine
from samebits.core.plan import Plan

__all__ = ["Job"]


class Job(Protocol):
    """One way of turning inputs into an artifact. Attributes are read-only, so that a frozen dataclass fits."""

    @property
    def name(self) -> str:
        """CLI group, config table and guide page."""
        ...

    @property
    def version(self) -> int:
        """Raised when the bytes of its artifact change."""
        ...

    @property
    def summary(self) -> str:
        """One line for the help."""
        ...

    @property
    def Config(self) -> type[Any]:  # noqa: N802 - a class
        """Frozen dataclass of ``option`` fields."""
        ...

    @property
    def default_executor(self) -> str:
        """Where its tasks run best."""
        ...

    @property
    def stages(self) -> tuple[str, ...]:
        """Names of the stages it starts, for ``--stage-workers``; the levels of ``count merge 1`` are one stage."""
        ...

    @property
    def bytes_per_worker(self) -> int:
        """What a worker needs, for the memory cap; 0 if it does not matter."""
        ...

    def plan(self, config: Any) -> Plan:
        """Cut the inputs into shards; a pure function of Config and input."""
        ...

    def run(self, plan: Plan, config: Any, engine: Engine, out: Any) -> dict[str, Any]:
        """Compute the artifact's files into ``out`` (an ArtifactWriter); return metrics for the record."""
        ...
