"""RunOptions: everything that may never change the result. No plan, task or artifact ever sees it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Self

from samebits.core.config import option
from samebits.core.light_dataclass import dataclass
from samebits.core.ports.place import STALL_TIMEOUT
from samebits.errors import ConfigError

__all__ = ["HASHING", "RunOptions"]

HASHING = "hash"  # the stage that any job with inputs may start: workers hash them


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a result is computed. Any two RunOptions give the same bits."""

    workers: str | int = option("auto", help="number of workers, or auto", short="-w", metavar="N|auto")
    executor: str = option(
        "auto",
        help="where tasks run: serial, threads, processes, dask, ray; auto takes the job's own",
        short="-x",
        metavar="NAME",
    )
    address: str = option(
        "",
        help="address of a running Dask or Ray cluster; without it, one is started on this machine",
        metavar="URL",
    )
    resume: bool = option(True, help="continue an interrupted run of the same plan")
    overwrite: bool = option(False, help="replace an existing output")
    max_bad: str | int = option("1%", help="stop when more rows than this are unusable", metavar="N|P%")
    retries: int = option(3, help="how often to retry a shard whose worker was lost", metavar="N")
    stall_timeout: float = option(
        STALL_TIMEOUT, help="seconds without a sign of life before a worker counts as lost", metavar="S"
    )
    recheck: int = option(0, help="run every Nth shard twice and compare; 0 is off", metavar="N")
    stage_workers: tuple[str, ...] = option(
        (), help="fewer workers for a stage, e.g. encode=2", metavar="STAGE=N"
    )
    pin_cores: bool = option(False, help="tie each worker process to one core")

    def num_workers(self) -> int | None:
        """Return the number asked for, or None for ``auto``."""
        asked = str(self.workers)
        if asked == "auto":
            return None
        if not asked.isdecimal() or int(asked) < 1:
            raise ConfigError(
                f"--workers is {self.workers!r}", hint="give a whole number, 1 or more, or auto"
            )
        return int(asked)

    def check_stages(self, stages: Iterable[str]) -> None:
        """Refuse a name in ``stage_workers`` that is no stage.

        Raises:
            ConfigError: With the stages there are.
        """
        known = [HASHING, *dict.fromkeys(stages)]
        for name in self.stage_caps():
            if name not in known:
                raise ConfigError(
                    f"--stage-workers names {name!r}, which is not a stage of this run",
                    hint=f"known: {', '.join(known)}",
                )

    def with_stages(self, stages: Iterable[str]) -> Self:
        """Return the options of one job of several: ``stage_workers`` without the stages of the others."""
        known = {HASHING, *stages}
        return replace(
            self, stage_workers=tuple(item for item in self.stage_workers if item.partition("=")[0] in known)
        )

    def stage_caps(self) -> dict[str, int]:
        """Return the largest number of workers for each named stage."""
        caps = {}
        for item in self.stage_workers:
            stage, sign, number = item.partition("=")
            if not sign or not number.isdecimal() or int(number) < 1:
                raise ConfigError(f"--stage-workers has {item!r}", hint="write it like encode=2,learn=1")
            caps[stage] = int(number)
        return caps
