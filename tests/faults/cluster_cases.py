"""Faults of clusters: workers, schedulers and heads killed or stopped, workers with other versions, CPUs or full disks.

The first group disturbs a cluster that the run has started itself, the second one at an address. Each returns how the run
ended, with the number of faults that were injected.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

from tests.faults.clusters import Cluster, Node, cluster_workers, dask_cluster, kill_tree, ray_cluster
from tests.faults.job_cases import PAUSES
from tests.faults.scene import Ending, Scene, strike
from tests.netns import host

LEAST_KEPT = 2  # parts that must be there before a scheduler is killed, and afterwards


def all_cluster_workers_killed(scene: Scene) -> Ending:
    """All at once, twice."""
    process, faults = scene.start(shards=30, pause=0.1), 0
    for parts in (1, 10):
        scene.wait_for(lambda wanted=parts: scene.parts_done() >= wanted, process)  # type: ignore[misc]
        faults += sum(strike(pid, signal.SIGKILL) for pid in cluster_workers(process.pid))
    return replace(scene.end(process), faults=faults)


def worker_dies_in_one_shard(scene: Scene) -> Ending:
    """Twice killed with the same shard in hand, then let through."""
    return replace(scene.end(scene.start(fault="kill:5:2")), faults=scene.struck())


def shard_that_always_kills(scene: Scene) -> Ending:
    """Retried, concurrency halved once, then named: this shard and no other."""
    scene.options["retries"] = 1
    ending = scene.end(scene.start(fault="kill:5"))
    right = "shard 5" in ending.detail
    return replace(ending, faults=scene.struck()) if right else Ending("lost", ending.detail)


def worker_stopped_in_a_shard(scene: Scene) -> Ending:
    """SIGSTOP from within: taken out after the stall timeout, its shard tried again."""
    scene.options["stall_timeout"] = 4.0
    return replace(scene.end(scene.start(fault="stop:5:1")), faults=scene.struck())


def slow_worker(scene: Scene) -> Ending:
    """One shard takes three seconds longer; nobody is blamed."""
    return replace(scene.end(scene.start(fault="slow:5:1")), faults=scene.struck())


def driver_of_a_cluster_killed(scene: Scene) -> Ending:
    """kill -9 of the driver after a few parts; its cluster goes with it, and the same command goes on."""
    process = scene.start(shards=30, pause=0.1)
    scene.wait_for(lambda: scene.parts_done() >= 4, process)
    faults = strike(process.pid, signal.SIGKILL)
    process.communicate()
    if left := scene.orphans():
        return Ending("lost", f"left behind: {', '.join(left)}")
    return replace(scene.again(), faults=faults)


def cluster_of(scene: Scene, *nodes: Node) -> AbstractContextManager[Cluster]:
    """Return a cluster of the scene's kind with a healthy worker and those given."""
    if scene.options["executor"] == "dask":
        return dask_cluster(scene, Node(), *nodes)
    return ray_cluster(scene, *nodes)


def boss_killed(scene: Scene) -> Ending:
    """The scheduler or head: named within seconds; the same command goes on with this machine's own processes."""
    scene.pause = PAUSES.get(scene.job, 0.0)
    with cluster_of(scene, Node()) as cluster:
        process = scene.start(shards=40, pause=0.1)
        scene.wait_for(lambda: scene.parts_done() >= LEAST_KEPT, process)
        faults = strike(cluster.boss.pid, signal.SIGKILL)
        kill_tree(cluster.boss)
        return replace(named_then_again(scene, process), faults=faults)


def named_then_again(scene: Scene, process: subprocess.Popen[str]) -> Ending:
    """Take ClusterLost for the end of the first run and return that of the second, without the cluster."""
    first = scene.end(process)
    if not first.detail.startswith("ClusterLost"):
        return Ending("lost", f"expected ClusterLost: {first.detail}")
    if scene.parts_done() < LEAST_KEPT:
        return Ending("lost", "finished parts are gone")
    scene.options.update(executor="processes", address="")
    return scene.again()


def _refused(ending: Ending, words: str) -> Ending:
    right = ending.detail.startswith("EnvironmentMismatch") and words in ending.detail
    return ending if right else Ending("lost", ending.detail)


def worker_with_another_version(scene: Scene) -> Ending:
    """Refused before the first shard, naming worker and field."""
    with cluster_of(scene, Node("version")):
        ending = scene.end(scene.start())
    return _refused(ending, "samebits 0.0.9") if scene.parts_done() == 0 else Ending("lost", "it has begun")


def floating_job_with_another_cpu(scene: Scene) -> Ending:
    """Refused before the first shard, because equal bits are promised on one CPU type."""
    with cluster_of(scene, Node("cpu")):
        ending = scene.end(scene.start(floating=True))
    return _refused(ending, "cpu another CPU") if scene.parts_done() == 0 else Ending("lost", "it has begun")


def integer_job_with_another_cpu(scene: Scene) -> Ending:
    """Not refused: integers are the same everywhere."""
    with cluster_of(scene, Node("cpu")):
        return _by_both(scene, scene.end(scene.start(pause=0.1)))


def full_disk_on_one_worker(scene: Scene) -> Ending:
    """Its large parts cannot be spooled, so they come over the network."""
    with cluster_of(scene, Node("disk")):
        return _by_both(scene, scene.end(scene.start(part_bytes=200_000, pause=0.1)))


def _by_both(scene: Scene, ending: Ending) -> Ending:
    """Count a run only if the odd worker took part in it."""
    if ending.verdict != "same" or scene.num_workers_seen() >= 2:
        return ending
    return Ending("lost", "the odd worker had no shard")


def worker_at_an_address_stopped(scene: Scene) -> Ending:
    """SIGSTOP from within a worker that is not ours: taken out of the scheduler's list, or killed on its node."""
    scene.options["stall_timeout"] = 6.0
    with cluster_of(scene, Node()):
        return replace(scene.end(scene.start(fault="stop:5:1")), faults=scene.struck())


def _while_cut(scene: Scene, seconds: float) -> Callable[[], Ending]:
    """Return a run in which a worker on another host is cut off for so long; 0 means for good."""

    def run() -> Ending:
        with host() as far, cluster_of(scene, Node(host=far)):
            process = scene.start(shards=40, pause=0.2)
            scene.wait_for(lambda: scene.parts_done() >= LEAST_KEPT, process)
            far.cut()
            if seconds:
                time.sleep(seconds)
                far.mend()
            return scene.end(process)

    return run


def network_of_a_worker_cut(scene: Scene) -> Ending:
    """The cable of one worker's host is pulled: after the stall timeout its shards go to the other one."""
    scene.options["stall_timeout"] = 6.0
    return _while_cut(scene, 0)()


def network_of_a_worker_gone_for_a_while(scene: Scene) -> Ending:
    """The cable is back before anybody's patience ends: the run waits, and nobody is blamed."""
    scene.options["stall_timeout"] = 30.0
    return _while_cut(scene, 2.0)()


def driver_cut_off(scene: Scene) -> Ending:
    """The whole cluster is behind the cable: ClusterLost, and the same command goes on without it."""
    scene.options["stall_timeout"] = 6.0
    with host() as far, dask_cluster(scene, Node(host=far), Node(host=far), boss_host=far):
        process = scene.start(shards=40, pause=0.2)
        scene.wait_for(lambda: scene.parts_done() >= LEAST_KEPT, process)
        far.cut()
        return named_then_again(scene, process)
