"""Training on workers: the bytes of a small training, for any order, any loss and any place."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import needs_extra
from tests.langid.dying import Deadly
from tests.langid.helpers import golden_rows, train, write_rows

import samebits
from samebits.core.codec import encode
from samebits.core.observing.events import Event, ShardDone, Warned
from samebits.core.options import RunOptions
from samebits.core.plan import Shard
from samebits.core.seeds import rng_for
from samebits.data.folding import piece_files, shape, tree
from samebits.data.folding.output_file import WriteBlock
from samebits.errors import ConfigError, InputError, Interrupted
from samebits.executors import ExecutorOptions, make_executor
from samebits.executors.serial import SerialExecutor
from samebits.kernels.langid.confusion import pairwise_sum
from samebits.langid import sources
from samebits.langid.config import LangidConfig
from samebits.langid.model.compact_files import MOST_LANGUAGES
from samebits.langid.training import backoff, large
from samebits.langid.training.compact import noise_words
from samebits.langid.training.on_workers import run, sampling
from samebits.langid.training.on_workers.backoff import FindSuspects, RefineModel, ReportNode
from samebits.langid.training.on_workers.duplicates import FindDuplicates
from samebits.langid.training.on_workers.exact import ScoreNode
from samebits.langid.training.on_workers.ledgers import WriteLedger
from samebits.langid.training.on_workers.ngrams import SumFeatures
from samebits.langid.training.on_workers.sampling import SampleNode
from samebits.langid.training.on_workers.word_tables import CountNodeWords, OrderWords, ReduceWords
from samebits.langid.training.pairwise import mean_of, sums_of
from samebits.testing import FailingExecutor, ShuffledExecutor
from samebits.verification.artifacts import rerun

MODES = ("exact", "backoff", "compact")
TASKS = {
    "exact": (tree.CountNode, FindDuplicates, CountNodeWords, ReduceWords, ScoreNode, OrderWords, WriteLedger, WriteBlock),
    "backoff": (CountNodeWords, ReduceWords, SumFeatures, FindSuspects, SampleNode, RefineModel, ReportNode, OrderWords),
}  # fmt: skip


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The golden rows and some of them again, one with another label, one without a letter."""
    found = golden_rows()
    again = [*found[5:40], {**found[3], "lang": "xx"}, {"text": "123", "lang": found[0]["lang"]}]
    monkeypatch.setattr(noise_words, "NUM_WORDS", 800)
    return write_rows(tmp_path / "rows.jsonl", [*found, *again])


@pytest.fixture
def on_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every training is large: many nodes of several shards, and partitions."""
    monkeypatch.setattr(large, "LEAST_BYTES", dict.fromkeys(MODES, 0))
    monkeypatch.setattr(sources, "CELL_BYTES", 2048)
    monkeypatch.setattr(shape, "FEWEST_NODES", 5)
    monkeypatch.setattr(run, "partitions_of", lambda num_bytes: 3)


SETTINGS: dict[str, dict[str, Any]] = {
    "exact": {"mode": "exact", "cycles": 3, "confidence_margin": 0.1},
    "exact, sentences, ledger with text": {"mode": "exact", "sentences": "rules", "ledger_text": True},
    "backoff": {"mode": "backoff", "cycles": 2, "drop_bits": 1, "refine": 2},
    "backoff, no ledger": {"mode": "backoff", "ledger": "none", "sentences": "rules"},
    "compact": {"mode": "compact", "megabytes": 1},
}


@pytest.mark.parametrize("with_eval", [False, True], ids=["", "eval"])
@pytest.mark.parametrize("name", SETTINGS)
def test_large_inputs_give_the_bytes_of_small_ones(
    name: str, with_eval: bool, rows: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    settings = dict(SETTINGS[name])
    if with_eval:
        settings["eval"] = (str(write_rows(tmp_path / "eval.jsonl", golden_rows()[7:90])),)
    small = train(rows, tmp_path / "small", **settings)
    request.getfixturevalue("on_workers")
    found = train(rows, tmp_path / "large", **settings)
    samebits.compare(tmp_path / "small", tmp_path / "large")
    assert found.metrics == small.metrics
    assert found.stages["encode"]["shards_done"] >= 5
    assert found.stages["duplicates"]["shards_done"] == 3


def test_a_sample_is_the_one_that_a_small_training_takes(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(backoff, "REFINE_ROWS", 40)
    expected = train(rows, tmp_path / "small", refine=2).artifact_digest
    request.getfixturevalue("on_workers")
    monkeypatch.setattr("samebits.langid.training.on_workers.backoff.REFINE_ROWS", 40)
    for slack in (1.25, 0.1):  # the second finds too few at first
        monkeypatch.setattr(sampling, "SLACK", slack)
        found = train(rows, tmp_path / "large", refine=2)
        assert found.artifact_digest == expected
        assert ("sample 2" in found.stages) is (slack < 1)


@pytest.mark.usefixtures("on_workers")
@pytest.mark.parametrize("mode", ["exact", "backoff"])
def test_order_workers_and_lost_workers_do_not_matter(mode: str, rows: Path, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"mode": mode, "cycles": 2, "refine": 1}
    expected = train(rows, tmp_path / "one", **settings).artifact_digest
    executors: list[Any] = [ShuffledExecutor(seed=seed) for seed in (-1, 0)]
    for executor in [*executors, FailingExecutor({0: 1, 3: 2})]:
        found = train(rows, tmp_path / "other", executor=executor, **settings)
        assert found.artifact_digest == expected
    assert train(rows, tmp_path / "many", workers="3", **settings).artifact_digest == expected


class _Meddling(SerialExecutor):
    """Does something once, before the first shard of a task; else it passes for an executor whose workers are elsewhere."""

    runs_here = False

    def __init__(self, task: type[Any], meddle: Any) -> None:
        super().__init__()
        self.task, self.meddle = task, meddle

    def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
        if isinstance(getattr(task, "task", task), self.task) and self.meddle:
            self.meddle()
            self.meddle = None
        return super().submit(task, shard, handle)


def _stop() -> None:
    raise KeyboardInterrupt


def _damage(folder: Path) -> None:
    """Flip a bit in every file of pieces."""
    for path in folder.iterdir():
        if path.name != piece_files.TOKEN and path.stat().st_size:
            data = bytearray(path.read_bytes())
            data[-1] ^= 1
            path.write_bytes(data)


@pytest.mark.usefixtures("on_workers")
@pytest.mark.parametrize(("mode", "task"), [(mode, task) for mode in TASKS for task in TASKS[mode]])
def test_a_run_that_ends_in_any_stage_goes_on_there(
    mode: Any, task: type[Any], rows: Path, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"mode": mode, "refine": 1}
    expected = train(rows, tmp_path / "whole", **settings).artifact_digest
    with pytest.raises(Interrupted):
        train(rows, tmp_path / "out", executor=_Meddling(task, _stop), **settings)
    found = train(rows, tmp_path / "out", workers="2", **settings)
    assert found.artifact_digest == expected
    assert bool(found.stages["encode"]["shards_resumed"]) is (task is not tree.CountNode)
    assert not (tmp_path / "out.journal").exists()


@pytest.mark.usefixtures("on_workers")
@pytest.mark.parametrize(("mode", "task"), [("exact", ScoreNode), ("backoff", OrderWords)])
def test_several_nodes_in_one_task_change_nothing(
    mode: Any, task: type[Any], rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"mode": mode, "refine": 1, "cycles": 2}
    expected = train(rows, tmp_path / "whole", **settings)
    monkeypatch.setattr(shape, "MOST_LIGHT_TASKS", 2)
    with pytest.raises(Interrupted):
        train(rows, tmp_path / "out", executor=_Meddling(task, _stop), **settings)
    found = train(rows, tmp_path / "out", workers="2", **settings)
    assert found.artifact_digest == expected.artifact_digest
    assert found.stages["count 1"]["shards_resumed"]
    assert found.stages["count 2"]["shards_done"] < expected.stages["count 2"]["shards_done"]
    failing = train(rows, tmp_path / "failing", executor=FailingExecutor({0: 1, 3: 2}), **settings)
    assert failing.artifact_digest == expected.artifact_digest


@pytest.mark.usefixtures("on_workers")
@pytest.mark.parametrize(
    ("mode", "task"),
    [("exact", ScoreNode), ("backoff", RefineModel), ("backoff", ReportNode), ("exact", WriteBlock)],
)
def test_files_with_a_flipped_bit_are_made_again(
    mode: Any, task: type[Any], rows: Path, tmp_path: Path
) -> None:
    config = LangidConfig(inputs=(str(rows),), mode=mode, refine=1)
    expected = samebits.run("langid", config, output=tmp_path / "whole").artifact_digest
    events: list[Event] = []
    executor = _Meddling(task, lambda: _damage(tmp_path / "out.journal" / "kept"))
    options = RunOptions(retries=100)
    found = samebits.run(
        "langid", config, output=tmp_path / "out", options=options, executor=executor, observer=events.append
    )
    assert found.artifact_digest == expected
    assert any("a part was lost" in event.message for event in events if isinstance(event, Warned))
    counted = sum(isinstance(event, ShardDone) and event.stage == "encode" for event in events)
    assert counted > found.stages["duplicates"]["shards_done"]


@pytest.mark.usefixtures("on_workers")
@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["processes", "dask", "ray"])
def test_a_killed_reducer_and_a_killed_holder_of_rows_cost_what_they_had_in_hand(
    name: str, rows: Path, tmp_path: Path
) -> None:
    needs_extra(name)
    expected = [
        train(rows, tmp_path / mode, mode=mode, refine=1).artifact_digest for mode in ("exact", "backoff")
    ]
    executor = make_executor(name, ExecutorOptions(workers=2))
    try:
        found = [
            train(rows, tmp_path / "out", mode=mode, refine=1, executor=deadly).artifact_digest
            for mode, task in (("exact", ReduceWords), ("backoff", FindSuspects))
            for deadly in [Deadly(executor, task, str(tmp_path / f"died in {mode}"))]
        ]
    finally:
        executor.close()
    assert found == expected
    assert (tmp_path / "died in exact").exists()
    assert (tmp_path / "died in backoff").exists()


@pytest.mark.usefixtures("on_workers")
def test_no_row_and_no_word_passes_the_driver_in_exact_mode(rows: Path, tmp_path: Path) -> None:
    sizes: list[int] = []

    class Weighing(SerialExecutor):
        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            future = super().submit(task, shard, handle)
            done: Any = future.result()
            data = encode(done.part)
            sizes.append(len(data))
            assert b"the" not in data.lower() or isinstance(task, tree.CountNode)
            return future

    train(rows, tmp_path / "out", mode="exact", executor=Weighing())
    assert max(sizes) < 6000


@pytest.mark.usefixtures("on_workers")
def test_the_model_passes_by_the_driver_of_other_processes(
    rows: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It reads no piece in backoff mode, and no state that it publishes holds the model."""
    expected = train(rows, tmp_path / "here", refine=2).artifact_digest
    published: list[int] = []
    at_work: list[bool] = []

    class Elsewhere(SerialExecutor):
        runs_here = False

        def publish(self, state: Any) -> Any:
            published.append(len(pickle.dumps(state)))
            return super().publish(pickle.loads(pickle.dumps(state)))

        def submit(self, task: Any, shard: Shard, handle: Any) -> Any:
            at_work.append(True)
            future = super().submit(task, shard, handle)
            future.result()
            at_work.pop()
            return future

    def read_bytes(folder: Any, index: Any, piece: int) -> bytes:
        assert at_work
        return read(folder, index, piece)

    read = piece_files.PieceFolder.read_bytes
    monkeypatch.setattr(piece_files.PieceFolder, "read_bytes", read_bytes)
    found = train(rows, tmp_path / "out", refine=2, executor=Elsewhere())
    model = sum(path.stat().st_size for path in (tmp_path / "out").glob("*.npy"))
    assert found.artifact_digest == expected
    assert max(published) < model / 4


@pytest.mark.usefixtures("on_workers")
def test_nodes_can_be_computed_again_and_compared(rows: Path, tmp_path: Path) -> None:
    found = train(rows, tmp_path / "out", mode="exact")
    nodes = int(found.stages["encode"]["shards_done"])
    assert rerun(tmp_path / "out", num_shards=nodes) == nodes


@pytest.mark.usefixtures("on_workers")
def test_inputs_without_rows_to_train_on_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = write_rows(tmp_path / "empty.jsonl", [{"text": "12 !", "lang": "en"}] * 3)
    with pytest.raises(InputError, match="all 3 rows are empty after cleaning"):
        train(empty, tmp_path / "out")
    nothing = tmp_path / "nothing.jsonl"
    nothing.write_text("\n\n")
    with pytest.raises(InputError, match="no labelled row"):
        train(nothing, tmp_path / "out2")
    many = write_rows(tmp_path / "many.jsonl", [{"text": "word", "lang": f"l{i}"} for i in range(300)])
    with pytest.raises(ConfigError, match="300 languages; compact mode takes up to"):
        train(many, tmp_path / "out3", mode="compact")
    assert MOST_LANGUAGES < 300


def test_a_parquet_ledger_is_written_in_one_piece(
    rows: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    expected = train(rows, tmp_path / "small", mode="exact", ledger="parquet").artifact_digest
    request.getfixturevalue("on_workers")
    found = train(rows, tmp_path / "out", mode="exact", ledger="parquet")
    assert found.artifact_digest == expected
    assert "duplicates" not in found.stages


@pytest.mark.parametrize("total", [0, 1, 7, 8, 9, 127, 128, 129, 136, 1000, 4097, 100_003])
def test_the_mean_of_ranges_is_that_of_all_numbers_to_the_last_bit(total: int) -> None:
    numbers = rng_for(0, "margins", total)
    values = numbers.random(total) ** 3
    for ranges in (1, 2, 5, 40):
        cuts = np.sort(numbers.integers(0, total + 1, ranges - 1)).tolist()
        parts = [
            sums_of(values[start:stop], start, total)
            for start, stop in zip([0, *cuts], [*cuts, total], strict=True)
        ]
        assert mean_of(parts, total) == (pairwise_sum(values) / total if total else 0.0)
