"""What a run costs, piece by piece, in CPU seconds: each job run once by an executor that measures while it works.

CPU seconds and not wall time, so that a busy machine changes them little. What waits (disk, network) is therefore not in
them; the simulation adds it from the assumptions of ``benchmarks.scale``.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import samebits
from samebits.charset.config import CharsetConfig
from samebits.charset.conversion.decode import DecodeConfig
from samebits.core.codec import encode
from samebits.core.observing.events import Event, StageDone, StageStarted
from samebits.core.plan import Shard
from samebits.core.ports.executor import Done, Handle, Outcome, Task
from samebits.data import journal
from samebits.executors.worker import run_shard
from samebits.graph.config import GraphConfig
from samebits.jobs import get_job
from samebits.langid.config import LangidConfig
from samebits.langid.training import backoff, large
from samebits.tokens.config import TokensConfig
from samebits.tokens.training.tokenizer_job import TokenizerConfig

__all__ = [
    "Cost",
    "StageCost",
    "as_large",
    "cases",
    "measure_job",
    "measure_step",
    "measure_words",
    "train_tokenizer",
    "wake_seconds",
]

VOCABULARY = 8000


@dataclass(slots=True)
class StageCost:
    """One stage: sums over its shards.

    Attributes:
        name: Of the stage.
        shards: How many.
        task: CPU seconds in tasks.
        driver: CPU seconds of everything else while the stage ran: engine, journal, fold.
        part_bytes: Size of all parts, encoded.
    """

    name: str
    shards: int
    task: float = 0.0
    driver: float = 0.0
    part_bytes: int = 0


@dataclass(slots=True)
class Cost:
    """One run: plan, stages, and the rest of the driver's work, each timed where it happens and not as a difference.

    ``input_bytes`` are pairs where the input is not cut by bytes: graphs. ``phases`` say what the rest is made of: before the first
    stage, between stages, after the last one.
    """

    input_bytes: int
    output_bytes: int
    plan: float
    rest: float
    phases: dict[str, float]
    stages: list[StageCost] = field(default_factory=list)
    removing: float = (
        0.0  # the journal with all that workers kept: its pages are in the memory of whoever wrote them
    )

    def as_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)


class Meter:
    """A serial executor and an observer in one: tasks are timed apart from what the driver does around them."""

    name = "serial"

    def __init__(self) -> None:
        self.workers = 1
        self.stages: list[StageCost] = []
        self.phases = {"before": 0.0, "between": 0.0, "after": 0.0}
        self._started = 0.0
        self._left = 0.0  # when the driver was last on its own: the plan was made, or a stage had ended

    def publish(self, state: Any) -> Handle:
        """Keep the state where it is."""
        return Handle(value=state)

    def submit(self, task: Task, shard: Shard, handle: Handle) -> Future[Outcome]:
        """Run the shard now, time it, and see how large its part is."""
        started = time.process_time()
        outcome = run_shard(task, shard, handle.value, worker="serial", encoded=False)
        done = time.process_time()
        stage = self.stages[-1]
        stage.task += done - started
        stage.part_bytes += len(encode(outcome.part)) if isinstance(outcome, Done) else 0
        measuring = time.process_time() - done
        stage.driver -= measuring
        future: Future[Outcome] = Future()
        future.set_result(outcome)
        return future

    def observe(self, event: Event) -> None:
        """Note when stages begin and end."""
        if isinstance(event, StageStarted):
            self._started = time.process_time()
            self.phases["between" if self.stages else "before"] += self._started - self._left
            self.stages.append(StageCost(event.stage, event.num_shards))
        elif isinstance(event, StageDone):
            stage, self._left = self.stages[-1], time.process_time()
            stage.driver += self._left - self._started - stage.task

    def planned(self) -> None:
        """Note that the plan is made."""
        self._left = time.process_time()

    def ended(self, removing: float) -> None:
        """Note that the run is over, and what removing its journal took of the time."""
        self.phases["after"] = time.process_time() - self._left - removing

    def recover(self, workers: int) -> None:
        """Do nothing: this thread cannot be lost."""

    def close(self, *, cancel: bool = False) -> None:
        """Do nothing: there is nothing to release."""


class TimedJob:
    """A job that notes what its plan takes, and the plan."""

    def __init__(self, job: Any, meter: Meter) -> None:
        self._job, self._meter = job, meter
        self.seconds = 0.0
        self.made: Any = None

    def __getattr__(self, name: str) -> Any:
        """Be the job in all else."""
        return getattr(self._job, name)

    def plan(self, config: Any) -> Any:
        """Make the plan."""
        started = time.process_time()
        self.made = self._job.plan(config)
        self.seconds = time.process_time() - started
        self._meter.planned()
        return self.made


@contextmanager
def as_large() -> Iterator[None]:
    """Let small inputs go the way of large ones."""
    least, large.LEAST_BYTES = large.LEAST_BYTES, dict.fromkeys(large.LEAST_BYTES, 0)
    features, backoff.MOST_FEATURES = backoff.MOST_FEATURES, 0
    try:
        yield
    finally:
        large.LEAST_BYTES, backoff.MOST_FEATURES = least, features


def cases(inputs: Path, tokenizer: Path) -> dict[str, tuple[str, Any]]:
    """Return job and Config of every case, for one folder of inputs."""
    return {
        "count": ("count", samebits.CountConfig(inputs=(str(inputs / "count"),))),
        "charset": ("charset", CharsetConfig(inputs=(str(inputs / "charset"),))),
        "charset_decode": ("charset_decode", DecodeConfig(inputs=(str(inputs / "decode"),))),
        "langid_exact": ("langid", LangidConfig(inputs=(str(inputs / "langid"),), mode="exact")),
        "langid_backoff": ("langid", LangidConfig(inputs=(str(inputs / "langid"),))),
        "graph_matrix": ("graph", GraphConfig(inputs=(str(inputs / "graph"),))),
        "tokens": (
            "tokens",
            TokensConfig(inputs=(str(inputs / "tokens"),), tokenizer=str(tokenizer / "tokenizer.json")),
        ),
    }


def train_tokenizer(inputs: Path, output: Path) -> None:
    """Train the tokenizer that the tokens case uses, unless it is there."""
    if not output.exists():
        config = TokenizerConfig(inputs=(str(inputs / "tokens"),), vocab_size=VOCABULARY, sample_mb=2)
        samebits.run("tokens_train", config, output=output, options=samebits.RunOptions(workers="1"))


def measure_job(job: str, config: Any, output: Path) -> Cost:
    """Run a job with the meter, into a folder that is not there: removing an output of before is no cost of this run."""
    meter = Meter()
    timed = TimedJob(get_job(job), meter)
    shutil.rmtree(output, ignore_errors=True)
    with _timed_removal() as removing:
        options = samebits.RunOptions(resume=False)
        samebits.run(timed, config, output=output, options=options, observer=meter.observe, executor=meter)
        meter.ended(sum(removing))
    manifest = json.loads((output / "manifest.json").read_bytes())
    return Cost(
        input_bytes=_num_bytes(timed.made.inputs) or timed.made.shards.num_units,
        output_bytes=sum(entry["size"] for entry in manifest["files"].values()),
        plan=timed.seconds,
        rest=sum(meter.phases.values()),
        phases=meter.phases,
        stages=meter.stages,
        removing=sum(removing),
    )


def measure_words(vocabularies: dict[int, Path], output: Path, rounds: int) -> dict[str, Any]:
    """Return what each different word costs the driver in backoff mode, beyond its stages: two vocabularies, as many rows of each.

    Without refinement, which looks at the words of a sample and not at all of them.
    """
    rest = {}
    for number, folder in vocabularies.items():
        config = LangidConfig(inputs=(str(folder),), refine=0)
        found = [measure_job("langid", config, output / "words").rest for _ in range(rounds + 1)]
        rest[number] = sorted(found[1:])[rounds // 2]
    (few, first), (many, second) = sorted(rest.items())
    return {
        "rest": {str(number): seconds for number, seconds in rest.items()},
        "driver": (second - first) / (many - few),
    }


@contextmanager
def _timed_removal() -> Iterator[list[float]]:
    """Note the CPU seconds that removing the journal takes."""
    remove, taken = journal.remove_journal, list[float]()

    def timed(folder: Path) -> None:
        started = time.process_time()
        remove(folder)
        taken.append(time.process_time() - started)

    journal.remove_journal = timed
    try:
        yield taken
    finally:
        journal.remove_journal = remove


def _num_bytes(inputs: Any) -> int:
    """Find the corpus in what a plan carries for its tasks."""
    if isinstance(inputs, tuple):
        return next(size for item in inputs if (size := _num_bytes(item)))
    return int(getattr(getattr(inputs, "corpus", inputs), "num_bytes", 0))


def measure_step(text: Path, *, preset: str, num_steps: int) -> dict[str, Any]:
    """Return what a step of ``lm train`` costs: one worker, in this process, that does all of it.

    Gradients are timed shard by shard, without the merges that a worker does between them: these are ``add``.
    """
    import numpy as np

    from samebits.core.seeds import rng_for
    from samebits.kernels.lockstep import steps as kernel
    from samebits.lm.config import LmConfig
    from samebits.lm.job import prepare
    from samebits.lm.training.objective import LmObjective
    from samebits.lockstep.exchange.barrier import Barrier, make_slots
    from samebits.lockstep.exchange.memory import Sizes, create_memory, map_memory
    from samebits.lockstep.exchange.rendezvous import SharedMeeting
    from samebits.lockstep.problem.layout import make_layout
    from samebits.lockstep.worker.step import Stepper

    source, recipe = prepare(LmConfig(inputs=(str(text),), preset=preset, dtype="float32"))  # type: ignore[arg-type]
    objective = LmObjective(recipe, source)
    layout = make_layout(objective.spec())
    shards = recipe.fit.shards
    sizes = Sizes(layout.size, shards, 1, 0)
    state = map_memory(create_memory(sizes), sizes)
    for name, value in objective.init(rng_for(1, "scale")).items():
        layout.views(state.params)[name][...] = np.asarray(value, np.float32)
    objective.bind(layout.views(state.params))
    mode = next(mode for mode in objective.modes() if objective.enter(mode))
    meeting = SharedMeeting(Barrier(make_slots(1), 0, lambda: None), state, 0, 1)
    stepper = Stepper(objective, recipe.fit, layout, state, worker=0, workers=1, meeting=meeting)
    taken: dict[str, list[float]] = {"compute": [], "add": [], "reduce": [], "update": []}

    def timed(name: str, call: Any) -> None:
        started = time.process_time()
        call()
        taken[name].append(time.process_time() - started)

    for step in range(num_steps + 1):
        timed("compute", lambda step=step: [stepper.compute_shard(step, g) for g in range(shards)])
        timed("add", lambda: kernel.add_rows(state.rows, 2, 3, 0, layout.size))
        timed("reduce", stepper.reduce)
        norm = stepper.outcome().grad_norm
        timed("update", lambda step=step, norm=norm: stepper.update(step, norm, 0.1))
    cost: dict[str, Any] = {name: float(np.median(times[1:])) for name, times in taken.items()}
    batch = recipe.rows * shards
    cost["row"] = cost.pop("compute") / batch
    return {
        **cost,
        "batch": batch,
        "tokens_per_step": recipe.tokens_per_step,
        "floats": layout.size,
        "optimizer": recipe.fit.optimizer,
        "mode": mode,
        "preset": preset,
        "wake": wake_seconds(),
        "largest_share": {str(n): _largest_share(layout, n) for n in (1, 2, 4, 8, 32, 64)},
    }


def _largest_share(layout: Any, workers: int) -> float:
    """Return the share of Muon's work that falls to the worker with the most of it; matrices are not cut."""
    from samebits.lockstep.worker.optimizers.muon import cost_of, matrices_of
    from samebits.lockstep.worker.optimizers.share import share_matrices

    costs = [sum(map(cost_of, share)) for share in share_matrices(matrices_of(layout), workers)]
    return max(costs) / max(1, sum(costs))


def wake_seconds(rounds: int = 2000) -> float:
    """Return the median time in which one process wakes another by an eventfd: half of a round trip, wall time."""
    there, back = os.eventfd(0), os.eventfd(0)
    child = os.fork()
    if not child:
        for _ in range(rounds):
            os.eventfd_read(there)
            os.eventfd_write(back, 1)
        os._exit(0)
    taken = []
    for _ in range(rounds):
        started = time.perf_counter()
        os.eventfd_write(there, 1)
        os.eventfd_read(back)
        taken.append((time.perf_counter() - started) / 2)
    os.waitpid(child, 0)
    os.close(there)
    os.close(back)
    return sorted(taken)[rounds // 2]
