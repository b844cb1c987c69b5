"""What Dask and Ray share, without either: checks of workers, the spool, what is in hand, and errors with a name."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import needs_extra
from tests.executors import tasks

from samebits.core.codec import decode
from samebits.core.plan import Shard
from samebits.core.ports.executor import Done, Failed
from samebits.errors import (
    ClusterLost,
    ConfigError,
    EnvironmentMismatch,
    InputError,
    MissingExtra,
    WorkerLost,
)
from samebits.executors import ExecutorOptions, make_executor
from samebits.executors.cluster import in_hand as hands
from samebits.executors.cluster import workers as cluster

SHARD = Shard(3, 0, 0, 1)


@pytest.fixture
def order(tmp_path: Path) -> cluster.WorkerOrders:
    return cluster.make_order(ExecutorOptions(spool=str(tmp_path / "spool")), None)


@pytest.fixture(autouse=True)
def _forget_loaded() -> None:
    cluster._loaded.clear()


@pytest.fixture(autouse=True)
def _no_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_one_math_thread", lambda: None)  # it is for worker processes, and stays


def answer(order: cluster.WorkerOrders, task: Any, state: Any = None) -> bytes:
    sent, value = cluster.packed_state((order, task)), cluster.packed_state(state)
    return cluster.work(
        (order.token + "-task", lambda: sent), (order.token + "-state", lambda: value), SHARD, "w1"
    )


def spooled(order: cluster.WorkerOrders) -> list[Path]:
    return list(Path(order.spool).glob(f"{order.token}-*"))


def test_a_small_part_comes_inline(order: cluster.WorkerOrders) -> None:
    outcome = cluster.open_answer(answer(order, tasks.AddState(), "s"), SHARD)
    assert isinstance(outcome, Done)
    assert decode(outcome.part) == {"index": 3, "start": 0, "state": "s"}
    assert spooled(order) == []


def test_a_large_part_is_a_file_beside_the_output_and_its_digest_is_checked(
    order: cluster.WorkerOrders,
) -> None:
    data = answer(order, tasks.BigPart(300_000))
    assert len(data) < 2000
    (path,) = spooled(order)
    outcome = cluster.open_answer(data, SHARD)
    assert isinstance(outcome, Done)
    assert np.array_equal(decode(outcome.part), np.full(300_000, 3, dtype=np.uint8))
    assert not path.exists()


def test_a_large_part_that_was_damaged_on_the_way_is_computed_again(order: cluster.WorkerOrders) -> None:
    data = answer(order, tasks.BigPart(300_000))
    (path,) = spooled(order)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.raises(WorkerLost) as caught:
        cluster.open_answer(data, SHARD)
    assert caught.value.shard == 3


def test_a_worker_that_does_not_see_the_spool_sends_the_part_itself(
    order: cluster.WorkerOrders, tmp_path: Path
) -> None:
    elsewhere = replace(order, spool=str(tmp_path / "elsewhere"))
    outcome = cluster.open_answer(answer(elsewhere, tasks.BigPart(300_000)), SHARD)
    assert isinstance(outcome, Done)
    assert len(outcome.part) > 300_000


def test_a_late_worker_with_another_version_fails_its_shard_with_the_right_name(
    order: cluster.WorkerOrders,
) -> None:
    libraries = {**order.environment["libraries"], "numpy": "0.1"}
    other = replace(order, environment={**order.environment, "libraries": libraries})
    outcome = cluster.open_answer(answer(other, tasks.AddState()), SHARD)
    assert isinstance(outcome, Failed)
    assert isinstance(outcome.error, EnvironmentMismatch)
    assert "the worker w1 has numpy" in outcome.error.message


@pytest.mark.parametrize("field", ["cpu", "simd"])
def test_another_cpu_is_refused_for_floating_jobs_only(order: cluster.WorkerOrders, field: str) -> None:
    looks = {"w1": cluster.Look({**order.environment, field: "another"}, ())}
    cluster.check_looks(order, looks)
    with pytest.raises(EnvironmentMismatch, match=f"the worker w1 has {field} another"):
        cluster.check_looks(replace(order, floating=True), looks)


def test_other_kernels_are_refused_on_the_same_architecture_only(order: cluster.WorkerOrders) -> None:
    other = {**order.environment, "kernels": "0123"}
    with pytest.raises(EnvironmentMismatch, match="kernels 0123"):
        cluster.check_looks(order, {"w1": cluster.Look(other, ())})
    cluster.check_looks(order, {"w1": cluster.Look({**other, "machine": "another"}, ())})


def test_an_input_that_a_worker_cannot_see_is_named_with_the_worker(
    order: cluster.WorkerOrders, tmp_path: Path
) -> None:
    there = tmp_path / "there.txt"
    there.write_text("abc")
    assert cluster.look([(str(there), 3)]).unseen == ()
    seen = cluster.look([(str(there), 4), (str(tmp_path / "gone.txt"), 1)])
    assert [reason for _, reason in seen.unseen] == [
        "it has 3 bytes there, 4 here",
        "No such file or directory",
    ]
    with pytest.raises(InputError, match=r"there\.txt: the worker w1 cannot see it"):
        cluster.check_looks(order, {"w1": seen})


def test_hands_tell_what_a_lost_worker_held(order: cluster.WorkerOrders) -> None:
    hands.take_up(order.spool, order.token, "w1", 7)
    assert hands.shards_in_hand(order.spool, lambda worker: worker == "w1") == {7}
    assert hands.shards_in_hand(order.spool, lambda worker: worker == "w2") is None
    hands.put_down()
    assert hands.shards_in_hand(order.spool, lambda worker: True) == {-1}


def test_a_state_that_cannot_be_sent_says_what_to_use_instead() -> None:
    import threading

    with pytest.raises(ConfigError, match="cannot be sent to a cluster") as caught:
        cluster.packed_state(threading.Lock())
    assert "threads" in caught.value.hint


@pytest.mark.parametrize(("name", "package"), [("dask", "distributed"), ("ray", "ray")])
def test_without_the_extra_the_error_is_the_line_to_type(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"samebits.executors.cluster.{name}", raising=False)
    with pytest.raises(MissingExtra) as caught:
        make_executor(name, ExecutorOptions())
    assert caught.value.hint == f"pip install 'samebits[{name}]'"


def test_an_address_without_a_scheduler_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    needs_extra("dask")
    monkeypatch.setattr("samebits.executors.cluster.dask.CONNECT_SECONDS", 1.0)
    with pytest.raises(ClusterLost, match="no Dask scheduler answers at tcp"):
        make_executor("dask", ExecutorOptions(address="tcp://127.0.0.1:1"))


def test_an_address_of_ray_client_is_refused_with_what_to_use() -> None:
    needs_extra("ray")
    with pytest.raises(ConfigError, match="Ray Client") as caught:
        make_executor("ray", ExecutorOptions(address="ray://somewhere:10001"))
    assert "auto" in caught.value.hint
