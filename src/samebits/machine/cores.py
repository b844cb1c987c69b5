"""How many workers, and why: usable CPUs, the quota of a container, memory, and the number of shards.

``os.cpu_count()`` is what the hardware has, not what this process may use: a container with a quota of 2 on a machine
with 64 CPUs would start 64 workers and be slower for it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

__all__ = ["Choice", "Machine", "choose_workers", "free_bytes", "look_at_machine"]

CGROUP = Path("/sys/fs/cgroup")
TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/"
MEMORY_SHARE = 0.8  # of what is free; the rest is for the page cache and for everybody else
NO_LIMIT = 1 << 60  # cgroup v1 writes a huge number when there is no limit


class Machine(NamedTuple):
    """What this process may use.

    Attributes:
        visible: CPUs in the affinity mask.
        physical: Physical cores among them (hyper-threads counted once), at least 1.
        quota: CPUs allowed by the container, or None.
        free_bytes: Memory that can be used without swapping, within the container's limit.
    """

    visible: int
    physical: int
    quota: float | None
    free_bytes: int


class Choice(NamedTuple):
    """A number of workers and the sentence that explains it."""

    workers: int
    sentence: str


def look_at_machine(cgroup: Path = CGROUP, proc: Path = Path("/proc")) -> Machine:
    """Read affinity, container limits and free memory."""
    visible, physical = _cpus()
    free = free_bytes()
    limit = _memory_left(cgroup, proc)
    return Machine(
        visible, max(1, physical), _cpu_quota(cgroup, proc), min(free, limit) if limit is not None else free
    )


def _cpus() -> tuple[int, int]:
    """Count the CPUs of the affinity mask, and the cores among them by the sets of hyper-threads that Linux lists.

    psutil knows both on other systems; loading it costs 30 ms, a tenth of a short command.
    """
    if hasattr(os, "sched_getaffinity"):
        numbers = os.sched_getaffinity(0)
        cores = {_siblings(number) for number in numbers}
        if None not in cores:
            return len(numbers), len(cores)
    import psutil

    visible = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1
    return visible, min(visible, psutil.cpu_count(logical=False) or visible)


def _siblings(number: int) -> str | None:
    folder = Path(TOPOLOGY.format(number))
    # the second is the older name
    return _read(folder / "core_cpus_list") or _read(folder / "thread_siblings_list")


def free_bytes() -> int:
    """Return the memory that can be had without swapping."""
    for line in (_read(Path("/proc/meminfo")) or "").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    import psutil

    return int(psutil.virtual_memory().available)


def choose_workers(
    requested: int | None, *, num_shards: int, machine: Machine | None = None, bytes_per_worker: int = 0
) -> Choice:
    """Choose the number of workers; never more than there are shards.

    Without ``machine`` this one is looked at, unless a number is asked for: 2 ms of a run of 200.

    >>> machine = Machine(visible=16, physical=16, quota=8.0, free_bytes=12_000_000_000)
    >>> choose_workers(None, num_shards=100, machine=machine, bytes_per_worker=1_100_000_000).sentence
    '8 workers: 16 CPUs visible, quota 8, 12.0 GB free at 1.1 GB each'
    """
    most = max(1, num_shards)
    if requested is not None:
        workers = min(requested, most)
        if workers == requested:
            return Choice(workers, f"{_count(workers)} (as requested)")
        return Choice(workers, f"{_count(workers)}: {requested} requested, {_only(num_shards)}")
    machine = machine or look_at_machine()
    limits = [machine.physical, most]
    if machine.quota is not None:
        limits.append(max(1, round(machine.quota)))
    if bytes_per_worker:
        limits.append(max(1, int(MEMORY_SHARE * machine.free_bytes / bytes_per_worker)))
    return Choice(min(limits), f"{_count(min(limits))}: {_explain(machine, num_shards, bytes_per_worker)}")


def _count(workers: int) -> str:
    return "1 worker" if workers == 1 else f"{workers} workers"


def _only(num_shards: int) -> str:
    return f"only {num_shards} shard{'' if num_shards == 1 else 's'}"


def _explain(machine: Machine, num_shards: int, bytes_per_worker: int) -> str:
    facts = [f"{machine.visible} CPUs visible" if machine.visible > 1 else "1 CPU visible"]
    if machine.physical < machine.visible:
        facts.append(f"{machine.physical} physical")
    if machine.quota is not None:
        facts.append(f"quota {machine.quota:g}")
    if num_shards < machine.physical:
        facts.append(_only(num_shards))
    if bytes_per_worker:
        facts.append(f"{machine.free_bytes / 1e9:.1f} GB free at {bytes_per_worker / 1e9:.1f} GB each")
    return ", ".join(facts)


def _own_groups(cgroup: Path, proc: Path, controller: str) -> list[Path]:
    """Return this process's control group folders, innermost first, for cgroup v2 or a v1 controller."""
    try:
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    except OSError:
        lines = []
    found = []
    for _, names, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if names == "" or controller in names.split(","):
            root = cgroup if names == "" else cgroup / controller
            inner = root / path.lstrip("/")
            found += [inner, *[p for p in inner.parents if p == root or root in p.parents]]
    return [*found, cgroup, cgroup / controller]


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


def _number(text: str | None) -> int | None:
    """Read a whole number above 0; ``max``, ``-1`` and anything strange mean that there is no limit.

    >>> _number("100000"), _number("max"), _number("-1"), _number(None)
    (100000, None, None, None)
    """
    return int(text) if text and text.isdecimal() and int(text) > 0 else None


def _cpu_quota(cgroup: Path, proc: Path) -> float | None:
    """Return the tightest CPU quota of this process's groups (v2 ``cpu.max``, v1 ``cpu.cfs_quota_us``)."""
    quotas = []
    for group in _own_groups(cgroup, proc, "cpu"):
        limit_v2, _, period_v2 = (_read(group / "cpu.max") or "").partition(" ")
        limit_v1, period_v1 = _read(group / "cpu.cfs_quota_us"), _read(group / "cpu.cfs_period_us")
        for limit, period in (
            (_number(limit_v2), _number(period_v2)),
            (_number(limit_v1), _number(period_v1)),
        ):
            if limit and period:
                quotas.append(limit / period)
    return min(quotas) if quotas else None


def _memory_left(cgroup: Path, proc: Path) -> int | None:
    """Return the tightest memory limit minus what is used of it, or None without a limit."""
    left = []
    files = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
    for group in _own_groups(cgroup, proc, "memory"):
        for limit_name, used_name in files:
            limit, used = _number(_read(group / limit_name)), _number(_read(group / used_name))
            if limit and limit < NO_LIMIT:
                left.append(max(0, limit - (used or 0)))
    return min(left) if left else None
