"""What ``run`` promises around a job: nothing replaced unasked, every end named, nothing left behind."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.faults.slow_job import JOB, SlowConfig

from samebits.api import run
from samebits.core.options import RunOptions
from samebits.core.plan import Plan
from samebits.data.artifact import open_artifact
from samebits.data.journal import Journal
from samebits.data.lock import OutputLock
from samebits.errors import Interrupted, OutputExists, OutputFailed, PlanMismatch
from samebits.verification.artifacts import verify

SERIAL = RunOptions(executor="serial")


def nothing() -> None:
    """Do not disturb."""


@dataclass(frozen=True)
class Disturbed:
    """The slow job, with something happening while it plans and after it has run."""

    while_planning: Callable[[], Any] = nothing
    after_running: Callable[[], Any] = nothing
    name: str = "slow"
    version: int = 1
    summary: str = ""
    Config: type[SlowConfig] = SlowConfig
    default_executor: str = "serial"
    stages: tuple[str, ...] = ()
    bytes_per_worker: int = 0
    inner: Any = field(default=JOB, repr=False)

    def plan(self, config: SlowConfig) -> Plan:
        self.while_planning()
        planned: Plan = self.inner.plan(config)
        return planned

    def run(self, plan: Plan, config: SlowConfig, engine: Any, out: Any) -> dict[str, Any]:
        metrics: dict[str, Any] = self.inner.run(plan, config, engine, out)
        self.after_running()
        return metrics


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def run_disturbed(
    output: Path, while_planning: Callable[[], Any] = nothing, after_running: Callable[[], Any] = nothing
) -> None:
    job: Any = Disturbed(while_planning, after_running)
    run(job, SlowConfig(), output=output, options=SERIAL)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_output_made_while_waiting_for_the_lock_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def slow_lock(path: Path, *, output: Path) -> Any:
        if not made:
            made.append("")
            made.append(run(JOB, SlowConfig(shards=3), output=output, options=SERIAL).artifact_digest)
        return OutputLock(path, output=output)

    monkeypatch.setattr("samebits.api.OutputLock", slow_lock)
    with pytest.raises(OutputExists):
        run(JOB, SlowConfig(shards=5), output=tmp_path / "out", options=SERIAL)
    assert open_artifact(tmp_path / "out").digest == made[1]
    assert names(tmp_path) == ["out"]


def leave_the_journal(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a kill between the rename of the output and the removal of the journal leaves."""
    with monkeypatch.context() as patched:
        patched.setattr("samebits.data.journal.Journal.remove", Journal.close)
        run(JOB, SlowConfig(), output=output, options=SERIAL)
    assert names(output.parent) == ["out", "out.journal"]


def test_the_journal_of_a_run_killed_after_its_output_was_in_place_goes_with_the_next_run_or_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "out"
    leave_the_journal(output, monkeypatch)
    with pytest.raises(OutputExists):
        run(JOB, SlowConfig(), output=output, options=SERIAL)
    assert names(tmp_path) == ["out"]
    shutil.rmtree(output)
    leave_the_journal(output, monkeypatch)
    verify(output)
    assert names(tmp_path) == ["out"]


def test_the_journal_of_an_unfinished_replacement_is_kept(tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(JOB, SlowConfig(), output=output, options=SERIAL)
    again = RunOptions(executor="serial", overwrite=True)
    job: Any = Disturbed(after_running=raising(KeyboardInterrupt()))
    with pytest.raises(Interrupted):
        run(job, SlowConfig(), output=output, options=again)
    verify(output)
    record = run(JOB, SlowConfig(), output=output, options=again)
    assert record.stages["slow"]["shards_resumed"] == 24
    assert names(tmp_path) == ["out"]


def test_ctrl_c_while_planning_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Interrupted) as caught:
        run_disturbed(tmp_path / "out", while_planning=raising(KeyboardInterrupt()))
    assert caught.value.exit_code == 130
    assert names(tmp_path) == []


def test_ctrl_c_keeps_the_finished_parts(tmp_path: Path) -> None:
    with pytest.raises(Interrupted, match="finished parts are kept"):
        run_disturbed(tmp_path / "out", after_running=raising(KeyboardInterrupt()))
    assert names(tmp_path) == ["out.journal"]
    record = run(JOB, SlowConfig(), output=tmp_path / "out", options=SERIAL)
    assert record.stages["slow"]["shards_resumed"] == 24
    assert names(tmp_path) == ["out"]


def test_a_full_disk_anywhere_in_a_job_is_named_and_the_run_goes_on_later(tmp_path: Path) -> None:
    with pytest.raises(OutputFailed, match="No space left on device") as caught:
        run_disturbed(tmp_path / "out", after_running=raising(OSError(28, "No space left on device")))
    assert "free some space" in caught.value.hint
    assert names(tmp_path) == ["out.journal"]
    run(JOB, SlowConfig(), output=tmp_path / "out", options=SERIAL)


def test_another_error_of_the_system_is_not_blamed_on_the_output(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="Connection refused"):
        run_disturbed(tmp_path / "out", while_planning=raising(OSError(111, "Connection refused")))
    assert names(tmp_path) == []


def test_another_config_on_an_unfinished_output_is_refused_and_no_resume_starts_over(tmp_path: Path) -> None:
    output = tmp_path / "out"
    with pytest.raises(Interrupted):
        run_disturbed(output, after_running=raising(KeyboardInterrupt()))
    with pytest.raises(PlanMismatch, match="--shards was 24, is 25"):
        run(JOB, SlowConfig(shards=25), output=output, options=SERIAL)
    record = run(
        JOB, SlowConfig(shards=25), output=output, options=RunOptions(executor="serial", resume=False)
    )
    assert record.stages["slow"]["shards_resumed"] == 0


def test_a_read_only_place_and_a_file_in_the_way_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputFailed):
        run(JOB, SlowConfig(), output=tmp_path / "file" / "out", options=SERIAL)
    with pytest.raises(OutputExists, match="is not an artifact"):
        run(JOB, SlowConfig(), output=tmp_path / "file", options=SERIAL)


def test_the_folder_one_stands_in_is_no_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(OutputExists, match="without a name"):
        run(JOB, SlowConfig(), output=".", options=SERIAL)
