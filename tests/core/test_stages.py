"""Jobs declare the stages they start: ``--stage-workers`` takes those names and refuses all others."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.small_jobs import ANY_BAD, SMALL_JOBS, small_shards

import samebits
from samebits.core.observing.events import Event, StageStarted
from samebits.core.options import HASHING, RunOptions
from samebits.errors import ConfigError
from samebits.jobs import JOBS, get_job

TRAINING = "train"  # of lockstep, whose workers all take part in every step


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inputs")


@pytest.mark.parametrize("name", JOBS)
def test_a_run_starts_no_stage_that_is_not_declared(name: str, inputs: Path, tmp_path: Path) -> None:
    started: set[str] = set()

    def note(event: Event) -> None:
        if isinstance(event, StageStarted):
            started.add(event.stage.rstrip(" 0123456789"))

    small = SMALL_JOBS[name]
    with small_shards():
        samebits.run(
            name,
            small.config(inputs),
            output=tmp_path / "out",
            options=RunOptions(workers=1, max_bad=ANY_BAD),
            observer=note,
        )
    declared = set(get_job(name).stages)
    assert started - {HASHING, TRAINING} <= declared
    assert bool(declared) == bool(started - {TRAINING}), "nothing is declared that no run starts"


def test_an_unknown_stage_is_refused_with_the_list(tmp_path: Path) -> None:
    config = samebits.CountConfig(inputs=("nowhere.txt",))
    with pytest.raises(ConfigError, match="'read', which is not a stage") as caught:
        samebits.run("count", config, output=tmp_path / "out", options=RunOptions(stage_workers=("read=2",)))
    assert (
        caught.value.hint == "known: hash, count, count merge, count reduce, count write, write counts.jsonl"
    )


def test_a_job_of_a_pipeline_takes_its_own_stages() -> None:
    options = RunOptions(stage_workers=("encode=1", "count=2", "hash=1"))
    options.check_stages(["encode", "count"])
    assert options.with_stages(["encode"]).stage_workers == ("encode=1", "hash=1")
