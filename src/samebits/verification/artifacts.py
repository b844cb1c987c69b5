"""Check that an artifact is what it says: every file, another artifact's bytes, or the computation itself.

``verify(folder)`` checks sizes and digests; ``compare`` names the first difference between two artifacts; ``rerun``
computes shards again, with any number of workers, and compares their digests with those of the run that made it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from samebits import api
from samebits.core.config import from_saved, make_config
from samebits.core.engine import Engine
from samebits.core.observing.events import Event, ShardDone
from samebits.core.options import RunOptions
from samebits.core.plan import Plan, Shard
from samebits.core.regular_file import read_regular
from samebits.core.seeds import rng_for
from samebits.data.artifact import BESIDE, Artifact, ArtifactWriter, open_artifact
from samebits.data.bad_rows import BadRows
from samebits.data.journal import kept_folder, remove_finished
from samebits.errors import ArtifactCorrupt, ConfigError, InputError, ParityError, PlanMismatch
from samebits.jobs import get_job

__all__ = ["compare", "plan_again", "read_record", "rerun", "verify"]

COMPARE_BYTES = 1 << 20


def verify(folder: Path | str) -> Artifact:
    """Check every file of an artifact, and that no file is there that the manifest does not list.

    A journal beside it, left by a run that was killed when the artifact was complete, is removed.

    Raises:
        ArtifactCorrupt: names file, expected and found.
    """
    artifact = open_artifact(folder)
    listed = set(artifact.files)
    for path in sorted(artifact.folder.rglob("*")):
        name = path.relative_to(artifact.folder).as_posix()
        if path.is_file() and name not in listed and name not in BESIDE:
            raise ArtifactCorrupt(
                f"{path}: not listed in the manifest", hint="remove it, or make the artifact again"
            )
    remove_finished(artifact.folder)
    return artifact


def compare(first: Path | str, second: Path | str) -> None:
    """Check that two artifacts have the same bytes.

    Raises:
        ParityError: names the first differing file and offset, or the first differing field of the manifests; of two
            training runs the first differing step, and the first differing tensor of the checkpoints kept beside them.
    """
    a, b = verify(first), verify(second)
    if a.digest == b.digest:
        return
    if "steps.jsonl" in a.files and "steps.jsonl" in b.files:
        _compare_training(a, b)
    for name in sorted({*a.files, *b.files}):
        if a.files.get(name) != b.files.get(name):
            raise ParityError(f"{first} and {second} differ in {name}{_first_difference(a, b, name)}")
    for key in sorted({*a.manifest, *b.manifest} - {"digest", "files"}):
        if a.manifest.get(key) != b.manifest.get(key):
            raise ParityError(
                f"{first} and {second} hold the same files, but {key} is "
                f"{a.manifest.get(key)!r} in one and {b.manifest.get(key)!r} in the other"
            )


def _compare_training(a: Artifact, b: Artifact) -> None:
    """Name the settings, the first step and the first tensor in which two training runs differ."""
    from samebits.lockstep.verification.differences import (
        first_checkpoint_difference,
        first_step_difference,
        models_differ,
        read_steps,
    )

    settings = [
        f"{key} is {a.config.get(key)!r} and {b.config.get(key)!r}"
        for key in sorted({*a.config, *b.config})
        if a.config.get(key) != b.config.get(key)
    ]
    step = first_step_difference(read_steps(a.path("steps.jsonl")), read_steps(b.path("steps.jsonl")))
    tensor = first_checkpoint_difference(kept_folder(a.folder), kept_folder(b.folder))
    if not tensor and (model := models_differ(a.path("model.safetensors"), b.path("model.safetensors"))):
        tensor = f"the model: {model}"
    said = [f"settings: {'; '.join(settings)}"] if settings else []
    said += [text for text in (step, tensor) if text]
    if said:
        raise ParityError(
            f"{a.folder} and {b.folder} differ, first in {said[0]}"
            + "".join(f"\n  {text}" for text in said[1:]),
            hint=""
            if settings
            else "samebits verify RUN --replay FROM:TO computes steps again and says which one is right",
        )


def _first_difference(a: Artifact, b: Artifact, name: str) -> str:
    if name not in a.files or name not in b.files:
        return f": only {a.folder if name in a.files else b.folder} has it"
    offset = 0
    with a.path(name).open("rb") as left, b.path(name).open("rb") as right:
        while True:
            x, y = left.read(COMPARE_BYTES), right.read(COMPARE_BYTES)
            if x != y:
                same = next(
                    (i for i, (p, q) in enumerate(zip(x, y, strict=False)) if p != q), min(len(x), len(y))
                )
                return f" at byte {offset + same}"
            offset += len(x)


def rerun(
    folder: Path | str,
    *,
    num_shards: int | None,
    options: RunOptions | None = None,
    allow_code: bool = False,
    inputs: Sequence[str] = (),
) -> int:
    """Compute shards of an artifact's first stage again and compare their digests.

    Args:
        folder: The artifact; its record says where the inputs are.
        num_shards: How many shards, spread over the run; None runs the whole job again and compares the artifact.
        options: How to compute them, e.g. with another number of workers.
        allow_code: Import and run code that the artifact names and this package does not have, e.g. a recipe book.
        inputs: Where the inputs are now, if not where the record says.

    Returns:
        The number of shards that were compared.

    Raises:
        ConfigError: if the artifact names code that is not built in and it was not allowed, or if shards are asked of a training run, whose gradients are kept nowhere to compare with.
        PlanMismatch: if the inputs are not the same any more.
        ParityError: names the first shard that came out differently.
    """
    artifact = verify(folder)
    job = get_job(str(artifact.manifest["job"]))
    if num_shards is not None and job.default_executor == "lockstep":
        raise ConfigError(
            f"{job.name} has no parts to compare",
            hint="use --replay FROM:TO to compute steps again, or --rerun all to train again",
        )
    planned, config = plan_again(artifact, inputs, allow_code=allow_code)
    options = options or RunOptions()
    if num_shards is None:
        return _rerun_all(artifact, planned, config, options)
    expected = _recorded_digests(artifact.folder)
    with api.open_executor(job, planned, options) as (executor, _), tempfile.TemporaryDirectory() as scratch:
        engine = _SampleEngine(executor, plan=planned, wanted=num_shards, expected=expected)
        with suppress(_Enough):
            job.run(planned, config, engine, ArtifactWriter(Path(scratch) / "out", BadRows("100%")))
    return engine.compared


def plan_again(
    artifact: Artifact, inputs: Sequence[str] = (), *, allow_code: bool = False
) -> tuple[Plan, Any]:
    """Return plan and settings of an artifact, made again from its inputs.

    Args:
        artifact: What was made.
        inputs: Where the inputs are now; without any, where the record says they were.
        allow_code: Import and run code that the artifact names and this package does not have.

    Raises:
        ConfigError: the artifact names such code, and it was not allowed.
        PlanMismatch: if the inputs are not the same any more.
    """
    job = get_job(str(artifact.manifest["job"]))
    record = read_record(artifact.folder)
    config = make_config(
        job.Config,
        {**from_saved(job.Config, artifact.config), "inputs": tuple(inputs) or record["inputs"]},
    )
    code = str(getattr(config, "own_code", ""))
    if code and not allow_code:
        raise ConfigError(
            f"the artifact wants {code!r} imported and run, which is not part of samebits",
            hint="add --allow-code if you trust whoever made the artifact",
        )
    planned = job.plan(config)
    recorded = str(record["plan_digest"])
    if planned.digest != recorded:
        raise PlanMismatch(
            f"the plan is {planned.digest[:16]} now and was {recorded[:16]}: the inputs have changed, or their names",
            hint="put the inputs back where record.json says they were, or name their place with --input",
        )
    return planned, config


def read_record(folder: Path) -> dict[str, Any]:
    """Return the record of an artifact.

    Raises:
        InputError: it is not there, or no JSON.
    """
    try:
        record: dict[str, Any] = json.loads(read_regular(folder / "record.json"))
        if not isinstance(record, dict) or not {"inputs", "plan_digest"} <= set(record):
            raise ValueError("it is not a record")
    except (OSError, ValueError, RecursionError, InputError) as error:
        hint = "only an artifact with its record.json can be run again"
        raise InputError(
            f"cannot read the record: {error}", path=str(folder / "record.json"), hint=hint
        ) from None
    return record


def _recorded_digests(folder: Path) -> dict[tuple[str, int], str]:
    path = folder / "events.jsonl"
    try:
        events = [json.loads(line) for line in read_regular(path).splitlines()]
        return {(e["stage"], e["index"]): str(e["digest"]) for e in events if e["event"] == "ShardDone"}
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(f"cannot read the events of the run: {error}", path=str(path)) from None


def _choose(num_shards: int, wanted: int) -> list[int]:
    """Choose shards without favour; the same ones each time, so that a failure can be repeated."""
    order = rng_for(0, "verify").permutation(num_shards)
    return sorted(int(index) for index in order[:wanted])


def _rerun_all(artifact: Artifact, planned: Plan, config: Any, options: RunOptions) -> int:
    with tempfile.TemporaryDirectory() as scratch:
        again = Path(scratch) / "again"
        api.run(planned.job, config, output=again, options=options)
        compare(artifact.folder, again)
    return len(planned.shards)


class _Enough(Exception):
    """The chosen shards are compared."""


@dataclass
class _SampleEngine(Engine):
    """An engine that runs only some shards of the first stage (nodes, where workers fold it), compares them, and stops."""

    wanted: int = 1
    compared: int = 0
    expected: dict[tuple[str, int], str] = field(default_factory=dict)

    def map_ordered(
        self,
        stage: str,
        task: Callable[[Shard, Any], Any],
        shards: Sequence[Shard],
        *,
        state: Any = None,
        unit: str,
        usable: Callable[[Any], bool] = lambda part: True,
        kept: bool = False,
    ) -> NoReturn:
        """Run and compare the chosen shards."""
        chosen = [shards[index] for index in _choose(len(shards), self.wanted)]
        found: dict[int, str] = {}

        def note(event: Event) -> None:
            if isinstance(event, ShardDone):
                found[event.index] = event.digest

        sample = Engine(self.executor, observer=note, plan=self.plan)
        for _ in sample.map_ordered(stage, task, chosen, state=state, unit=unit):
            pass
        self.compared = len(chosen)
        for index, digest in sorted(found.items()):
            before = self.expected.get((stage, index), "nothing")
            if before != digest:
                raise ParityError(
                    f"{self.describe(shards[index])} gave {digest[:16]} now and {before[:16]} when it was made"
                )
        raise _Enough
