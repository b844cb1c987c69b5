"""Every job gives the serial bits on Dask and Ray, with one worker and with two. One cluster of each kind for all jobs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import needs_extra
from tests.executors.tasks import AddState

from samebits import checks
from samebits.api import run
from samebits.core.engine import Engine
from samebits.core.executor import Executor
from samebits.core.options import RunOptions
from samebits.core.plan import cut
from samebits.executors import ExecutorOptions, make_executor
from samebits.jobs.charset.job import CharsetConfig
from samebits.jobs.count import CountConfig
from samebits.jobs.langid.config import LangidConfig
from samebits.jobs.tokens import TokenizerConfig, TokensConfig

SAMPLES = Path(__file__).resolve().parents[2] / "src" / "samebits" / "samples"
PLACES = [("processes", 2), ("dask", 1), ("dask", 2), ("ray", 1), ("ray", 2)]


def labelled(folder: Path) -> str:
    """The sample texts as rows with their language."""
    path = folder / "rows.jsonl"
    rows = [
        {"text": line, "lang": sample.stem}
        for sample in sorted(SAMPLES.glob("*.txt"))[:6]
        for line in sample.read_text(encoding="utf-8").splitlines()[:40]
        if line
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


# job -> its config, from a folder for inputs; several shards each, so that two workers have something to do
JOBS: dict[str, Callable[[Path], Any]] = {
    "count": lambda folder: CountConfig(inputs=(str(SAMPLES),), n=2),
    "charset": lambda folder: CharsetConfig(
        inputs=(str(SAMPLES),), languages=("de", "he", "ja"), unit="line"
    ),
    "langid": lambda folder: LangidConfig(inputs=(labelled(folder),)),
    "tokens": lambda folder: TokensConfig(inputs=(str(SAMPLES),), tokenizer="byte", shuffle=True),
    "tokens_train": lambda folder: TokenizerConfig(inputs=(str(SAMPLES),), vocab_size=400),
}


@pytest.fixture(scope="module", params=PLACES, ids=lambda place: f"{place[0]}-{place[1]}")
def executor(request: pytest.FixtureRequest) -> Iterator[Executor]:
    name, workers = request.param
    needs_extra(name)
    made = make_executor(name, ExecutorOptions(workers=workers))
    list(Engine(made).map_ordered("start", AddState(), cut([8], 1)))  # processes start with the first shards
    yield made
    made.close()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("inputs")


@pytest.fixture(scope="module")
def references(inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The serial run of every job."""
    folder = tmp_path_factory.mktemp("references")
    for job, config in JOBS.items():
        options = RunOptions(executor="serial", max_bad="100%")
        run(job, config(inputs), output=folder / job, options=options)
    return {job: folder / job for job in JOBS}


@pytest.mark.slow
@pytest.mark.timeout(300)  # a cluster is started for the first of them
@pytest.mark.parametrize("job", JOBS)
def test_every_job_gives_the_serial_bits_on_a_cluster(
    job: str, executor: Executor, references: dict[str, Path], inputs: Path, tmp_path: Path
) -> None:
    options = RunOptions(max_bad="100%")
    run(job, JOBS[job](inputs), output=tmp_path / "out", options=options, executor=executor)
    checks.compare(references[job], tmp_path / "out")
