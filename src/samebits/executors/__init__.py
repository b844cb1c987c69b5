"""WHERE tasks run. One file each, behind one lazy table: a name is looked up only when somebody asks for it.

An executor is a place, never a policy: see ``core.ports.executor`` for the contract and ``core.engine`` for order, retry and
resume. To add one, write a class with that contract and add a line to ``EXECUTORS``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from samebits.core.light_dataclass import dataclass
from samebits.core.ports.place import STALL_TIMEOUT
from samebits.errors import ConfigError, did_you_mean

if TYPE_CHECKING:  # the thread caps are set from here before NumPy may be loaded
    from samebits.core.ports.executor import Executor

__all__ = ["CLUSTERS", "ELSEWHERE", "EXECUTORS", "ExecutorOptions", "make_executor"]

EXECUTORS = {
    "serial": "samebits.executors.serial:SerialExecutor",
    "threads": "samebits.executors.threads:ThreadsExecutor",
    "processes": "samebits.executors.processes:ProcessesExecutor",
    "lockstep": "samebits.executors.lockstep:LockstepExecutor",
    "torchrun": "samebits.executors.lockstep:make_torchrun_executor",
    "dask": "samebits.executors.cluster.dask:DaskExecutor",
    "ray": "samebits.executors.cluster.ray:RayExecutor",
}
CLUSTERS = ("dask", "ray")  # those that may have an address
ELSEWHERE = ("processes", *CLUSTERS)  # those whose tasks run outside this process


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """What every executor is told when it is made.

    Attributes:
        workers: How many; 0 lets a cluster at an address say how many it has.
        address: Of a running cluster; empty starts one here.
        stall_timeout: Seconds without a sign of life before a worker counts as lost.
        pin_cores: Tie each worker process to one core.
        floating: The job computes with floating-point numbers, so every worker must have this CPU type.
        files: Inputs (path, bytes) that every worker must see.
        spool: Folder beside the output for large parts, if workers see it; empty for none.
    """

    workers: int = 1
    address: str = ""
    stall_timeout: float = STALL_TIMEOUT
    pin_cores: bool = False
    floating: bool = False
    files: tuple[tuple[str, int], ...] = ()
    spool: str = ""


def make_executor(name: str, options: ExecutorOptions) -> Executor:
    """Make an executor by name.

    Raises:
        ConfigError: for an unknown name.
        MissingExtra: if the engine behind the name is not installed.
        ClusterLost: if there is no cluster at the address.
        EnvironmentMismatch: if a worker of the cluster has other versions.
    """
    if name not in EXECUTORS:
        raise ConfigError(f"unknown executor {name!r}", hint=did_you_mean(name, EXECUTORS))
    module, _, cls = EXECUTORS[name].partition(":")
    executor: Executor = getattr(import_module(module), cls)(options)
    return executor
