"""samebits langid languages, overlap and export: what is in a model."""

from __future__ import annotations

import json
from typing import Any

import click

from samebits.cli.sections import PRINT, WHAT, SectionedCommand, SectionedOption
from samebits.cli.terminal import echo_rows

__all__ = ["export_command", "languages_command", "load_model", "model_flag", "overlap_command"]


def model_flag(*, required: bool) -> click.Parameter:
    """Return ``-m/--model``."""
    text = "folder of the model" + ("" if required else " [the package's own, about 200 languages]")
    return SectionedOption(["-m", "--model"], required=required, metavar="DIR", section=WHAT, help=text)


def load_model(model: str | None) -> Any:
    """Load a model from its folder, or the package's own."""
    from samebits import langid

    return langid.LangidModel.load(model) if model else langid.load_default()


def _languages(model: str | None, as_json: bool) -> None:
    """Print the labels of a model with their English names, where they are known."""
    from samebits.langid.model.titles import TITLES

    labels = load_model(model).languages
    if as_json:
        click.echo(json.dumps({label: TITLES.get(label, "") for label in labels}, ensure_ascii=False))
        return
    echo_rows((label, TITLES.get(label, "")) for label in labels)


def _overlap(model: str | None, metric: str, as_json: bool) -> None:
    """Print the matrix as tab-separated values."""
    from samebits.langid.model.words import WordTable, overlap

    table = WordTable.of(load_model(model).files)
    matrix = overlap(table, metric)
    if as_json:
        click.echo(json.dumps({"languages": table.languages, "metric": metric, "matrix": matrix}))
        return
    rows = zip(table.languages, matrix, strict=True)
    echo_rows([["", *table.languages], *([name, *(f"{value:.4f}" for value in row)] for name, row in rows)])


def _export(model: str | None, export_format: str) -> None:
    """Print the model's words in another tool's form."""
    from samebits.langid.model.words import WordTable, as_label_lines, as_lines, as_vocabulous

    table = WordTable.of(load_model(model).files)
    if export_format == "vocabulous":
        click.echo(as_vocabulous(table).decode())
        return
    for line in as_lines(table) if export_format == "tsv" else as_label_lines(table):
        click.echo(line)


def languages_command() -> click.Command:
    """Make ``langid languages``."""
    return SectionedCommand(
        "languages",
        callback=_languages,
        params=[
            model_flag(required=False),
            SectionedOption(["--json", "as_json"], is_flag=True, section=PRINT, help="print JSON"),
        ],
        help="List the languages of a model: the code that predict prints, and its English name.",
        example="samebits langid languages",
    )


def overlap_command() -> click.Command:
    """Make ``langid overlap``."""
    return SectionedCommand(
        "overlap",
        callback=_overlap,
        params=[
            model_flag(required=False),
            SectionedOption(
                ["--metric"],
                type=click.Choice(["cosine", "jaccard"]),
                default="cosine",
                section=WHAT,
                help="cosine of word frequencies, or share of common words [cosine]",
            ),
            SectionedOption(["--json", "as_json"], is_flag=True, section=PRINT, help="print JSON"),
        ],
        help="Print how alike the languages of a model are.",
        example="samebits langid overlap -m model --metric jaccard",
    )


def export_command() -> click.Command:
    """Make ``langid export``."""
    return SectionedCommand(
        "export",
        callback=_export,
        params=[
            model_flag(required=False),
            SectionedOption(
                ["--format", "export_format"],
                type=click.Choice(["vocabulous", "labels", "tsv"]),
                default="vocabulous",
                section=WHAT,
                help="vocabulous JSON; __label__xx lines for fastText; word, language and count per line [vocabulous]",
            ),
        ],
        help="Print a model's words for another tool.",
        example="samebits langid export -m model > vocabulous.json",
    )
