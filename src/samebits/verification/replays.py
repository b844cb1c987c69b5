"""Compute steps of a training run again, with any number of workers on any machine, and compare them with its log.

``replay(folder, start, stop)`` begins at the nearest checkpoint kept beside the run (``--keep-every``), or at the first values.
Every step's loss, gradient norm, learning rate and checksum is compared bit by bit; so are the checkpoint kept after the last of
them, and the model itself where that is the last step of the run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from samebits import api
from samebits.core.engine import Engine
from samebits.core.observing.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.core.plan import Plan
from samebits.core.ports.place import Place, Replay, Replayed
from samebits.data.artifact import Artifact, ArtifactWriter
from samebits.data.bad_rows import BadRows
from samebits.data.journal import kept_folder
from samebits.errors import ConfigError, ParityError
from samebits.jobs import get_job
from samebits.lockstep.logs.run_files import step_rows, validation_rows
from samebits.lockstep.parent.checkpoints import Checkpoint, load_step, steps_in
from samebits.lockstep.parent.replay import ReplayResult
from samebits.lockstep.verification.differences import (
    checkpoint_difference,
    first_step_difference,
    named_tensors,
    read_model,
    read_steps,
    tensor_difference,
)
from samebits.verification.artifacts import plan_again, read_record, verify

__all__ = ["ReplayReport", "replay"]


@dataclass(frozen=True, slots=True)
class ReplayReport:
    """What a replay compared, all of it equal.

    Attributes:
        first: The first step that was computed: the checkpoint's, or 0.
        stop: One more than the last.
        state: sha256 of parameters and moments after ``stop`` steps; two people who publish theirs find out whether they agree.
        checked: What else was equal, in sentences.
    """

    first: int
    stop: int
    state: str
    checked: tuple[str, ...]


def replay(
    folder: Path | str,
    start: int,
    stop: int,
    *,
    options: RunOptions | None = None,
    inputs: Sequence[str] = (),
    observer: Observer = ignore,
) -> ReplayReport:
    """Compute steps ``[start, stop)`` of a training run again and compare them with what it says of them.

    Args:
        folder: The artifact; its record says where the inputs are.
        start: First step to compare, from 0; computing begins at the last kept checkpoint before it.
        stop: One more than the last step.
        options: How to compute them: ``workers`` and ``stall_timeout`` have a meaning here.
        inputs: Where the inputs are now, if not where the record says.
        observer: Told of every event.

    Raises:
        ConfigError: the artifact is no training run, or has no such steps.
        PlanMismatch: the inputs are not the same any more.
        ParityError: names the first step, or the first tensor, that came out differently.
    """
    artifact, options = verify(folder), options or RunOptions()
    job = get_job(str(artifact.manifest["job"]))
    if job.default_executor != "lockstep":
        raise ConfigError(f"{job.name} has no steps to compute again", hint="use --rerun K for its shards")
    logged = read_steps(artifact.path("steps.jsonl"))
    if not 0 <= start < stop <= len(logged):
        raise ConfigError(
            f"there are no steps {start}:{stop} in a run of {len(logged)} steps",
            hint=f"give FROM:TO with 0 <= FROM < TO <= {len(logged)}; TO itself is not computed",
        )
    planned = plan_again(artifact, inputs)
    found = _compute(planned, Replay(start, stop, kept_folder(artifact.folder)), options, observer)
    _compare_log(artifact, logged, found)
    return ReplayReport(
        found.first, stop, found.digest, tuple(_compare_states(artifact, logged, found, stop))
    )


def _compute(what: tuple[Plan, Any], wanted: Replay, options: RunOptions, observer: Observer) -> ReplayResult:
    """Run the job up to the end of its replay; it writes to a folder that is thrown away."""
    planned, config = what
    job = get_job(planned.job)
    with (
        tempfile.TemporaryDirectory() as scratch,
        api.open_executor(job, planned, options) as (executor, _),
        closing(ArtifactWriter(Path(scratch) / "out", BadRows("100%"))) as out,
    ):
        place = Place(workers=executor.workers, stall_timeout=options.stall_timeout, replay=wanted)
        try:
            job.run(planned, config, Engine(executor, plan=planned, place=place, observer=observer), out)
        except Replayed as done:
            result: ReplayResult = done.result
            return result
    raise AssertionError(f"{job.name} did not train")


def _compare_log(artifact: Artifact, logged: Sequence[Mapping[str, Any]], found: ReplayResult) -> None:
    rows = list(step_rows(found.history.steps))
    for where, part in (
        ("the kept checkpoint", slice(found.first)),
        ("the replay", slice(found.first, None)),
    ):
        if difference := first_step_difference(logged[: len(rows)][part], rows[part], start=part.start or 0):
            raise _differs(artifact, f"{difference} in the log and in {where}", found)
    said = read_steps(artifact.path("val.jsonl"))
    again = list(validation_rows(found.history.validations))
    for ours, theirs in zip(said, again, strict=False):
        if ours != theirs:
            raise _differs(
                artifact,
                f"the validation after {ours['step']} steps: {ours['loss']} and {theirs['loss']}",
                found,
            )


def _compare_states(
    artifact: Artifact, logged: Sequence[Mapping[str, Any]], found: ReplayResult, stop: int
) -> list[str]:
    """Compare parameters and moments at the end with what is there to compare them with."""
    said = []
    kept = kept_folder(artifact.folder)
    if stop in steps_in(kept):
        again = Checkpoint(stop, dict(found.head), found.tensors)
        if difference := checkpoint_difference(load_step(kept, stop), again):
            raise _differs(artifact, f"the checkpoint after {stop} steps: {difference}", found)
        said.append(f"the checkpoint after {stop} steps is the same")
    if stop == len(logged):
        weights = named_tensors(found.head, found.tensors.get("average", found.tensors["params"]))
        if difference := tensor_difference(read_model(artifact.path("model.safetensors")), weights):
            raise _differs(artifact, f"the model: {difference}", found)
        said.append("the weights of the model are the same")
    return said


def _differs(artifact: Artifact, text: str, found: ReplayResult) -> ParityError:
    """Return the error; where equal bits are not promised it says so instead of accusing anybody."""
    then = read_record(artifact.folder).get("metrics", {}).get("fingerprint", {})
    other = [
        name for name in sorted({*then, *found.fingerprint}) if then.get(name) != found.fingerprint.get(name)
    ]
    hint = ""
    if other:
        hint = (
            f"this proves nothing: the run was made with a different {', '.join(other)}, and its bits are promised for one "
            "type of CPU and one set of libraries only"
        )
    return ParityError(f"{artifact.folder} cannot be reproduced; first difference in {text}", hint=hint)
