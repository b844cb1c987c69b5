"""Run a recipe: every stage once, again only when something it depends on changed.

A stage is skipped when its artifact is whole and was made by the same version of the job from the same Config and the
same input bytes. So a changed setting redoes its own stage, and a later stage only if what it reads came out different.

    result = samebits.pipeline.run("recipe.toml")
    result.digest      # the same for any number of workers
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from samebits import api
from samebits.core.config import read_toml, saved_fields
from samebits.core.digest import canonical_json, digest_of
from samebits.core.observing import clock
from samebits.core.observing.events import Event, Observer, StageDone, StageStarted, Warned, ignore
from samebits.core.options import RunOptions
from samebits.data.artifact import open_artifact
from samebits.data.files import write_atomic
from samebits.data.journal import journal_folder, remove_finished
from samebits.errors import ArtifactCorrupt, OutputExists, PlanMismatch
from samebits.jobs import get_job
from samebits.pipeline.recipe import PipelineRecipe, StageSpec, parse_recipe, with_settings

__all__ = ["PipelineResult", "StageOutlook", "StageResult", "check", "load", "outlook", "run"]

Why = Literal["unchanged", "new", "changed", "damaged", "unfinished", "waits"]


@dataclass(frozen=True, slots=True)
class StageOutlook:
    """What would become of a stage.

    Attributes:
        runs: False if it would be skipped.
        why: ``waits`` if a stage it reads from runs first, so that it may be skipped after all.
    """

    spec: StageSpec
    runs: bool
    why: Why


@dataclass(frozen=True, slots=True)
class StageResult:
    """One stage after a run."""

    name: str
    command: str
    digest: str
    skipped: bool
    why: str
    seconds: float
    metrics: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """All stages, and one digest over theirs: equal for any number of workers."""

    output: Path
    stages: tuple[StageResult, ...]
    seconds: float

    @property
    def digest(self) -> str:
        """Digest over the stages' names, jobs and artifacts."""
        return digest_of([[stage.name, stage.command, stage.digest] for stage in self.stages])


def load(
    path: str | Path, *, output: str | Path | None = None, changes: Iterable[str] = ()
) -> PipelineRecipe:
    """Read a recipe file; ``changes`` are settings like ``model.steps=200``."""
    path = Path(path)
    document = with_settings(read_toml(path), changes)
    where = Path(output) if output is not None else None
    return parse_recipe(document, folder=path.resolve().parent, output=where)


def outlook(recipe: PipelineRecipe) -> list[StageOutlook]:
    """Say what a run would do, without doing any of it."""
    found: list[StageOutlook] = []
    running: set[str] = set()
    for spec in recipe.stages:
        why: Why = "waits" if running.intersection(spec.needs) else _look(recipe, spec)
        if why != "unchanged":
            running.add(spec.name)
        found.append(StageOutlook(spec, why != "unchanged", why))
    return found


def check(recipe: PipelineRecipe, options: RunOptions) -> None:
    """Find mistakes before any stage starts: one in the last stage is reported before hours of work on the first.

    Raises:
        ConfigError: The first mistake.
    """
    for spec in recipe.stages:
        recipe.config_of(spec, get_job(spec.job).Config)
        api.refuse_ranks("a pipeline", spec.job, options)
    options.check_stages(stage for spec in recipe.stages for stage in get_job(spec.job).stages)


def run(
    recipe: PipelineRecipe | str | Path,
    *,
    options: RunOptions | None = None,
    observer: Observer = ignore,
    finished: Callable[[StageResult], None] | None = None,
) -> PipelineResult:
    """Run every stage that is not done yet.

    Args:
        recipe: A recipe or the path of one.
        options: How to compute; never changes the result.
        observer: Told of every event; stages carry the pipeline stage's name in front.
        finished: Told of each stage when it is done or skipped.

    Raises:
        SamebitsError: of the stage that failed; the same call goes on where it stopped.
    """
    recipe = recipe if isinstance(recipe, PipelineRecipe) else load(recipe)
    options = dataclasses.replace(options or RunOptions(), overwrite=True)
    check(recipe, options)
    started = clock.seconds()
    results: list[StageResult] = []
    for number, spec in enumerate(recipe.stages, 1):
        title = f"{number}/{len(recipe.stages)} {spec.name}"
        results.append(_run_stage(recipe, spec, options, _titled(observer, title)))
        if finished is not None:
            finished(results[-1])
    result = PipelineResult(recipe.output, tuple(results), clock.seconds() - started)
    _save(result)
    return result


def _look(recipe: PipelineRecipe, spec: StageSpec) -> Why:
    """Plan a stage and compare the plan with the artifact that lies there."""
    folder, job = recipe.folder_of(spec.name), get_job(spec.job)
    if not (folder / "manifest.json").exists():
        return "unfinished" if journal_folder(folder).exists() else "new"
    try:
        manifest = open_artifact(folder).manifest
    except ArtifactCorrupt:
        return "damaged"
    config = recipe.config_of(spec, job.Config)
    planned = job.plan(config)
    made_of = [manifest.get(key) for key in ("job", "job_version", "config", "input_digest")]
    same = made_of == [planned.job, planned.version, saved_fields(config), planned.input_digest]
    return "unchanged" if same else "changed"


def _run_stage(
    recipe: PipelineRecipe, spec: StageSpec, options: RunOptions, observer: Observer
) -> StageResult:
    folder = recipe.folder_of(spec.name)
    if folder.exists() and not (folder / "manifest.json").exists():
        raise OutputExists(
            f"{folder} is there and no stage made it", hint="move it away, or name a different output"
        )
    why = _look(recipe, spec)
    if why == "unchanged":
        remove_finished(folder)
        digest = open_artifact(folder, check="sizes").digest
        return StageResult(spec.name, spec.command, digest, True, why, 0.0, _metrics(folder))
    config = recipe.config_of(spec, get_job(spec.job).Config)
    options = options.with_stages(get_job(spec.job).stages)
    try:
        made = api.run(spec.job, config, output=folder, options=options, observer=observer)
    except PlanMismatch:  # an interrupted run of other settings or data; its parts are of no use to this one
        observer(Warned(f"{spec.name}: something changed since it was interrupted; it starts over"))
        afresh = dataclasses.replace(options, resume=False)
        made = api.run(spec.job, config, output=folder, options=afresh, observer=observer)
    return StageResult(spec.name, spec.command, made.artifact_digest, False, why, made.seconds, made.metrics)


def _metrics(folder: Path) -> dict[str, Any]:
    """Return the metrics of the run that made an artifact; they are no part of it, so they may be missing."""
    try:
        return dict(json.loads((folder / "record.json").read_bytes())["metrics"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _titled(observer: Observer, title: str) -> Observer:
    """Put the pipeline's stage in front of the engine's, so that one progress line serves all."""

    def tell(event: Event) -> None:
        if isinstance(event, StageStarted | StageDone):
            event = dataclasses.replace(event, stage=f"{title}: {event.stage}")
        observer(event)

    return tell


def _save(result: PipelineResult) -> None:
    """Write what was made (``pipeline.json``, no accidents) and how it went (``record.json``)."""
    stages = [{"name": s.name, "job": s.command, "digest": s.digest} for s in result.stages]
    write_atomic(result.output / "pipeline.json", canonical_json({"digest": result.digest, "stages": stages}))
    how = [
        {"name": s.name, "skipped": s.skipped, "why": s.why, "seconds": s.seconds, "metrics": s.metrics}
        for s in result.stages
    ]
    write_atomic(result.output / "record.json", canonical_json({"seconds": result.seconds, "stages": how}))
