"""The workers of a run: which executor, how many workers, and when they are started.

Workers are started once, by whoever needs them first. That is the plan where tasks run in other processes or on other
machines and the inputs are large: hashing them is work, so the workers do it (docs/decisions/input-digests.md). Else it
is the job's first stage.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from samebits.core.engine import Engine
from samebits.core.job import Job
from samebits.core.observing.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.core.plan import Plan
from samebits.core.ports.executor import Executor
from samebits.errors import ConfigError
from samebits.executors import CLUSTERS, ELSEWHERE, EXECUTORS, ExecutorOptions, make_executor
from samebits.machine.cores import Choice, choose_workers, look_at_machine
from samebits.machine.ranks import Ranks, ranks_for

__all__ = ["Workers", "files_of", "open_executor", "ranks_of_job"]


def ranks_of_job(job: Job, options: RunOptions) -> Ranks | None:
    """Return the ranks of torchrun that a job runs on; None for jobs that do not train, and without torchrun.

    Raises:
        ConfigError: the options ask for something else than torchrun has started.
    """
    if job.default_executor == "lockstep":
        return ranks_for(options.executor, options.num_workers())
    if options.executor == "torchrun":
        raise ConfigError(f"{job.name} trains nothing, so torchrun does not apply", hint="use -x dask or ray")
    return None


class Workers:
    """The executor of one run, and the sentence that says why it has so many workers.

    Args:
        job: Names the default executor and what a worker needs.
        options: What the user asks for.
        given: An executor of the user's own; it is used as it is and never closed.
        spool: Folder beside the output for large parts.
        observer: Told of the stage that hashes.
    """

    def __init__(
        self,
        job: Job,
        options: RunOptions,
        *,
        given: Executor | None = None,
        spool: Path | None = None,
        observer: Observer = ignore,
    ) -> None:
        self._job = job
        self._options = options
        self._given = given
        self._spool = spool
        self._observer = observer
        self._executor = given
        self._name = job.default_executor if options.executor == "auto" else options.executor
        self.choice = Choice(0, "")
        if given is not None:
            self._name = given.name
            self.choice = Choice(given.workers, f"{given.workers} workers: executor given")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.close(cancel=kind is not None)

    @property
    def on_cluster(self) -> bool:
        """Whether they are those of Dask or Ray."""
        return self._name in CLUSTERS

    @property
    def reading_threads(self) -> int:
        """How many threads of this process may read inputs before the plan: as many as there will be workers."""
        if self._given is not None:
            return self._given.workers
        if self._options.executor == "serial":
            return 1
        return self._options.num_workers() or look_at_machine().physical

    def hashing(self, files: Sequence[tuple[str, int]], num_shards: int) -> Engine | None:
        """Return an engine on which the files are hashed, or None where workers are threads of this process.

        Args:
            files: Path and size of each.
            num_shards: About how many shards they will have, so that no more workers are started.
        """
        if self._name not in ELSEWHERE:
            return None
        executor = self.open(num_shards, files)
        return Engine(
            executor,
            observer=self._observer,
            retries=self._options.retries,
            stage_caps=self._options.stage_caps(),
        )

    def open(self, num_shards: int, files: Sequence[tuple[str, int]] = ()) -> Executor:
        """Start the workers, unless they are there already.

        Args:
            num_shards: More workers have nothing to do.
            files: What every worker of a cluster must see.
        """
        if self._executor is None:
            self._executor = self._make(num_shards, files)
        return self._executor

    def _make(self, num_shards: int, files: Sequence[tuple[str, int]]) -> Executor:
        job, options, name = self._job, self._options, self._name
        if options.address and name in EXECUTORS and name not in CLUSTERS:
            raise ConfigError(f"--address does not apply to the executor {name!r}", hint="leave it out")
        if name in CLUSTERS and job.default_executor == "lockstep":
            raise ConfigError(
                f"{job.name} trains in lockstep, not on {name}",
                hint="leave -x out to use this machine; for several machines use torchrun (docs/guides/cluster.md)",
            )
        ranks = ranks_of_job(job, options)
        if ranks is not None:
            name, choice = (
                "torchrun",
                Choice(ranks.world, f"{ranks.world} ranks of torchrun, each one worker"),
            )
        else:
            choice = choose_workers(
                1 if name == "serial" else options.num_workers(),
                num_shards=num_shards,
                bytes_per_worker=job.bytes_per_worker,
            )
        if options.executor == "auto" and name == "threads" and choice.workers == 1:
            name = "serial"  # one worker is one core: a thread beside the driver's would use part of a second one
        executor = make_executor(
            name,
            ExecutorOptions(
                (options.num_workers() or 0) if options.address else choice.workers,
                options.address,
                options.stall_timeout,
                options.pin_cores,
                floating=getattr(job, "floating", False),
                files=tuple(files) if name in CLUSTERS else (),
                spool=str(self._spool.absolute()) if self._spool else "",
            ),
        )
        if options.address:
            choice = Choice(executor.workers, f"{executor.workers} workers: the cluster at {options.address}")
        self.choice = choice
        return executor

    def close(self, *, cancel: bool = False) -> None:
        """End the workers; harmless the second time."""
        executor, self._executor = self._executor, None
        if executor is not None and self._given is None:
            executor.close(cancel=cancel)


@contextmanager
def open_executor(
    job: Job, planned: Plan, options: RunOptions, given: Executor | None = None
) -> Iterator[tuple[Executor, Choice]]:
    """Open the executor that the options ask for, with the number of workers they lead to, and close it after."""
    with Workers(job, options, given=given) as workers:
        executor = workers.open(len(planned.shards), files_of(planned.inputs))
        yield executor, workers.choice


def files_of(inputs: Any) -> tuple[tuple[str, int], ...]:
    """Return path and size of what tasks will read, where the inputs of a plan are a corpus or hold one."""
    if isinstance(inputs, tuple):
        return tuple(file for item in inputs for file in files_of(item))
    from samebits.data.inputs.corpus import Corpus

    corpus = getattr(inputs, "corpus", inputs)  # a model may have files of its own: it travels with the state
    return corpus.files if isinstance(corpus, Corpus) else ()
