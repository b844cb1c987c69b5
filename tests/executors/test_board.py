"""The board: what each worker has in hand, and whether it shows signs of life."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from samebits.executors.liveness import IDLE, LivenessBoard, Seat


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def put(board: LivenessBoard, pid: int, index: int) -> Path:
    path = board.folder / str(pid)
    path.write_bytes(index.to_bytes(8, "little", signed=True))
    return path


def test_the_driver_sees_what_a_worker_has_in_hand(tmp_path: Path) -> None:
    seat = Seat(tmp_path, run_folder=tmp_path, driver=os.getppid())
    board = LivenessBoard(tmp_path)
    assert board.in_hand() == {}
    seat.take(2**40)
    assert board.in_hand() == {os.getpid(): 2**40}
    assert board.lost() == {}
    seat.take(IDLE)
    assert board.in_hand() == {}


def test_a_worker_that_has_only_just_come_in_holds_nothing(tmp_path: Path) -> None:
    (tmp_path / str(dead_process())).touch()
    assert LivenessBoard(tmp_path).lost() == {}


def test_only_dead_workers_with_a_shard_in_hand_are_lost(tmp_path: Path) -> None:
    board = LivenessBoard(tmp_path)
    idle, busy = dead_process(), dead_process()
    put(board, idle, IDLE)
    put(board, busy, 0)
    put(board, os.getpid(), 5)
    assert board.lost() == {busy: 0}


def test_ticks_are_counted_since_the_last_pulse(tmp_path: Path) -> None:
    board = LivenessBoard(tmp_path)
    path = put(board, 17, 1)
    os.utime(path, ns=(1, 1))
    assert [board.tick([17]) for _ in range(3)] == [{17: 0}, {17: 1}, {17: 2}]
    os.utime(path, ns=(2, 2))
    assert board.tick([17]) == {17: 0}


def test_a_pulse_of_long_ago_is_no_reason_as_long_as_it_goes_on(tmp_path: Path) -> None:
    """After a suspended night, or when the clock is set, every pulse looks old."""
    board = LivenessBoard(tmp_path)
    path = put(board, 17, 1)
    for beat in range(5):
        os.utime(path, ns=(beat, beat))
        assert board.tick([17]) == {17: 0}


def test_a_worker_without_a_seat_lives_as_long_as_it_computes(tmp_path: Path) -> None:
    board = LivenessBoard(tmp_path)
    assert board.tick([os.getpid()]) == {os.getpid(): 0}
    began = time.process_time()
    while time.process_time() - began < 0.05:
        pass
    assert board.tick([os.getpid()]) == {os.getpid(): 0}


def test_a_worker_that_stands_still_before_it_has_a_seat_is_noticed(tmp_path: Path) -> None:
    board = LivenessBoard(tmp_path)
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.1)
        assert [board.tick([process.pid]) for _ in range(3)] == [{process.pid: n} for n in range(3)]
        process.kill()


def test_a_worker_leaves_with_its_driver_and_removes_the_run_folder(tmp_path: Path, repo: Path) -> None:
    """The driver here is a process that starts a worker and is killed before it can do anything about it."""
    run_folder = tmp_path / "run"
    (run_folder / "board").mkdir(parents=True)
    worker = (
        "import sys, time; from pathlib import Path; from samebits.executors.liveness import Seat;"
        f"run = Path({str(run_folder)!r}); Seat(run / 'board', run_folder=run, driver=int(sys.argv[1])); time.sleep(60)"
    )
    driver = (
        "import os, subprocess, sys, time;"
        f"p = subprocess.Popen([sys.executable, '-c', {worker!r}, str(os.getpid())]); print(p.pid, flush=True);"
        "time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", driver], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        while not list((run_folder / "board").iterdir()):
            time.sleep(0.02)
        process.kill()
    psutil.wait_procs([psutil.Process(pid)] if psutil.pid_exists(pid) else [], timeout=30)
    assert not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    assert not run_folder.exists()


def test_a_worker_born_after_its_driver_died_leaves_at_once(tmp_path: Path) -> None:
    (tmp_path / "run" / "board").mkdir(parents=True)
    code = (
        "from pathlib import Path; from samebits.executors.liveness import Seat;"
        f"run = Path({str(tmp_path / 'run')!r}); Seat(run / 'board', run_folder=run, driver=1 << 22); print('stayed')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert not (tmp_path / "run").exists()
