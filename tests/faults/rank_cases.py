"""Faults of ranks of torchrun: one killed or stopped, its worker killed, its cable pulled, or with other instructions.

The jobs are those of ``training_cases``. A lost rank ends all others with a named error; then the same command goes on with
another number of ranks, or without torchrun, and must end with the digest of one undisturbed worker. Ranks are started by
the variables of torchrun, because a launcher that ends all ranks when one is lost would hide what they do by themselves.
"""

from __future__ import annotations

import signal
import subprocess
from dataclasses import replace

import psutil
from tests.faults.scene import Ending, Scene, strike
from tests.faults.training_cases import LONGER, wait_for_steps
from tests.lockstep.launch import free_port
from tests.netns import Host, host

from samebits.machine.ranks import VARIABLES

__all__ = [
    "network_of_a_rank_cut",
    "rank_killed",
    "rank_stopped",
    "rank_with_other_instructions",
    "worker_of_a_rank_killed",
]

STALL_SECONDS = 10.0  # on a busy machine torch takes seconds to load


Drivers = list[subprocess.Popen[str]]  # of one run, by rank


def _start(
    scene: Scene, world: int, *, far: Host | None = None, odd: dict[str, str] | None = None
) -> Drivers:
    """Start ranks; with ``far`` the last one is on that host, and ``odd`` are variables of the last one alone."""
    scene.settings = LONGER[scene.job]
    scene.options.update(executor="torchrun", workers="auto")
    port, found = str(free_port()), list[subprocess.Popen[str]]()
    for rank in range(world):
        is_last = rank == world - 1
        address = far.here if far else "127.0.0.1"
        scene.environment = dict(zip(VARIABLES, (str(rank), str(world), address, port), strict=True))
        if far:
            scene.environment["GLOO_SOCKET_IFNAME"] = "eth0" if is_last else far.name
        if is_last:
            scene.environment |= odd or {}
        found.append(scene.start(host=far if is_last else None))
    scene.environment = {}
    return found


def _named(scene: Scene, ranks: Drivers, *names: str) -> Ending | None:
    """Return what is wrong unless each of these ranks has ended with one of these errors."""
    for ending in [scene.end(process) for process in ranks]:
        if ending.verdict != "named" or not ending.detail.startswith(names):
            return Ending("hung" if ending.verdict == "hung" else "lost", f"not named: {ending.detail}")
    return None


def _again(scene: Scene, world: int) -> Ending:
    """Give the command once more, to so many ranks."""
    return _together(scene, _start(scene, world))


def _together(scene: Scene, ranks: Drivers) -> Ending:
    """Return how ranks end that should all succeed; rank 0 alone has a digest to tell."""
    ending = scene.end(ranks[0])
    for rank in ranks[1:]:
        helped = scene.end(rank)
        if rank.returncode:
            return Ending("hung" if helped.verdict == "hung" else "lost", f"a helping rank: {helped.detail}")
    return ending


def rank_killed(scene: Scene) -> Ending:
    """kill -9 of a random rank of three: named by the two others, and two ranks go on."""
    ranks = _start(scene, 3)
    wait_for_steps(scene, ranks[0], 1)
    lost = int(scene.pick.integers(3))
    faults = strike(ranks[lost].pid, signal.SIGKILL)
    ranks[lost].communicate()
    wrong = _named(scene, [*ranks[:lost], *ranks[lost + 1 :]], "WorkerLost", "ClusterLost")
    return wrong or replace(_again(scene, 2), faults=faults)


def worker_of_a_rank_killed(scene: Scene) -> Ending:
    """kill -9 of the process that computes for a rank: named by all, and three ranks go on instead of two."""
    ranks = _start(scene, 2)
    wait_for_steps(scene, ranks[0], 1)
    rank = psutil.Process(ranks[int(scene.pick.integers(2))].pid)
    faults = sum(strike(child.pid, signal.SIGKILL) for child in rank.children())
    wrong = _named(scene, ranks, "WorkerLost")
    return wrong or replace(_again(scene, 3), faults=faults)


def rank_stopped(scene: Scene) -> Ending:
    """SIGSTOP: named by the other after the stall timeout; the run goes on without torchrun."""
    scene.options["stall_timeout"] = STALL_SECONDS
    ranks = _start(scene, 2)
    wait_for_steps(scene, ranks[0], 1)
    stopped = int(scene.pick.integers(2))
    faults = strike(ranks[stopped].pid, signal.SIGSTOP)
    wrong = _named(scene, [ranks[1 - stopped]], "WorkerLost")
    strike(ranks[stopped].pid, signal.SIGCONT)
    wrong = wrong or _named(scene, [ranks[stopped]], "WorkerLost", "ClusterLost")
    scene.options.update(executor="auto", workers="2")
    return wrong or replace(scene.again(), faults=faults)


def network_of_a_rank_cut(scene: Scene) -> Ending:
    """The cable of one rank's host is pulled: both sides say so, and two ranks of this machine go on."""
    scene.options["stall_timeout"] = STALL_SECONDS
    with host() as far:
        ranks = _start(scene, 2, far=far)
        wait_for_steps(scene, ranks[0], 1)
        far.cut()
        wrong = _named(scene, ranks, "WorkerLost", "ClusterLost")
    return wrong or _again(scene, 2)


def rank_with_other_instructions(scene: Scene) -> Ending:
    """A CPU of another kind among the ranks, without vectors: nothing changes."""
    return _together(scene, _start(scene, 2, odd={"SAMEBITS_ISA": "scalar"}))
