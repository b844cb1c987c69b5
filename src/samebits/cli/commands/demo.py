"""samebits demo: from raw bytes to a model that writes, on the sample texts inside the package, and one digest five ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samebits.cli.commands.demo_data import ENCODINGS, write_world
from samebits.cli.commands.demo_story import story
from samebits.cli.commands.demo_ways import WayResult, compute_ways
from samebits.cli.sections import HOW, OTHER, PRINT, SectionedCommand, SectionedOption
from samebits.core.observing.events import Observer, Warned
from samebits.errors import ParityError
from samebits.progress.line import make_progress

if TYPE_CHECKING:
    from samebits.pipeline import PipelineResult

__all__ = ["command"]

# The stages that are computed five ways.
TEXT = """# What 'samebits demo' runs. Change it and run it yourself: samebits pipeline run {name}
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
inputs = ["world/story.txt"]
vocab_size = 800

[stage.tokens]
job = "tokens build"
inputs = ["world/story.txt"]
tokenizer = "@tokenizer"
val_ratio = 0.1
"""
MODEL = """
[stage.untrained]                    # the model before its first step, to compare
job = "lm train"
inputs = ["@tokens"]
preset = "tiny"
steps = 0
sample_tokens = 40

[stage.model]
job = "lm train"
inputs = ["@tokens"]
preset = "tiny"
steps = 300
sample_tokens = 120
"""
PARSER = """
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
QUICK = ("model.steps=60",)
END = "<|endoftext|>"


def _demo(*, quick: bool, output: str, workers: str, progress: bool, also: tuple[str, ...]) -> None:
    from samebits import pipeline
    from samebits.core.options import RunOptions

    folder = Path(output)
    made = write_world(folder / "world")
    (folder / "world" / "story.txt").write_text(story(), encoding="utf-8")
    (folder / "recipe-text.toml").write_text(TEXT.format(name="recipe-text.toml"), encoding="utf-8")
    whole = TEXT.format(name="recipe.toml") + MODEL + ("" if quick else PARSER)
    (folder / "recipe.toml").write_text(whole, encoding="utf-8")
    recipe = pipeline.load(folder / "recipe.toml", changes=QUICK if quick else ())
    with make_progress(show=progress) as observer:
        quiet = _without_notes(observer)
        done = pipeline.run(recipe, options=RunOptions(workers=workers), observer=quiet)
        ways = compute_ways(folder / "recipe-text.toml", folder / "ways", quiet)
    _show_results(done, ways, made, folder)
    _show_words(folder)
    page = _write_report(folder, also)
    click.echo(f"\nlook:        {page}")
    for line in closing_lines(folder):
        click.echo(f"try:         {line}")
    if len({way.digest for way in ways}) > 1:
        raise ParityError("the digests differ", hint="run 'samebits doctor' and report its output")


def _without_notes(observer: Observer) -> Observer:
    """Pass on progress alone: the notes of single stages would tell this story from its middle."""
    return lambda event: None if isinstance(event, Warned) else observer(event)


def closing_lines(folder: Path) -> list[str]:
    """Return the commands that the demo ends with; a test runs them."""
    return [
        f"samebits lm sample -m {folder / 'run' / 'model'} -p 'In the morning'",
        f"samebits langid predict -m {folder / 'run' / 'languages'} {folder / 'world' / 'story.txt'}",
        f"samebits verify {folder / 'run' / 'model'}",
    ]


def _show_results(done: PipelineResult, ways: list[WayResult], made: dict[str, int], folder: Path) -> None:
    """Say what came out, best first; every line fits a terminal of 80 columns."""
    about = {stage.name: stage.metrics for stage in done.stages}
    found, wrong, others = _cleaned(folder)
    tokens = sum(split["tokens"] for split in about["tokens"]["splits"].values())
    click.echo(
        f"encodings    {_right_encodings(folder)} of {made['files']} files decoded, {len(ENCODINGS)} old encodings among them"
    )
    click.echo(
        f"labels       {found} of {wrong} wrong labels found in {made['languages']} languages, {others} right ones lost"
    )
    click.echo(f"tokens       {tokens:,} tokens, memory-mapped")
    model = about["model"]
    click.echo(
        f"model        {model['parameters']:,} parameters, {model['steps']} steps, validation loss {model['val_loss']:.2f}"
    )
    if "parsed" in about:
        parsed = about["parsed"]
        click.echo(
            f"parser       {parsed['exact_match']:.1%} of {parsed['examples']} unseen expressions parsed exactly"
        )
    same = len({way.digest for way in ways}) == 1
    click.echo(f"digest       {'the same' if same else 'NOT THE SAME'} {len(ways)} ways:")
    for way in ways:
        click.echo(f"  {way.digest[:32]}  {way.way.name:22} {way.seconds:6.1f} s")


def _show_words(folder: Path) -> None:
    """Show what the model writes, before its first step and after its last."""
    for name, when in (("untrained", "before"), ("model", "after")):
        path = folder / "run" / name / "samples" / "final.txt"
        text = path.read_text(encoding="utf-8").replace(END, " ")
        click.echo(f"\nthe model, {when} training:\n{_folded(text)}")


def _folded(text: str, width: int = 76, most: int = 4) -> str:
    import textwrap

    return textwrap.indent("\n".join(textwrap.wrap(text, width)[:most]), "  ")


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


def _cleaned(folder: Path) -> tuple[int, int, int]:
    """Return how many wrong labels were found, of how many, and how many right ones went with them."""
    truth = {row["file"]: row["language"] for row in _lines(folder / "world" / "truth.jsonl")}
    wrong = [truth[row["file"]] != row["lang"] for row in _lines(folder / "run" / "text" / "rows.jsonl")]
    dropped = [row["line"] for row in _lines(folder / "run" / "clean" / "dropped.jsonl")]
    found = sum(wrong[line - 1] for line in dropped)
    return found, sum(wrong), len(dropped) - found


def _write_report(folder: Path, also: tuple[str, ...]) -> Path:
    from samebits.data.files import write_atomic
    from samebits.report.page import make_page

    page = folder / "report.html"
    write_atomic(
        page,
        make_page(
            [folder / "run", *sorted((folder / "ways").iterdir()), *map(Path, also)], title="samebits demo"
        ).encode(),
    )
    return page


command = SectionedCommand(
    "demo",
    callback=_demo,
    params=[
        SectionedOption(
            ["--quick"],
            is_flag=True,
            section=OTHER,
            help="train the language model for fewer steps, and no parser",
        ),
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
    help="See all of it work on the sample texts inside the package. Files in old encodings with noisy labels become clean text, a "
    "story becomes tokens and a small model that writes, expressions become a parser. Everything but the training is computed in five "
    "different ways, and the digests are compared.",
    example="""
    samebits demo
    samebits demo --quick -o /tmp/demo
    """,
)
