"""samebits graph, the half that learns: generate, train, predict, eval."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from samebits.cli import flags
from samebits.cli.job_command import job_command
from samebits.cli.sections import OTHER, WHAT, SectionedCommand, SectionedOption
from samebits.core.observing.record import RunRecord

__all__ = ["commands"]


def summarize_generation(record: RunRecord) -> None:
    """Say how many examples are in each split."""
    about = record.metrics
    parts = ", ".join(f"{count:,} {split}" for split, count in about["examples"].items())
    click.echo(
        f"level {about['level']}: {parts}; {about['duplicates']:,} duplicates of {about['drawn']:,} draws left out",
        err=True,
    )


def summarize_training(record: RunRecord) -> None:
    """Say what was trained and how well it does."""
    about = record.metrics
    examples = about["examples"]
    click.echo(
        f"{about['parameters']:,} parameters, {about['steps']:,} steps on {examples['train']:,} examples; decoder "
        f"{about['decoder']}",
        err=True,
    )
    losses = [
        f"{name.replace('_', ' ')} {about[name]:.4f}"
        for name in ("train_loss", "val_loss")
        if about[name] is not None
    ]
    click.echo(f"{', '.join(losses)}; weights {about['state_digest'][:16]}", err=True)


MEASURES = (
    ("exact_match", "exact match"),
    ("execution", "execution"),
    ("uas", "UAS"),
    ("las", "LAS"),
    ("aligned_ged", "aligned GED"),
    ("ged_lower", "GED at least"),
    ("ged_upper", "GED at most"),
)


def summarize_evaluation(record: RunRecord) -> None:
    """Print the measures over all, by depth, by style and by length."""
    report = record.metrics
    head = ["", "examples", *(title for _, title in MEASURES)]
    rows = [_row("all", report)]
    for name, title in (("by_depth", "depth "), ("by_style", ""), ("by_length", "up to ")):
        rows += [_row(f"{title}{row['key']}", row) for row in report[name]]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        click.echo("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    if report["upos"] is not None:
        click.echo(
            f"LAS with subtypes {report['las_subtypes']:.4f}; UPOS {report['upos']:.4f}, XPOS {report['xpos']:.4f}, "
            f"features {report['feats']:.4f}",
            err=True,
        )
    click.echo(
        f"decoder {report['decoder']}; each position on its own (argmax) gives {report['exact_match_argmax']:.4f}",
        err=True,
    )


def _row(name: str, measures: dict[str, Any]) -> list[str]:
    values = [measures[key] for key, _ in MEASURES]
    return [
        name,
        f"{measures['examples']:,}",
        *("-" if value is None else f"{value:.4f}" for value in values),
    ]


def _predict(model: str, **values: Any) -> None:
    """Print one line for each text, in order; CoNLL-U comes back as CoNLL-U."""
    from samebits import graph as graph_train

    draw = Path(values["draw"]) if values["draw"] else None
    if draw is not None:
        draw.mkdir(parents=True, exist_ok=True)
    lines = graph_train.predict_files(
        model,
        values["inputs"] or ("-",),
        input_format=values["input_format"],
        decode=values["decode"],
        workers=values["workers"],
    )
    for number, (line, found) in enumerate(lines, start=1):
        click.echo(line, nl=False)
        if draw is not None:
            (draw / f"{number:06d}.svg").write_text(graph_train.drawn(found), encoding="utf-8")


def _model_flag() -> SectionedOption:
    return SectionedOption(
        ["-m", "--model"], required=True, metavar="DIR", section=WHAT, help="folder of the model"
    )


def _predict_command() -> click.Command:
    flag = SectionedOption
    return SectionedCommand(
        "predict",
        callback=_predict,
        params=[
            flags.input_argument(required=False),
            _model_flag(),
            flag(
                ["--input-format"],
                type=click.Choice(["auto", "txt", "jsonl", "conllu"]),
                default="auto",
                section=WHAT,
                help="one text per line, JSON lines or CoNLL-U; auto goes by the suffix [auto]",
            ),
            flag(
                ["--decode"],
                type=click.Choice(["auto", "argmax", "tree", "slots"]),
                default="auto",
                section=WHAT,
                help="how to choose a graph; auto enforces the structure of the training graphs [auto]",
            ),
            flag(["--draw"], metavar="DIR", section=OTHER, help="folder for a picture of every graph"),
            flag(
                ["-w", "--workers"],
                default="auto",
                metavar="N|auto",
                section=OTHER,
                help="number of workers [auto]",
            ),
        ],
        help="Print the graph of each text of the input (standard input if none is given), in order. A parser of sentences reads CoNLL-U "
        "or plain text and prints CoNLL-U.",
        example="""
        echo '(2 + 3) * 4' | samebits graph predict -m model
        samebits graph predict letter.txt -m parser > letter.conllu
        """,
    )


def commands() -> list[click.Command]:
    """Return the commands, for the group."""
    return [
        job_command(
            "graph_generate",
            name="generate",
            text="Draw checked examples of mathematics in words and symbols, levels 1 to 7, in splits that share no "
            "expression.",
            example="""
            samebits graph generate --level 2 -n 50000 -o math
            samebits graph generate --level 2 -n 6000 --depths 5:1 --seed 9 -o deeper
            """,
            summarize=summarize_generation,
            takes_inputs=False,
        ),
        job_command(
            "graph_train",
            name="train",
            text="Train a model that turns text into graphs: on a folder that graph generate made, on JSON lines with text and "
            "graph, or on CoNLL-U. The number of workers never changes a weight.",
            example="""
            samebits graph generate --level 2 -n 50000 -o math
            samebits graph train math -o model
            samebits graph train train.conllu --valid dev.conllu -o parser
            """,
            summarize=summarize_training,
        ),
        _predict_command(),
        job_command(
            "graph_eval",
            name="eval",
            text="Judge a model on examples it has not seen: exact match, execution, attachment, edit distance with "
            "bounds; over all and by depth, style and length. The worst cases are drawn.",
            example="samebits graph eval math -m model -o judged",
            summarize=summarize_evaluation,
        ),
    ]
