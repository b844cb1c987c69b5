"""Ranks on two hosts: this machine and one in a network namespace, joined by a cable that can be pulled."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import netns
from tests.lockstep import rank_main
from tests.lockstep.launch import endings, start_fit

from samebits.lockstep.parent.checkpoints import steps_in

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def far() -> Iterator[netns.Host]:
    """The other host."""
    if reason := netns.why_no_hosts():
        pytest.skip(reason)
    with netns.host() as found:
        yield found


def start(far: netns.Host, there: list[bool], given: dict[str, Any]) -> list[subprocess.Popen[str]]:
    """Start ranks; ``there`` says which are on the other host."""
    near, away = {"GLOO_SOCKET_IFNAME": far.name}, {"GLOO_SOCKET_IFNAME": "eth0"}
    return start_fit(
        len(there),
        given,
        before={rank: far.command() for rank, is_there in enumerate(there) if is_there},
        variables={rank: away if is_there else near for rank, is_there in enumerate(there)},
        address=far.there if there[0] else far.here,
    )


@pytest.mark.slow
def test_a_pulled_cable_is_named_on_both_sides_and_the_run_goes_on_with_the_same_bits(
    far: netns.Host, tmp_path: Path
) -> None:
    whole = rank_main.told(rank_main.fit({}, steps=40, options={"workers": "1"}))
    folder = tmp_path / "c"
    given = {"steps": 40, "checkpoint": str(folder), "options": {"stall_timeout": 3.0}}
    ranks = start(far, [False, True, True], {**given, "net": {"slow": 0.02}})
    until = time.monotonic() + 60
    while not steps_in(folder) and time.monotonic() < until:
        time.sleep(0.02)
    far.cut()
    found = endings(ranks)
    assert [row["error"] for row in found] == ["WorkerLost", "ClusterLost", "ClusterLost"], found
    assert found[0]["message"].startswith(("rank 1 (shards 2-3) was lost", "rank 2 (shards 4-6) was lost"))
    assert found[1]["message"].startswith("rank 1 is cut off at step ")
    assert f"the rendezvous at {far.here}:" in found[1]["message"]
    assert all("the same torchrun command again" in row["hint"] for row in found)
    assert steps_in(folder)[0] < 40

    far.mend()
    again = endings(start(far, [True, False], {**given, "net": {}}))
    assert [{**row, "events": 0} for row in again] == [{**whole, "events": 0}] * 2, "the other way round"
