"""Every job gives the serial bits everywhere: threads, processes, Dask and Ray with one worker and with two, and lockstep
with one, two and three. One cluster of each kind for all jobs; the jobs are those of ``tests/small_jobs.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import needs_extra
from tests.executors.tasks import AddState
from tests.small_jobs import ANY_BAD, SMALL_JOBS, reference_of, small_shards

from samebits import api, workers
from samebits.core.engine import Engine
from samebits.core.options import RunOptions
from samebits.core.plan import cut
from samebits.core.ports.executor import Executor
from samebits.errors import ConfigError
from samebits.executors import CLUSTERS, ExecutorOptions, make_executor
from samebits.executors.cluster.workers import look
from samebits.jobs import JOBS, get_job
from samebits.verification import artifacts

PLACES = [("threads", 2), ("processes", 2), ("dask", 1), ("dask", 2), ("ray", 1), ("ray", 2)]
MAP_JOBS = [name for name, job in SMALL_JOBS.items() if not job.lockstep]
TRAINING = [name for name, job in SMALL_JOBS.items() if job.lockstep]
FLOATING = {"charset_decode", "graph_eval", *TRAINING}  # parts with exp(), log2() or products of matrices


@pytest.fixture(scope="module", params=PLACES, ids=lambda place: f"{place[0]}-{place[1]}")
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    name, workers = request.param
    needs_extra(name)
    made = make_executor(name, ExecutorOptions(workers=workers))
    # processes start with the first shards
    list(Engine(made).map_ordered("start", AddState(), cut([8], 1), unit="items"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with small_shards():
        yield tmp_path_factory.mktemp("inputs")


def test_no_job_is_missing_from_the_table() -> None:
    assert sorted(SMALL_JOBS) == sorted(JOBS)


@pytest.mark.parametrize("name", SMALL_JOBS)
def test_a_job_says_whether_its_bits_depend_on_the_cpu(name: str) -> None:
    job = get_job(name)
    assert getattr(job, "floating", False) is (name in FLOATING)
    assert (job.default_executor == "lockstep") is SMALL_JOBS[name].lockstep


READERS = [
    "charset",
    "charset_decode",
    "count",
    "graph_eval",
    "langid",
    "langid_clean",
    "tokens",
    "tokens_train",
]


@pytest.mark.parametrize("job", MAP_JOBS)
def test_workers_are_asked_for_the_files_that_tasks_read(job: str, inputs: Path) -> None:
    files = workers.files_of(api.plan(job, SMALL_JOBS[job].config(inputs)).inputs)
    assert bool(files) is (job in READERS)  # the others carry what they read in the state
    assert look(files).unseen == ()


@pytest.mark.slow
@pytest.mark.timeout(300)  # a cluster is started for the first of them
@pytest.mark.parametrize("job", MAP_JOBS)
def test_every_map_job_gives_the_serial_bits_everywhere(
    job: str, executor: Executor, inputs: Path, tmp_path: Path
) -> None:
    reference, config = reference_of(job, inputs), SMALL_JOBS[job].config(inputs)
    assert len(api.plan(job, config).shards) >= SMALL_JOBS[job].least_shards
    options = RunOptions(max_bad=ANY_BAD)
    api.run(job, config, output=tmp_path / "out", options=options, executor=executor)
    artifacts.compare(reference, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["2"])  # more numbers of them: tests/lm, tests/graph
@pytest.mark.parametrize("job", TRAINING)
def test_training_gives_the_bits_of_one_worker(job: str, workers: str, inputs: Path, tmp_path: Path) -> None:
    reference, config = reference_of(job, inputs), SMALL_JOBS[job].config(inputs)
    api.run(job, config, output=tmp_path / "out", options=RunOptions(workers=workers))
    artifacts.compare(reference, tmp_path / "out")


@pytest.mark.slow
@pytest.mark.parametrize("executor_name", CLUSTERS)
@pytest.mark.parametrize("job", TRAINING)
def test_training_is_not_for_clusters_of_tasks(
    job: str, executor_name: str, inputs: Path, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"trains in lockstep, not on {executor_name}") as caught:
        api.run(
            job,
            SMALL_JOBS[job].config(inputs),
            output=tmp_path / "out",
            options=RunOptions(executor=executor_name),
        )
    assert "torchrun" in caught.value.hint


@pytest.mark.parametrize("job", ["charset_decode", "count"])
def test_a_cluster_is_told_whether_the_job_is_floating(
    job: str, inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[ExecutorOptions] = []

    def listen(name: str, options: ExecutorOptions) -> Any:
        told.append(options)
        return make_executor("serial", options)

    monkeypatch.setattr(workers, "make_executor", listen)
    options = RunOptions(executor="dask", address="tcp://somewhere:1", max_bad=ANY_BAD)
    api.run(job, SMALL_JOBS[job].config(inputs), output=tmp_path / "out", options=options)
    assert [options.floating for options in told] == [job in FLOATING]
