"""samebits charset train, pairs, decode, export and diff: making models, and what is done with whole ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samebits.charset.command_use import load_model, model_flag
from samebits.cli.job_command import job_command
from samebits.cli.sections import OTHER, PRINT, WHAT, SectionedCommand, SectionedOption
from samebits.core.observing.record import RunRecord
from samebits.core.observing.units import show_size
from samebits.errors import SamebitsError

if TYPE_CHECKING:
    from samebits.charset.exchange.diff import Change

__all__ = ["decode_command", "diff_command", "export_command", "pairs_command", "train_command"]


def summarize(record: RunRecord) -> None:
    """Print one line a pair, and how the texts add up."""
    about = record.metrics
    for row in about["pairs"]:
        if row["status"] == "trained":
            kept = "-" if row["retention"] is None else f"{row['retention']:.1%}"
            click.echo(
                f"{row['pair']}\t{row['samples']} samples\t{row['bytes']} bytes\t{row['byte_pairs']} byte pairs\t{kept}"
            )
    texts = about["texts"]
    names = ("used", "blank", "bad", "over_max_samples", "other_languages")
    parts = " + ".join(
        f"{texts[name]:,} {name.replace('_', ' ')}" for name in names if texts[name] or name == "used"
    )
    click.echo(f"{texts['read']:,} texts read = {parts}", err=True)
    click.echo(
        f"{about['trained']} {'pair' if about['trained'] == 1 else 'pairs'} trained, {len(about['failed'])} failed, "
        f"{about['absent']} skipped: languages not in the corpus",
        err=True,
    )


def summarize_decoding(record: RunRecord) -> None:
    """Print one line an encoding, and what was read."""
    about = record.metrics
    for encoding, count in about["encodings"].items():
        click.echo(f"{encoding}\t{count} {'file' if count == 1 else 'files'}")
    click.echo(
        f"{about['files']:,} files, {show_size(about['bytes'])} = {about['rows']:,} rows of text, "
        f"{about['undecodable_bytes']:,} undecodable bytes",
        err=True,
    )


def _train_command() -> click.Command:
    """The job's own command, which ends with exit code 1 when a model that was asked for is missing."""
    command = job_command(
        "charset",
        name="train",
        text="Train encoding models of every pair of a language and an encoding. The corpus is a folder with one folder of "
        ".txt files per language, or JSON lines, CSV or Parquet with a text and a language column.",
        example="""
        samebits charset train corpus/ -o models
        samebits charset train texts.jsonl.gz -o models --languages de,ru -w 4
        """,
        summarize=summarize,
        extra=[
            SectionedOption(
                ["--allow-missing"],
                is_flag=True,
                section=OTHER,
                help="exit with code 0 even if pairs failed",
            )
        ],
    )
    run = command.callback
    assert run is not None

    def callback(**values: Any) -> None:
        run(**values)
        record = json.loads((Path(values["output"]) / "record.json").read_bytes())
        failed = record["metrics"]["failed"]
        for pair, reason in failed.items():
            click.echo(f"failed: {pair}: {reason}", err=True)
        if failed and not values["allow_missing"]:
            raise SamebitsError(
                f"{len(failed)} of {len(failed) + record['metrics']['trained']} pairs have no model",
                hint=f"the others are in {values['output']}; add --allow-missing if that is enough",
            )

    command.callback = callback
    return command


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, (text or "").split(",")))


def _pairs(**values: Any) -> None:
    from samebits.charset.config import CharsetConfig
    from samebits.charset.job import chosen_pairs

    pairs = chosen_pairs(
        CharsetConfig(
            pairs=values["pairs"],
            languages=_names(values["languages"]),
            encodings=_names(values["encodings"]),
        )
    )
    if values["as_json"]:
        click.echo(
            json.dumps([{"lang": p.language, "encoding": p.encoding, "codec": p.codec} for p in pairs])
        )
        return
    for pair in pairs:
        click.echo(f"{pair.language}\t{pair.encoding}")
    languages, encodings = {pair.language for pair in pairs}, {pair.encoding for pair in pairs}
    click.echo(f"{len(pairs)} pairs of {len(languages)} languages and {len(encodings)} encodings", err=True)


def _export(**values: Any) -> None:
    from samebits.charset.exchange.chardet_files import FILES, install_models, weights_of_model, write_models

    models, left_out = weights_of_model(load_model(values["model"]))
    digests = write_models(models, Path(values["output"]))
    if values["install_into"]:
        answers = install_models(Path(values["output"]), Path(values["install_into"]), models)
        click.echo(
            f"{values['install_into']}: chardet loads these models; it answers {', '.join(answers)}", err=True
        )
    if values["as_json"]:
        click.echo(json.dumps({"models": len(models), "left_out": left_out, "sha256": digests}))
        return
    for name in FILES:
        click.echo(f"{digests[name]}  {name}")
    click.echo(f"{len(models)} models written to {values['output']}; tables {digests['tables']}", err=True)
    if left_out:
        click.echo(f"left out, because chardet does not know the encoding: {', '.join(left_out)}", err=True)


def _diff(**values: Any) -> None:
    from samebits.charset.detection.model import CharsetModel
    from samebits.charset.exchange.diff import compare_models, flipped

    old, new = CharsetModel.load(values["old"]), CharsetModel.load(values["new"])
    added, lost, changes = compare_models(old, new)
    flips = []
    for path in values["files"]:
        answers = flipped(old, new, Path(path).read_bytes())
        if answers is not None:
            flips.append({"file": path, "before": answers[0], "after": answers[1]})
    if values["as_json"]:
        moved = [{"pair": c.pair, "moved": c.moved, "byte_pairs": c.byte_pairs} for c in changes]
        click.echo(json.dumps({"added": added, "lost": lost, "changed": moved, "flipped": flips}))
        return
    for key in added:
        click.echo(f"added\t{key}")
    for key in lost:
        click.echo(f"lost\t{key}")
    for change in changes[: values["top"]]:
        click.echo(f"changed\t{change.pair}\t{change.moved:.2%}\t{_show_moves(change)}")
    for flip in flips:
        click.echo(f"flipped\t{flip['file']}\t{flip['before']} -> {flip['after']}")
    click.echo(
        f"{len(added)} added, {len(lost)} lost, {len(changes)} changed, {len(flips)} files flip", err=True
    )


def _show_moves(change: Change) -> str:
    return " ".join(f"{pair:04x}:{before:.3%}->{after:.3%}" for pair, before, after in change.byte_pairs)


def _json_flag() -> SectionedOption:
    return SectionedOption(
        ["--json", "as_json"], is_flag=True, section=PRINT, help="print the result as JSON"
    )


train_command = _train_command()
pairs_command = SectionedCommand(
    "pairs",
    callback=_pairs,
    params=[
        SectionedOption(
            ["--pairs"],
            default="builtin",
            metavar="FILE",
            section=WHAT,
            help="TOML or JSON file [builtin]",
        ),
        SectionedOption(["--languages"], metavar="A,B", section=WHAT, help="these languages only"),
        SectionedOption(["--encodings"], metavar="X,Y", section=WHAT, help="these encodings only"),
        _json_flag(),
    ],
    help="List the pairs of languages and encodings that would be trained.",
    example="samebits charset pairs --languages de,ja",
)
decode_command = job_command(
    "charset_decode",
    name="decode",
    text="Decode files of unknown encoding to one table of text rows, each labelled by its file's folder or by the detected "
    "language. The table files.jsonl says what was found in each file: encoding, confidence, rows, undecodable bytes.",
    example="""
        samebits charset decode raw/ -o text
        samebits charset decode mail/*.txt -m models -o text --label detected
        """,
    summarize=summarize_decoding,
)
export_command = SectionedCommand(
    "export",
    callback=_export,
    params=[
        model_flag(),
        SectionedOption(
            ["--format"],
            type=click.Choice(["chardet"]),
            default="chardet",
            section=OTHER,
            help="tool to write files for [chardet]",
        ),
        SectionedOption(
            ["-o", "--output"], required=True, metavar="DIR", section=OTHER, help="folder for the files"
        ),
        SectionedOption(
            ["--install-into"],
            metavar="DIR",
            section=OTHER,
            help="also replace the models of the chardet installed there (pip install --target DIR chardet==7.7.0), and "
            "check that it uses them",
        ),
        _json_flag(),
    ],
    help="Write the model files that chardet 7.7 loads.",
    example="samebits charset export -m models -o chardet-models",
)
diff_command = SectionedCommand(
    "diff",
    callback=_diff,
    params=[
        click.Argument(["old"], metavar="OLD"),
        click.Argument(["new"], metavar="NEW"),
        click.Argument(["files"], nargs=-1, metavar="[FILE]..."),
        SectionedOption(
            ["--top"], type=int, default=20, metavar="N", section=PRINT, help="changed pairs to show [20]"
        ),
        _json_flag(),
    ],
    help="Show which pairs and byte pairs differ between two models, and which files would be answered differently.",
    example="samebits charset diff models-old models-new letters/*.txt",
)
