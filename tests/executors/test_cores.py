"""How many workers, and why: fake control groups of both versions, memory caps, and the sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from samebits.machine.cores import Choice, Machine, choose_workers, look_at_machine

BIG = Machine(visible=16, physical=8, quota=None, free_bytes=64_000_000_000)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")


def look(tmp_path: Path, group: str, files: dict[str, str]) -> Machine:
    write(tmp_path, {"proc/self/cgroup": group})
    write(tmp_path / "cgroup", files or {"nothing": ""})
    return look_at_machine(tmp_path / "cgroup", tmp_path / "proc")


def test_a_quota_of_cgroup_v2_is_found_in_the_own_group(tmp_path: Path) -> None:
    machine = look(tmp_path, "0::/app/job", {"app/job/cpu.max": "150000 100000", "cpu.max": "max 100000"})
    assert machine.quota == 1.5


def test_the_tightest_quota_of_all_parents_counts(tmp_path: Path) -> None:
    files = {"app/job/cpu.max": "400000 100000", "app/cpu.max": "200000 100000"}
    assert look(tmp_path, "0::/app/job", files).quota == 2.0


def test_inside_a_container_the_own_group_is_the_root(tmp_path: Path) -> None:
    assert look(tmp_path, "0::/", {"cpu.max": "300000 100000"}).quota == 3.0


def test_a_quota_of_cgroup_v1_is_found(tmp_path: Path) -> None:
    files = {"cpu/box/cpu.cfs_quota_us": "50000", "cpu/box/cpu.cfs_period_us": "100000"}
    assert look(tmp_path, "4:cpu,cpuacct:/box\n3:memory:/box", files).quota == 0.5


def test_minus_one_is_no_quota_in_cgroup_v1(tmp_path: Path) -> None:
    files = {"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}
    assert look(tmp_path, "4:cpu:/", files).quota is None


def test_no_control_group_is_no_limit(tmp_path: Path) -> None:
    assert look_at_machine(tmp_path / "none", tmp_path / "none").quota is None


@pytest.mark.parametrize(
    ("group", "files"),
    [
        ("0::/x", {"x/memory.max": "3000000", "x/memory.current": "1000000"}),
        (
            "9:memory:/x",
            {"memory/x/memory.limit_in_bytes": "3000000", "memory/x/memory.usage_in_bytes": "1000000"},
        ),
    ],
)
def test_memory_left_in_the_container_is_the_limit_minus_what_is_used(
    tmp_path: Path, group: str, files: dict[str, str]
) -> None:
    assert look(tmp_path, group, files).free_bytes == 2_000_000


def test_a_huge_limit_of_cgroup_v1_is_none(tmp_path: Path) -> None:
    files = {"memory/memory.limit_in_bytes": "9223372036854771712", "memory/memory.usage_in_bytes": "5"}
    free = look(tmp_path, "9:memory:/", files).free_bytes
    assert 5 < free < 1 << 60


@pytest.mark.parametrize("text", ["", "garbage", "max", "100000", "1 0", "-5 100000", "x y"])
def test_a_strange_quota_file_is_no_quota(tmp_path: Path, text: str) -> None:
    assert look(tmp_path, "0::/", {"cpu.max": text}).quota is None


@pytest.mark.parametrize("text", ["garbage", "0::", ":::", "0", "0::/../../.."])
def test_a_strange_group_line_is_no_group(tmp_path: Path, text: str) -> None:
    assert look(tmp_path, text, {}).quota is None


def test_auto_takes_physical_cores() -> None:
    assert choose_workers(None, num_shards=100, machine=BIG) == Choice(
        8, "8 workers: 16 CPUs visible, 8 physical"
    )


def test_a_quota_below_one_still_gives_a_worker() -> None:
    machine = BIG._replace(quota=0.2)
    assert choose_workers(None, num_shards=9, machine=machine).workers == 1


def test_memory_caps_the_number_of_workers() -> None:
    machine = BIG._replace(free_bytes=5_000_000_000)
    choice = choose_workers(None, num_shards=100, machine=machine, bytes_per_worker=1_000_000_000)
    assert choice == Choice(4, "4 workers: 16 CPUs visible, 8 physical, 5.0 GB free at 1.0 GB each")


def test_no_memory_at_all_still_gives_a_worker() -> None:
    machine = BIG._replace(free_bytes=0)
    assert choose_workers(None, num_shards=9, machine=machine, bytes_per_worker=1).workers == 1


def test_no_more_workers_than_shards() -> None:
    assert choose_workers(None, num_shards=3, machine=BIG).workers == 3
    assert choose_workers(64, num_shards=3, machine=BIG) == Choice(
        3, "3 workers: 64 requested, only 3 shards"
    )
    assert choose_workers(64, num_shards=0, machine=BIG).workers == 1


def test_what_was_asked_for_is_given() -> None:
    assert choose_workers(64, num_shards=100, machine=BIG) == Choice(64, "64 workers (as requested)")


def test_this_machine_has_at_least_one_of_everything() -> None:
    machine = look_at_machine()
    assert machine.visible >= machine.physical >= 1
    assert machine.free_bytes > 0
