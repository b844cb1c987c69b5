"""samebits demo: the whole of it, from raw bytes to a trained model, seen to work on the sample texts inside the package."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samebits.cli.commands.demo_data import ENCODINGS, write_world
from samebits.cli.sections import HOW, OTHER, PRINT, SectionedCommand, SectionedOption
from samebits.errors import ParityError
from samebits.pipeline.command import show_stage
from samebits.progress import make_progress

if TYPE_CHECKING:
    from samebits.pipeline import PipelineResult
    from samebits.pipeline.recipe import PipelineRecipe

__all__ = ["command"]

RECIPE = """# What 'samebits demo' runs. Change it and run it yourself: samebits pipeline run recipe.toml
output = "run"

[stage.encodings]
job = "charset train"
inputs = ["world/texts"]
unit = "line"
min_retention = 0.5

[stage.text]
job = "charset decode"
inputs = ["world/raw"]
model = "@encodings"

[stage.languages]
job = "langid train"
inputs = ["@text"]
cycles = 2
ledger_text = true

[stage.clean]
job = "langid clean"
inputs = ["@text"]
model = "@languages"

[stage.tokenizer]
job = "tokens train-tokenizer"
inputs = ["@clean"]
vocab_size = 1500

[stage.tokens]
job = "tokens build"
inputs = ["@clean"]
tokenizer = "@tokenizer"
val_ratio = 0.1

[stage.model]
job = "lm train"
inputs = ["@tokens"]
preset = "tiny"
steps = 400
sample_tokens = 120

[stage.expressions]                  # arithmetic as text and as graphs
job = "graph generate"
n = 3000
depths = "2:50,3:50"

[stage.parser]
job = "graph train"
inputs = ["@expressions"]
steps = 250
validate_every = 125

[stage.parsed]                       # on expressions the parser has never seen
job = "graph eval"
inputs = ["@expressions/test.jsonl"]
model = "@parser"
"""
QUICK = ("model.steps=30", "parser.steps=20", "parser.validate_every=20", "expressions.n=1000")
# Stages that train by steps; the others are repeated with another number of workers.
MODELS = ("model", "parser", "parsed")


def _demo(*, quick: bool, output: str, workers: str, progress: bool, also: tuple[str, ...]) -> None:
    from samebits import pipeline
    from samebits.core.options import RunOptions

    folder = Path(output)
    made = write_world(folder / "world")
    (folder / "recipe.toml").write_text(RECIPE, encoding="utf-8")
    click.echo(
        f"The world: {made['rows']:,} sentences in {made['languages']} languages, in {made['files']} files; "
        f"{len(ENCODINGS)} languages in old encodings, {made['wrong_labels']} sentences under a wrong label.\n"
    )
    changes = QUICK if quick else ()
    recipe = pipeline.load(folder / "recipe.toml", changes=changes)
    with make_progress(show=progress, quiet=False, verbose=False) as observer:
        first = pipeline.run(
            recipe, options=RunOptions(workers=workers), observer=observer, finished=show_stage
        )
    again, other = _repeat(folder, changes, workers)
    click.echo("")
    _show_table(first, again, folder, other)
    _show_words(folder)
    page = _write_report(folder, also)
    click.echo(f"\nThe report: {page}")
    click.echo(f"Write more: samebits lm sample -m {folder / 'run' / 'model'}")
    if any(digest != again[name] for name, digest in _digests(first).items() if name in again):
        raise ParityError("the digests differ", hint="run 'samebits doctor' and report its output")


def _digests(result: PipelineResult) -> dict[str, str]:
    return {stage.name: stage.digest for stage in result.stages}


def _repeat(folder: Path, changes: tuple[str, ...], workers: str) -> tuple[dict[str, str], str]:
    """Run the cheap stages once more, from nothing, with another number of workers."""
    import shutil

    from samebits import pipeline
    from samebits.core.options import RunOptions
    from samebits.machine.cores import look_at_machine

    one = workers == "1" or (workers == "auto" and look_at_machine().physical == 1)
    other = "3" if one else "1"
    target = folder / "again"
    shutil.rmtree(target, ignore_errors=True)
    recipe = pipeline.load(folder / "recipe.toml", output=target, changes=changes)
    result = pipeline.run(_without_models(recipe), options=RunOptions(workers=other))
    return _digests(result), other


def _without_models(recipe: PipelineRecipe) -> PipelineRecipe:
    from dataclasses import replace

    return replace(recipe, stages=tuple(stage for stage in recipe.stages if stage.name not in MODELS))


def _show_table(first: PipelineResult, again: dict[str, str], folder: Path, other: str) -> None:
    facts = _facts(first, folder)
    click.echo(f"{'what':12} {'how much':64} {'seconds':>8}  same with {other}")
    for stage in first.stages:
        same = "–" if stage.name not in again else "yes" if again[stage.name] == stage.digest else "NO"
        took = "skipped" if stage.skipped else f"{stage.seconds:.1f}"
        click.echo(f"{stage.name:12} {facts[stage.name]:64} {took:>8}  {same}")


def _facts(first: PipelineResult, folder: Path) -> dict[str, str]:
    about = {stage.name: stage.metrics for stage in first.stages}
    return {
        "encodings": f"{about['encodings']['trained']} models of language and encoding",
        "text": f"{about['text']['files']} files decoded, {_right_encodings(folder)} with the right encoding",
        "languages": f"{about['languages']['languages']} languages, {about['languages']['words']:,} words",
        "clean": _cleaned(about["clean"], folder),
        "tokenizer": "1,500 byte pairs at most, learned from the clean rows",
        "tokens": f"{sum(s['tokens'] for s in about['tokens']['splits'].values()):,} tokens, memory-mapped",
        "model": f"{about['model']['parameters']:,} parameters, {about['model']['steps']} steps, "
        f"validation loss {about['model']['val_loss']:.2f}",
        "expressions": f"{sum(about['expressions']['examples'].values()):,} expressions with their graphs",
        "parser": f"{about['parser']['parameters']:,} parameters, {about['parser']['steps']} steps",
        "parsed": f"{about['parsed']['exact_match']:.1%} of {about['parsed']['examples']} unseen expressions parsed exactly",
    }


def _show_words(folder: Path) -> None:
    """Show what the two models make: a line of text, and graphs of expressions."""
    sample = (folder / "run" / "model" / "samples" / "final.txt").read_text(encoding="utf-8").split("\n")[0]
    click.echo(f"\nThe model writes: {sample[:100].replace('<|endoftext|>', ' / ')}")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def _right_encodings(folder: Path) -> int:
    """Count files whose text came out as it was: several encodings may be right for one file."""
    truth = {row["file"]: row["encoding"] for row in _lines(folder / "world" / "truth.jsonl")}
    right = 0
    for row in _lines(folder / "run" / "text" / "files.jsonl"):
        data = (folder / "world" / "raw" / row["file"]).read_bytes()
        found = row["encoding"] and data.decode(row["encoding"], "replace")
        right += found == data.decode(truth[row["file"]])
    return right


def _cleaned(about: dict[str, Any], folder: Path) -> str:
    """Say how many of the wrong labels were found; the ledger names the rows by line."""
    truth = {row["file"]: row["language"] for row in _lines(folder / "world" / "truth.jsonl")}
    wrong = [truth[row["file"]] != row["lang"] for row in _lines(folder / "run" / "text" / "rows.jsonl")]
    dropped = [row["line"] for row in _lines(folder / "run" / "clean" / "dropped.jsonl")]
    found = sum(wrong[line - 1] for line in dropped)
    return f"{about['kept']:,} rows kept; {found} of {sum(wrong)} wrong labels and {len(dropped) - found} others dropped"


def _write_report(folder: Path, also: tuple[str, ...]) -> Path:
    from samebits.data.files import write_atomic
    from samebits.report.page import make_page

    page = folder / "report.html"
    write_atomic(
        page, make_page([folder / "run", folder / "again", *map(Path, also)], title="samebits demo").encode()
    )
    return page


command = SectionedCommand(
    "demo",
    callback=_demo,
    params=[
        SectionedOption(["--quick"], is_flag=True, section=OTHER, help="train the model for fewer steps"),
        SectionedOption(
            ["-o", "--output"],
            default="samebits-demo",
            metavar="DIR",
            section=OTHER,
            help="folder to work in; a second run skips what is done [samebits-demo]",
        ),
        SectionedOption(
            ["-w", "--workers"],
            default="auto",
            metavar="N|auto",
            section=HOW,
            help="number of workers, or auto [auto]",
        ),
        SectionedOption(
            ["--with", "also"],
            multiple=True,
            metavar="DIR|FILE",
            section=OTHER,
            help="show these records on the page too; may be given several times",
        ),
        SectionedOption(
            ["--progress/--no-progress"], default=True, section=PRINT, help="show one progress line [on]"
        ),
    ],
    help="Run the whole of it on the sample texts inside the package: files in old encodings under noisy labels become text, clean rows, "
    "tokens and a small language model; then the cheap stages again with another number of workers, to compare digests.",
    example="""
    samebits demo
    samebits demo --quick -o /tmp/demo
    """,
)
