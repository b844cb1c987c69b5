"""The fault table: which case is played on which executor and with which job. Played by pytest and by ``make chaos``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.faults import cases, job_cases
from tests.faults import cluster_cases as clusters
from tests.faults import fold_cases as folds
from tests.faults import hostile_cases as hostile
from tests.faults import rank_cases as ranks
from tests.faults import training_cases as training
from tests.faults.disks import can_mount
from tests.faults.scene import Ending, Scene
from tests.netns import why_no_hosts
from tests.small_jobs import SMALL_JOBS

from samebits.executors import CLUSTERS

__all__ = ["CASES", "Case"]

MAP_JOBS = [name for name, job in SMALL_JOBS.items() if not job.lockstep and job.least_shards]
MANY_SHARDS = ("count", "tokens_train")  # one thread computes a window of four before it keeps the first part
TRAINING = [name for name, job in SMALL_JOBS.items() if job.lockstep]


@dataclass(frozen=True)
class Case:
    """One line of the table; quick ones run with every test run, ``tries`` is for ``make chaos``.

    Attributes:
        play: Disturbs a run and returns how it ended.
        wanted: The verdict it must end with.
        mounts: Needs a small disk.
        hosts: Needs network namespaces.
        job: A real job, or empty for the slow one.
        either: Chance may hit one shard too often: then WorkerLost is right too.
        shares: ``make chaos`` plays it on one cluster with others of its kind; alone, the run starts its own.
    """

    play: Callable[[Scene], Ending]
    tries: int = 1
    quick: bool = False
    wanted: str = "same"
    mounts: bool = False
    hosts: bool = False
    executor: str = "processes"
    job: str = ""
    either: bool = False
    shares: bool = False

    @property
    def name(self) -> str:
        """Executor, job, and the function's name as words."""
        words = self.play.__name__.replace("_", " ")
        return f"{self.executor}: {self.job}, {words}" if self.job else f"{self.executor}: {words}"

    @property
    def lane(self) -> str:
        """Cases of one lane are played one after the other."""
        return f"{self.executor} shared" if self.shares else self.executor

    def why_not(self) -> str:
        """Return why it cannot be played here, or nothing."""
        if self.mounts and not can_mount():
            return "a small disk can only be mounted by root"
        return why_no_hosts() if self.hosts else ""


LOCAL = (
    Case(job_cases.workers_killed, tries=2),
    Case(cases.all_workers_killed, tries=8),
    Case(cases.worker_dies_in_one_shard),
    Case(cases.shard_that_always_kills, wanted="named"),
    Case(cases.memory_limit_once, quick=True),
    Case(cases.memory_limit_always, wanted="named"),
    Case(cases.worker_stopped),
    Case(cases.worker_stopped_always, wanted="named"),
    Case(cases.any_worker_stopped, tries=6),
    Case(cases.driver_killed, tries=20, quick=True),
    Case(cases.driver_and_workers_killed, tries=8),
    Case(cases.torn_journal, tries=10, quick=True),
    Case(cases.interrupted, tries=8, quick=True),
    Case(cases.interrupted_while_starting, tries=8),
    Case(cases.interrupted_twice, quick=True, executor="threads"),
    Case(cases.disk_full_in_journal, mounts=True),
    Case(cases.disk_full_in_output, quick=True, mounts=True),
    Case(cases.temporary_disk_full, wanted="named", mounts=True),
    Case(cases.file_size_limit, quick=True, executor="threads"),
    Case(cases.reader_fails, wanted="named"),
    Case(cases.task_raises, wanted="named"),
    Case(cases.two_runs_on_one_output, quick=True),
    Case(cases.not_deterministic, wanted="named"),
)

HOSTILE = (
    *(
        Case(hostile.driver_killed_again_and_again, executor=executor, tries=2)
        for executor in ("serial", "threads", "processes")
    ),
    Case(hostile.pipeline_killed_again_and_again, tries=3),
    Case(hostile.served_run_killed, tries=3),
    Case(hostile.few_descriptors, quick=True, executor="serial", tries=2),
    Case(hostile.few_descriptors, tries=2),
    Case(hostile.little_memory, executor="serial", tries=2),
    Case(hostile.signals_all_the_time, quick=True, executor="serial", tries=2),
    Case(hostile.signals_all_the_time, tries=2),
    Case(hostile.clock_jumps, executor="serial", tries=2),
    Case(hostile.clock_jumps, tries=2),
)

REAL_JOBS = (
    *(
        Case(job_cases.workers_killed, executor=executor, job=job, shares=executor in CLUSTERS)
        for executor in ("processes", *CLUSTERS)
        for job in MAP_JOBS
    ),
    *(
        Case(
            job_cases.driver_killed_in_a_job,
            executor="serial" if job in MANY_SHARDS else "threads",
            job=job,
            quick=job in ("graph", "tokens"),
        )
        for job in MAP_JOBS
    ),
)

LOCKSTEP = tuple(
    case
    for job in TRAINING
    for case in (
        Case(training.training_workers_killed, executor="lockstep", job=job),
        Case(training.training_worker_stopped, executor="lockstep", job=job),
        Case(training.driver_killed_in_training, executor="lockstep", job=job),
        Case(training.checkpoint_cut_short, executor="lockstep", job=job),
        Case(training.disk_full_in_training, executor="lockstep", job=job, mounts=True),
    )
)

TORCHRUN = tuple(
    case
    for job in TRAINING
    for case in (
        Case(ranks.rank_killed, tries=2, executor="torchrun", job=job),
        Case(ranks.worker_of_a_rank_killed, executor="torchrun", job=job),
        Case(ranks.rank_stopped, executor="torchrun", job=job),
        Case(ranks.network_of_a_rank_cut, executor="torchrun", job=job, hosts=True),
        Case(ranks.rank_with_other_instructions, executor="torchrun", job=job),
    )
)

ON_CLUSTERS = tuple(
    case
    for name in CLUSTERS
    for case in (
        Case(clusters.all_cluster_workers_killed, executor=name),
        Case(clusters.worker_dies_in_one_shard, executor=name),
        Case(clusters.shard_that_always_kills, executor=name, wanted="named"),
        Case(clusters.worker_stopped_in_a_shard, executor=name),
        Case(clusters.slow_worker, executor=name),
        Case(clusters.driver_of_a_cluster_killed, executor=name),
        Case(clusters.boss_killed, executor=name),
        Case(clusters.boss_killed, executor=name, job="tokens" if name == "dask" else "graph"),
        Case(clusters.worker_with_another_version, executor=name, wanted="named", quick=name == "dask"),
        Case(clusters.floating_job_with_another_cpu, executor=name, wanted="named"),
        Case(clusters.floating_job_with_another_cpu, executor=name, job="charset_decode", wanted="named"),
        Case(clusters.integer_job_with_another_cpu, executor=name),
        Case(clusters.full_disk_on_one_worker, executor=name),
        Case(clusters.worker_at_an_address_stopped, executor=name),
        Case(clusters.network_of_a_worker_cut, executor=name, hosts=True),
    )
)

FOLDS = tuple(
    Case(play, executor=name, job=job)
    for name in CLUSTERS
    for job in folds.FOLDING_JOBS
    for play in (folds.holder_of_parts_dies, folds.reducer_dies, folds.driver_killed_in_a_fold)
)

NETWORK = (
    Case(clusters.network_of_a_worker_gone_for_a_while, executor="dask", hosts=True),
    Case(clusters.driver_cut_off, executor="dask", hosts=True),
)

CASES = (*LOCAL, *HOSTILE, *REAL_JOBS, *LOCKSTEP, *TORCHRUN, *ON_CLUSTERS, *FOLDS, *NETWORK)
