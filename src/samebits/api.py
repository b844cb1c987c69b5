"""Plan a job, run it, verify what it made: the library's front door, and all the command line calls.

``run`` is the one place where WHAT (job, config) and WHERE (options) meet::

    record = samebits.run("count", CountConfig(inputs=("book.txt",)), output="counts")
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext, suppress
from dataclasses import replace
from functools import partial
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
from samebits.data.inputs.reading import reading_by
from samebits.data.journal import (
    Journal,
    checkpoint_folder,
    holds_work,
    journal_folder,
    parts_folder,
    remove_finished,
    remove_journal,
)
from samebits.data.lock import OutputLock
from samebits.data.readers.missing_columns import column_flags, missing_columns_named
from samebits.errors import ConfigError, Interrupted, TooManyBadRows
from samebits.jobs import get_job
from samebits.machine.caps import one_math_thread
from samebits.machine.environment import fingerprint
from samebits.machine.memory import own_peak
from samebits.machine.ranks import Ranks
from samebits.workers import Workers, files_of, open_executor, ranks_of_job

if TYPE_CHECKING:
    from samebits.progress.notebook import Show
    from samebits.url_output import UrlOutput

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
        output: The folder to make, or a URL that fsspec can write (``samebits.url_output``).
        options: How to compute it; never changes the result.
        observer: Told of every event.
        executor: An executor of your own, e.g. one of ``samebits.testing``; closed by you.
        progress: Show progress: True, False, or "auto" for notebooks only.

    Raises:
        SamebitsError: one of its subclasses; finished parts are kept for the next call.
    """
    job, options = _job(job), options or RunOptions()
    options.check_stages(job.stages if options.stage_workers else ())
    config = with_listed_paths(config)
    ranks = ranks_of(job, options)
    if ranks is not None and not ranks.writes:
        return _help(job, config, options, ranks)
    here = partial(_run_here, job, config, observer=observer, executor=executor, progress=progress)
    if ":/" not in str(output):
        return here(options, Path(output))
    from samebits.url_output import UrlOutput, as_path, is_url  # few outputs are URLs

    if not is_url(output):
        return here(options, as_path(output))
    return _run_to_url(UrlOutput(str(output)), job, config, options, here)


def _run_here(
    job: Job,
    config: Any,
    options: RunOptions,
    output: Path,
    *,
    observer: Observer,
    executor: Executor | None,
    progress: Show,
) -> RunRecord:
    """Run into a local folder."""
    remove_finished(output)
    check_output(output, overwrite=options.overwrite)
    started = clock.seconds()
    folder = journal_folder(output)
    lock = OutputLock(folder / "lock", output=output)
    try:
        check_output(output, overwrite=options.overwrite)  # the holder before us may have made it meanwhile
        with _shown(progress, observer) as told, missing_columns_named(column_flags(config)):
            times = StageTimes()
            watch = fan_out(times, told)
            with Workers(job, options, given=executor, spool=folder / "spool", observer=watch) as workers:
                with reading_by(workers.reading_threads, workers.hashing):
                    planned = job.plan(config)
                journal = Journal(folder, planned, resume=options.resume, settings=saved_fields(config))
                session = _Session(job, planned, config, options, output, journal, watch, started)
                record = session.run(workers, times)
        journal.remove()
        return record
    except BaseException as error:
        _drop_if_empty(folder)
        if not isinstance(error, KeyboardInterrupt):
            raise
        raise Interrupted("interrupted; finished parts are kept", hint="the same command continues") from None
    finally:
        lock.release()


def _run_to_url(
    remote: UrlOutput,
    job: Job,
    config: Any,
    options: RunOptions,
    here: Callable[[RunOptions, Path], RunRecord],
) -> RunRecord:
    """Run into the staging folder of a URL and upload what was made; a run whose upload broke off is not repeated."""
    with remote.locked():
        remote.check(overwrite=options.overwrite)
        if remote.is_staged and options.resume:
            found = RunRecord(**remote.record())
            if found.plan_digest == job.plan(config).digest:
                remote.upload()
                return found
        record = here(replace(options, overwrite=True), remote.staged)
        remote.upload()
    return record


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
    return ranks_of_job(_job(job), options)


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
        self.log = EventLog(journal.folder / "events.jsonl")
        self.observer = fan_out(self.log, observer)
        self.started_at = clock.utc_now()
        self.started = started

    def run(self, workers: Workers, times: StageTimes) -> RunRecord:
        try:
            with closing(self.log), closing(self.writer()) as out:
                with one_math_thread(), no_room_is_named(self.output):
                    executor = workers.open(len(self.plan.shards), files_of(self.plan.inputs))
                    metrics = self.job.run(self.plan, self.config, self.engine(executor), out)
                if not workers.on_cluster:  # those of a cluster clean up after themselves
                    workers.close()
                record = self.commit(out, executor, workers.choice.sentence, times, metrics)
                if workers.on_cluster:
                    from samebits.data.folding.removing import remove_on_workers  # few runs are on clusters

                    remove_on_workers(executor, parts_folder(self.journal.folder), self.plan.digest)
                return record
        except TooManyBadRows as error:
            if error.num_bad == error.num_read:  # a wrong column, say: nothing here is worth keeping
                self.journal.forget_parts()
            raise
        finally:
            self.journal.close()

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
            parts=parts_folder(self.journal.folder),
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
        self, out: ArtifactWriter, executor: Executor, why: str, times: StageTimes, metrics: dict[str, Any]
    ) -> RunRecord:
        record: RunRecord | None = None

        def finish(folder: Path, digest: str) -> None:
            nonlocal record
            record = self.record(digest, executor, why, times, metrics)
            record.save(folder / "record.json")
            self.log.move_to(folder / "events.jsonl")
            self.journal.mark_done()

        out.commit(self.plan, saved_fields(self.config), finish=finish)
        assert record is not None
        return record

    def record(
        self, digest: str, executor: Executor, why: str, times: StageTimes, metrics: dict[str, Any]
    ) -> RunRecord:
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
            why_workers=why,
            started_at=self.started_at,
            seconds=clock.seconds() - self.started,
            stages=times.stages,
            peak_rss={"driver": own_peak(), "largest_child": getattr(executor, "largest_worker", 0)},
            metrics=metrics,
            environment=fingerprint(),
        )
