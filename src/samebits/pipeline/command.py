"""samebits pipeline: init, plan, run. One recipe from raw bytes to a trained model."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samebits.cli import flags
from samebits.cli.job_command import observing
from samebits.cli.sections import OTHER, PRINT, WHAT, SectionedCommand, SectionedGroup, SectionedOption
from samebits.core.observing.units import show_count
from samebits.errors import OutputExists, SamebitsError

if TYPE_CHECKING:
    from samebits.pipeline import PipelineResult, StageResult
    from samebits.pipeline.recipe import PipelineRecipe

__all__ = ["group", "show_stage"]

RECIPE = """# A samebits recipe: raw bytes to a trained model. Run it with: samebits pipeline run {name}
# Paths are relative to this file. "@text" is what the stage "text" made; "@text/files.jsonl" is one file of it.
# A stage is skipped while its settings, its input and its job's version are unchanged.

output = "run"                       # one folder a stage is made in here

[stage.encodings]                    # models that tell encodings apart
job = "charset train"
inputs = ["texts"]                   # texts/<language>/*.txt in UTF-8
unit = "line"

[stage.text]                         # files of unknown encoding -> rows of text, labelled by their folder
job = "charset decode"
inputs = ["raw"]                     # raw/<language>/*
model = "@encodings"

[stage.languages]                    # language dictionaries from those noisy labels
job = "langid train"
inputs = ["@text"]
cycles = 2

[stage.clean]                        # rows whose label the model agrees with
job = "langid clean"
inputs = ["@text"]
model = "@languages"
min_confidence = 0.8

[stage.tokenizer]
job = "tokens train-tokenizer"
inputs = ["@clean"]
vocab_size = 8000

[stage.tokens]                       # memory-mapped tokens
job = "tokens build"
inputs = ["@clean"]
tokenizer = "@tokenizer"
val_ratio = 0.1

[stage.model]                        # a small language model
job = "lm train"
inputs = ["@tokens"]
preset = "tiny"
steps = 200
"""


def _init(path: str, *, overwrite: bool) -> None:
    target = Path(path)
    if target.exists() and not overwrite:
        raise OutputExists(f"{target} already exists", hint="add --overwrite to replace it")
    target.write_text(RECIPE.replace("{name}", target.name), encoding="utf-8")
    click.echo(f"written to {target}", err=True)
    click.echo(f"next: samebits pipeline plan {target}", err=True)


def _load(values: dict[str, Any]) -> PipelineRecipe:
    from samebits import pipeline

    return pipeline.load(values["recipe"], output=values["output"], changes=values["changes"])


def _plan(**values: Any) -> None:
    from samebits import pipeline

    recipe = _load(values)
    found = pipeline.outlook(recipe)
    if values["as_json"]:
        for item in found:
            click.echo(
                json.dumps(
                    {"stage": item.spec.name, "job": item.spec.command, "needs": item.spec.needs}
                    | {"runs": item.runs, "why": item.why}
                )
            )
        return
    for item in found:
        needs = f" <- {', '.join(item.spec.needs)}" if item.spec.needs else ""
        would = WORDS[item.why]
        click.echo(f"{item.spec.name:14} {item.spec.command:24} {would}{needs}")


WORDS = {
    "unchanged": "skip: unchanged",
    "new": "run:  not made yet",
    "changed": "run:  settings, input or job changed",
    "damaged": "run:  its artifact is damaged",
    "unfinished": "run:  continues an interrupted run",
    "waits": "run:  unless its input comes out the same",
}


def show_stage(result: StageResult) -> None:
    """Print one line for a finished stage."""
    took = "skipped" if result.skipped else f"{result.seconds:.2f} s"
    click.echo(f"{result.name:14} {result.command:24} {took:>10}  {result.digest[:16]}", err=True)
    failed = result.metrics.get("failed")
    if failed:
        click.echo(f"note: {result.name}: {show_count(len(failed), 'pair')} without a model", err=True)


def _run(**values: Any) -> None:
    from samebits import pipeline
    from samebits.pipeline.running import check

    recipe = _load(values)
    options = flags.build_options(values, None)
    check(recipe, options)
    done: list[StageResult] = []

    def finished(result: StageResult) -> None:
        done.append(result)
        if not values["quiet"]:
            show_stage(result)

    with observing(values) as observer:
        try:
            result = pipeline.run(recipe, options=options, observer=observer, finished=finished)
        except SamebitsError:
            if len(done) < len(recipe.stages):
                click.echo(f"stage {recipe.stages[len(done)].name!r} stopped:", err=True)
            raise
    _say(result, values)


def _say(result: PipelineResult, values: dict[str, Any]) -> None:
    if values["as_json"]:
        stages = [dataclasses.asdict(stage) for stage in result.stages]
        click.echo(json.dumps({"digest": result.digest, "seconds": result.seconds, "stages": stages}))
    elif not values["quiet"]:
        skipped = sum(stage.skipped for stage in result.stages)
        click.echo(
            f"{len(result.stages)} stages, {skipped} skipped, {result.seconds:.2f} s; written to {result.output}",
            err=True,
        )
        click.echo(f"digest {result.digest}", err=True)


def _recipe_params() -> list[click.Parameter]:
    return [
        click.Argument(["recipe"], metavar="RECIPE.toml"),
        SectionedOption(
            ["--set", "changes"],
            multiple=True,
            metavar="STAGE.KEY=VALUE",
            section=WHAT,
            help="change a setting of the recipe; may be given several times",
        ),
        SectionedOption(
            ["-o", "--output"], metavar="DIR", section=OTHER, help="folder for the stages [the recipe's own]"
        ),
    ]


group = SectionedGroup("pipeline", help="Run a recipe of several jobs; redo only what changed.")
group.example = """
samebits pipeline init recipe.toml
samebits pipeline run recipe.toml -w 2
"""
group.add_command(
    SectionedCommand(
        "init",
        callback=_init,
        params=[
            click.Argument(["path"], metavar="RECIPE.toml", default="recipe.toml"),
            SectionedOption(["--overwrite"], is_flag=True, section=OTHER, help="replace a file that exists"),
        ],
        help="Write a commented recipe: encodings, text, languages, clean rows, tokens, a language model.",
        example="samebits pipeline init recipe.toml",
    )
)
group.add_command(
    SectionedCommand(
        "plan",
        callback=_plan,
        params=[
            *_recipe_params(),
            SectionedOption(
                ["--json", "as_json"], is_flag=True, section=PRINT, help="print JSON, one object per line"
            ),
        ],
        help="Show the stages in order, what each reads, and which would run.",
        example="samebits pipeline plan recipe.toml",
    )
)
group.add_command(
    SectionedCommand(
        "run",
        callback=_run,
        params=[*_recipe_params(), *flags.run_flags(), *flags.print_flags()],
        help="Run the stages that are new, changed or unfinished. The same command continues after an interruption.",
        example="samebits pipeline run recipe.toml -w 2 --set model.steps=100",
    )
)
