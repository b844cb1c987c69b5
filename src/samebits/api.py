"""Plan a job, run it, verify what it made: the library's front door, and all the command line calls.

``run`` is the one place where WHAT (job, config) and WHERE (options) meet::

    record = samebits.run("count", CountConfig(inputs=("book.txt",)), output="counts")
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samebits.core.config import saved_fields, with_listed_paths
from samebits.core.engine import Engine
from samebits.core.job import Job
from samebits.core.observing import clock
from samebits.core.observing.events import Observer, Warned, fan_out, ignore
from samebits.core.observing.record import RunRecord, StageTimes
from samebits.core.options import RunOptions
from samebits.core.plan import Plan
from samebits.core.ports.executor import Executor
from samebits.core.ports.place import PartDone, Place
from samebits.data.artifact import ArtifactWriter, check_output
from samebits.data.bad_rows import BadRows
from samebits.data.event_log import EventLog
from samebits.data.files import no_room_is_named
from samebits.data.inputs.reading import reading_threads
from samebits.data.journal import (
    Journal,
    checkpoint_folder,
    holds_work,
    journal_folder,
    remove_finished,
    remove_journal,
)
from samebits.data.lock import OutputLock
from samebits.data.readers.missing_columns import column_flags, missing_columns_named
from samebits.errors import ConfigError, Interrupted, TooManyBadRows
from samebits.executors import CLUSTERS, EXECUTORS, ExecutorOptions, make_executor
from samebits.jobs import get_job
from samebits.machine.caps import one_math_thread
from samebits.machine.cores import Choice, choose_workers, look_at_machine
from samebits.machine.environment import fingerprint
from samebits.machine.peak_memory import own_peak
from samebits.machine.ranks import Ranks, ranks_for

if TYPE_CHECKING:
    from samebits.progress.notebook import Show

__all__ = ["open_executor", "plan", "ranks_of", "refuse_ranks", "run"]


def plan(job: str | Job, config: Any) -> Plan:
    """Return what would be done, without doing it."""
    return _job(job).plan(with_listed_paths(config))


def run(
    job: str | Job,
    config: Any,
    *,
    output: str | Path,
    options: RunOptions | None = None,
    observer: Observer = ignore,
    executor: Executor | None = None,
    progress: Show = "auto",
) -> RunRecord:
    """Run a job into an output folder, or continue an interrupted run of the same plan.

    Under torchrun, ranks above 0 help to train and write nothing: their record has no digest.

    Args:
        job: A job or its name.
        config: What to compute.
        output: The folder to make.
        options: How to compute it; never changes the result.
        observer: Told of every event.
        executor: An executor of your own, e.g. one of ``samebits.testing``; closed by you.
        progress: Show progress: True, False, or "auto" for notebooks only.

    Raises:
        SamebitsError: one of its subclasses; finished parts are kept for the next call.
    """
    job, options, output = _job(job), options or RunOptions(), Path(output)
    config = with_listed_paths(config)
    ranks = ranks_of(job, options)
    if ranks is not None and not ranks.writes:
        return _help(job, config, options, ranks)
    remove_finished(output)
    check_output(output, overwrite=options.overwrite)
    started = clock.seconds()
    folder = journal_folder(output)
    lock = OutputLock(folder / "lock", output=output)
    try:
        check_output(output, overwrite=options.overwrite)  # the holder before us may have made it meanwhile
        with reading_threads(_num_threads(options, executor)):
            planned = job.plan(config)
        journal = Journal(folder, planned, resume=options.resume, settings=saved_fields(config))
        try:
            with _shown(progress, observer) as told, missing_columns_named(config):
                session = _Session(job, planned, config, options, output, journal, told, started)
                record = session.run(executor)
        except TooManyBadRows as error:
            if error.num_bad == error.num_read:  # a wrong column, say: nothing here is worth keeping
                journal.forget_parts()
            raise
        finally:
            journal.close()
        journal.remove()
        return record
    except BaseException as error:
        _drop_if_empty(folder)
        if not isinstance(error, KeyboardInterrupt):
            raise
        raise Interrupted("interrupted; finished parts are kept", hint="the same command continues") from None
    finally:
        lock.release()


def _shown(progress: Show, observer: Observer) -> AbstractContextManager[Observer]:
    if progress is False:
        return nullcontext(observer)
    from samebits.progress.notebook import showing  # not needed by commands, which show progress themselves

    return showing(progress, observer)


def _job(job: str | Job) -> Job:
    return get_job(job) if isinstance(job, str) else job


def ranks_of(job: str | Job, options: RunOptions) -> Ranks | None:
    """Return the ranks of torchrun that a job runs on; None for jobs that do not train, and without torchrun.

    Raises:
        ConfigError: the options ask for something else than torchrun has started.
    """
    if _job(job).default_executor == "lockstep":
        return ranks_for(options.executor, options.num_workers())
    if options.executor == "torchrun":
        raise ConfigError(
            f"{_job(job).name} trains nothing, so torchrun has no meaning", hint="use -x dask or ray"
        )
    return None


def refuse_ranks(what: str, job: str, options: RunOptions | None) -> None:
    """Refuse a call whose result only rank 0 would have.

    Raises:
        ConfigError: there are several ranks.
    """
    ranks = ranks_of(job, options or RunOptions())
    if ranks is not None and ranks.world > 1:
        raise ConfigError(
            f"{what} cannot run on {ranks.world} ranks of torchrun: only rank 0 writes the model",
            hint=f"torchrun ... -m samebits {job.replace('_', ' ').removesuffix(' train')} train, then load what it wrote",
        )


def _help(job: Job, config: Any, options: RunOptions, ranks: Ranks) -> RunRecord:
    """Train with the other ranks; what the job writes before and beside training goes to a folder that is thrown away."""
    # brings tempfile and shutil, which most runs do without
    from samebits.executors.run_folder import RunFolder

    started, started_at, planned = clock.seconds(), clock.utc_now(), job.plan(config)
    place = Place(
        workers=ranks.world,
        stall_timeout=options.stall_timeout,
        pin_cores=options.pin_cores,
        rank=ranks.rank,
        helps=True,
    )
    with (
        RunFolder() as scratch,
        open_executor(job, planned, options) as (executor, choice),
        one_math_thread(),
        closing(ArtifactWriter(scratch.path / "out", BadRows(options.max_bad))) as out,
        suppress(PartDone),
    ):
        job.run(planned, config, Engine(executor, plan=planned, place=place), out)
    return RunRecord(
        job=job.name,
        config=saved_fields(config),
        inputs=(),
        plan_digest=planned.digest,
        artifact_digest="",
        executor=executor.name,
        workers=executor.workers,
        why_workers=choice.sentence,
        started_at=started_at,
        seconds=clock.seconds() - started,
        stages={},
        peak_rss={"driver": own_peak(), "largest_child": 0},
        metrics={},
        environment=fingerprint(),
    )


def _num_threads(options: RunOptions, executor: Executor | None) -> int:
    """Return how many threads may read the inputs before the plan: as many as there will be workers."""
    if executor is not None:
        return executor.workers
    return 1 if options.executor == "serial" else options.num_workers() or look_at_machine().physical


def _drop_if_empty(folder: Path) -> None:
    """Leave no folder behind when a run ends before its first part."""
    if not (folder / "bad_rows.jsonl").exists() and not holds_work(folder):
        remove_journal(folder)


class _Session:
    """One run from journal to record."""

    def __init__(
        self,
        job: Job,
        planned: Plan,
        config: Any,
        options: RunOptions,
        output: Path,
        journal: Journal,
        observer: Observer,
        started: float,
    ) -> None:
        self.job = job
        self.plan = planned
        self.config = config
        self.options = options
        self.output = output
        self.journal = journal
        self.times = StageTimes()
        self.log = EventLog(journal.folder / "events.jsonl")
        self.observer = fan_out(self.times, self.log, observer)
        self.started_at = clock.utc_now()
        self.started = started

    def run(self, executor: Executor | None) -> RunRecord:
        with closing(self.log), closing(self.writer()) as out:
            with (
                open_executor(self.job, self.plan, self.options, executor, self.journal.folder / "spool") as (
                    workers,
                    choice,
                ),
                one_math_thread(),
                no_room_is_named(self.output),
            ):
                metrics = self.job.run(self.plan, self.config, self.engine(workers), out)
            return self.commit(out, workers, choice, metrics)

    def writer(self) -> ArtifactWriter:
        spill = self.journal.folder / "bad_rows.jsonl"
        return ArtifactWriter(
            self.output,
            BadRows(
                self.options.max_bad,
                spill=spill,
                observer=self.observer,
                column_flags=column_flags(self.config),
            ),
        )

    def engine(self, executor: Executor) -> Engine:
        for note in getattr(self.plan.inputs, "notes", ()):  # what the corpus left out, e.g. unknown suffixes
            self.observer(Warned(note))
        if self.journal.num_parts:
            self.observer(Warned(f"continuing: {self.journal.num_parts} finished parts found"))
        return Engine(
            executor,
            observer=self.observer,
            store=self.journal,
            plan=self.plan,
            retries=self.options.retries,
            recheck=self.options.recheck,
            stage_caps=self.options.stage_caps(),
            place=self.place(executor.workers),
        )

    def place(self, workers: int) -> Place:
        ranks = ranks_of(self.job, self.options)
        return Place(
            rank=ranks.rank if ranks else None,
            workers=workers,
            folder=checkpoint_folder(self.journal.folder),
            restarts=self.options.retries,
            stall_timeout=self.options.stall_timeout,
            pin_cores=self.options.pin_cores,
        )

    def commit(
        self, out: ArtifactWriter, executor: Executor, choice: Choice, metrics: dict[str, Any]
    ) -> RunRecord:
        record: RunRecord | None = None

        def finish(folder: Path, digest: str) -> None:
            nonlocal record
            record = self.record(digest, executor, choice, metrics)
            record.save(folder / "record.json")
            self.log.move_to(folder / "events.jsonl")
            self.journal.mark_done()

        out.commit(self.plan, saved_fields(self.config), finish=finish)
        assert record is not None
        return record

    def record(self, digest: str, executor: Executor, choice: Choice, metrics: dict[str, Any]) -> RunRecord:
        return RunRecord(
            job=self.job.name,
            config=saved_fields(self.config),
            inputs=tuple(
                str(Path(path).resolve()) if Path(path).exists() else path for path in self.config.inputs
            ),
            plan_digest=self.plan.digest,
            artifact_digest=digest,
            executor=executor.name,
            workers=executor.workers,
            why_workers=choice.sentence,
            started_at=self.started_at,
            seconds=clock.seconds() - self.started,
            stages=self.times.stages,
            peak_rss={"driver": own_peak(), "largest_child": getattr(executor, "largest_worker", 0)},
            metrics=metrics,
            environment=fingerprint(),
        )


@contextmanager
def open_executor(
    job: Job, planned: Plan, options: RunOptions, given: Executor | None = None, spool: Path | None = None
) -> Iterator[tuple[Executor, Choice]]:
    """Open the executor that the options ask for, with the number of workers they lead to, and close it after."""
    if given is not None:
        yield given, Choice(given.workers, f"{given.workers} workers: executor given")
        return
    name = job.default_executor if options.executor == "auto" else options.executor
    if options.address and name in EXECUTORS and name not in CLUSTERS:
        raise ConfigError(f"--address has no meaning for the executor {name!r}", hint="leave it out")
    if name in CLUSTERS and job.default_executor == "lockstep":
        raise ConfigError(
            f"{job.name} trains in lockstep, not on {name}",
            hint="leave -x out to use this machine; for several machines use torchrun (docs/guides/cluster.md)",
        )
    ranks = ranks_of(job, options)
    if ranks is not None:
        name, choice = "torchrun", Choice(ranks.world, f"{ranks.world} ranks of torchrun, each one worker")
    else:
        choice = choose_workers(
            1 if name == "serial" else options.num_workers(),
            num_shards=len(planned.shards),
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
            files=_files_of(planned.inputs) if name in CLUSTERS else (),
            spool=str(spool.absolute()) if spool else "",
        ),
    )
    if options.address:
        choice = Choice(executor.workers, f"{executor.workers} workers: the cluster at {options.address}")
    try:
        yield executor, choice
    except BaseException:
        executor.close(cancel=True)
        raise
    executor.close()


def _files_of(inputs: Any) -> tuple[tuple[str, int], ...]:
    """Return path and size of what tasks will read, where the inputs of a plan are a corpus or hold one."""
    if isinstance(inputs, tuple):
        return tuple(file for item in inputs for file in _files_of(item))
    from samebits.data.inputs.corpus import Corpus

    corpus = getattr(inputs, "corpus", inputs)  # a model may have files of its own: it travels with the state
    return corpus.files if isinstance(corpus, Corpus) else ()
