"""WHERE tasks run. One file each, behind one lazy table: a name is looked up only when somebody asks for it.

An executor is a place, never a policy: see ``core.executor`` for the contract and ``core.engine`` for order, retry and
resume. To add one, write a class with that contract and add a line to ``EXECUTORS``.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from samebits.errors import ConfigError, did_you_mean

if TYPE_CHECKING:  # the thread caps are set from here before NumPy may be loaded
    from samebits.core.executor import Executor

__all__ = ["EXECUTORS", "ExecutorOptions", "make_executor"]

EXECUTORS = {
    "serial": "samebits.executors.serial:SerialExecutor",
    "threads": "samebits.executors.threads:ThreadsExecutor",
    "processes": "samebits.executors.processes:ProcessesExecutor",
    "lockstep": "samebits.executors.lockstep:LockstepExecutor",
}


@dataclass(frozen=True, slots=True)
class ExecutorOptions:
    """What every executor is told when it is made."""

    workers: int = 1
    address: str = ""
    stall_timeout: float = 60.0
    pin_cores: bool = False


def make_executor(name: str, options: ExecutorOptions) -> Executor:
    """Make an executor by name.

    Raises:
        ConfigError: for an unknown name.
    """
    if name not in EXECUTORS:
        raise ConfigError(f"unknown executor {name!r}", hint=did_you_mean(name, EXECUTORS))
    module, _, cls = EXECUTORS[name].partition(":")
    executor: Executor = getattr(import_module(module), cls)(options)
    return executor
