"""What a log says does not depend on the pieces it is read in, and costs the same memory however long it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samebits.core.observing.events import Event, Metric, ShardDone, StageDone, StageStarted, Warned
from samebits.data.event_log import event_line
from samebits.kernels.serve.events import scan_events
from samebits.serve.live.progress import RunProgress
from samebits.serve.runs.follow import Follower


def training(steps: int, first: int = 0) -> list[Event]:
    events: list[Event] = [StageStarted("train", steps, steps * 10, "tokens", "steps")]
    if first:
        events.append(ShardDone("train", first - 1, first * 10, 5.0, 0.0, "", "", True))
    for step in range(first, steps):
        events += [Metric("loss", 4.0 - step / steps), Metric("lr", 0.001)]
        events.append(ShardDone("train", step, 10, 5.0 + step / 10, 0.1, "", "", False))
        if step % 5 == 4:
            events.append(Metric("val_loss", 5.0 - step / steps))
    return events


def progress_of(events: list[Event], size: int = 1 << 20) -> RunProgress:
    found, lines = RunProgress(), [event_line(event) for event in events]
    piece = b""
    for line in lines:
        piece += line
        if len(piece) >= size:
            found.take(piece)
            piece = b""
    if piece:
        found.take(piece)
    return found


@pytest.mark.parametrize("size", [1, 200, 1000, 1 << 20])
def test_losses_are_put_at_their_steps_however_the_log_is_cut(size: int) -> None:
    found = progress_of(training(20), size)
    assert found.curves["loss"].points() == [(step + 1.0, 4.0 - step / 20) for step in range(20)]
    assert found.curves["val_loss"].points() == [(step + 1.0, 5.0 - step / 20) for step in (4, 9, 14, 19)]
    assert [point[0] for point in found.curves["lr"].points()] == list(range(1, 21))
    stage = found.stages["train"]
    assert (stage.shards_done, stage.units_done, stage.share) == (20, 200.0, 1.0)


def test_a_resumed_run_counts_what_was_done_before() -> None:
    found = progress_of(training(20, first=15))
    assert found.resumed
    assert found.stages["train"].shards_done == 20
    assert found.curves["loss"].points()[0][0] == 16.0


def test_steps_told_again_after_a_lost_worker_are_not_counted_twice() -> None:
    events = training(20)
    again = [*events[:31], *events[10:]]
    found = progress_of(again)
    assert found.stages["train"].units_done == 200.0
    assert found.curves["loss"].points() == progress_of(events).curves["loss"].points()


def test_stages_workers_notes_and_memory_are_kept() -> None:
    events: list[Event] = [StageStarted("read", 4, 400, "bytes")]
    events += [ShardDone("read", k, 100, 1.0 + k % 2, 1.0, f"worker {k % 2}", "d", False) for k in range(4)]
    events += [Metric("bad_rows", 3.0), Warned("two files were empty"), StageDone("read", 2.5)]
    found = RunProgress()
    lines = b"".join(map(event_line, events)) + b'{"event":"Memory","at":2.5,"bytes":1000000}\n'
    found.take(lines)
    assert found.workers == {"worker 0", "worker 1"}
    assert list(found.notes) == ["two files were empty"]
    assert found.metrics["bad_rows"] == 3.0
    assert found.stages["read"].seconds == 2.5
    assert found.peak_memory == 1e6
    assert max(workers for _, workers in found.busy.points()) == pytest.approx(2.0)


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"not json\n",
        b"[1,2]\n",
        b'{"event":"StageStarted","stage":5,"num_shards":"x","num_units":null}\n',
        b'{"event":"ShardDone"}\n',
        b'{"event":"Metric","name":"loss","value":"high"}\n',
        b'{"event":"Metric","name":"loss","value":NaN}\n',
        b'{"event":"Warned","message":{"a":1}}\n',
        b'{"event":"Memory","at":1e999,"bytes":-5}\n',
        b'{"event":"ShardDone","stage":"x","index":1e30,"num_units":-1,"started":0,"seconds":-1,"worker":"","resumed":1}\n',
        b'{"event":"StageDone","stage":"never began","seconds":1}\n',
        b'{"event":"Metric","event":"Memory","name":"a","value":1}\n',
        b"\xff\xfe\x00\n",
        b"[" * 5000 + b"\n",
    ],
)
def test_damaged_lines_do_no_harm(line: bytes) -> None:
    found = RunProgress()
    found.take(line)
    for event in training(10):
        found.take(event_line(event))
        found.take(line)
    assert found.stages["train"].shards_done == 10
    assert 9 <= found.curves["loss"].count <= 10


texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=8)
numbers = st.one_of(st.integers(-(10**15), 10**15), st.floats(-1e200, 1e200, allow_nan=False))


@given(st.lists(st.tuples(texts, numbers, st.integers(0, 10**12), texts, st.booleans()), max_size=30))
def test_the_kernel_reads_what_json_reads(rows: list[tuple[str, float, int, str, bool]]) -> None:
    lines = []
    for name, value, index, worker, resumed in rows:
        lines.append(event_line(Metric(name, float(value))))
        lines.append(event_line(ShardDone(name, index, index, abs(value), 0.5, worker, "d", resumed)))
    found = scan_events(b"".join(lines))
    values = [json.loads(line) for line in lines]
    taken = {int(line) for line in [*found["metric_at"][:, 0], *found["shard_at"][:, 0]]}
    assert taken | {int(line) for line in found["others"][:, 0]} == set(range(len(lines)))
    for (line, name), value in zip(found["metric_at"].tolist(), found["metric_value"].tolist(), strict=True):
        assert values[line]["name"] == found["names"][name]
        assert values[line]["value"] == pytest.approx(value, rel=1e-14)
    for (line, stage, worker, index, again), (start, seconds, units) in zip(
        found["shard_at"].tolist(), found["shard_time"].tolist(), strict=True
    ):
        event: dict[str, Any] = values[line]
        assert (found["stages"][stage], found["workers"][worker]) == (event["stage"], event["worker"])
        assert (index, bool(again), seconds, units) == (
            event["index"],
            event["resumed"],
            0.5,
            event["num_units"],
        )
        assert start == pytest.approx(event["started"], rel=1e-14)
    assert [json.loads(b"".join(lines)[a:b]) for _, a, b in found["others"].tolist()] == [
        values[line] for line in found["others"][:, 0].tolist()
    ]


def test_a_follower_gives_whole_lines_and_notices_another_file(tmp_path: Path) -> None:
    path = tmp_path / "log"
    follower = Follower(path)
    assert list(follower.read(1 << 20)) == []
    path.write_bytes(b"one\ntw")
    assert list(follower.read(1 << 20)) == [b"one\n"]
    with path.open("ab") as file:
        file.write(b"o\nthree\n")
    assert list(follower.read(1 << 20)) == [b"two\nthree\n"]
    assert not follower.restarted
    path.with_name("new").write_bytes(b"other\n")
    path.with_name("new").rename(path)
    assert list(follower.read(1 << 20)) == [b"other\n"]
    assert follower.restarted


def test_a_follower_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"secret\n")
    (tmp_path / "log").symlink_to(tmp_path / "secret")
    assert list(Follower(tmp_path / "log").read(1 << 20)) == []
