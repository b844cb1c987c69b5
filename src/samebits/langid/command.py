"""samebits langid: train, predict, spans, clean, eval, merge and import; the rest is in ``command_look``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from samebits.cli import flags
from samebits.cli.job_command import job_command
from samebits.cli.sections import OTHER, PRINT, WHAT, SectionedCommand, SectionedGroup, SectionedOption
from samebits.cli.terminal import echo_rows
from samebits.core.observing.record import RunRecord
from samebits.core.observing.units import show_count
from samebits.errors import ConfigError
from samebits.langid.command_look import (
    export_command,
    languages_command,
    load_model,
    model_flag,
    overlap_command,
)

__all__ = ["group"]


def summarize_training(record: RunRecord) -> None:
    """Say how the rows add up and what each cycle reached."""
    about = record.metrics
    rows = about["rows"]
    reasons = " + ".join(f"{count:,} {reason}" for reason, count in rows["by_reason"].items()) or "0 dropped"
    click.echo(f"{show_count(rows['read'], 'row')} = {rows['kept']:,} kept + {reasons}", err=True)
    if rows["suspects_kept"]:
        click.echo(
            f"{show_count(rows['suspects_kept'], 'suspect')} among the kept rows: see the ledger", err=True
        )
    if about.get("share_kept", 1.0) < 0.5:
        click.echo(
            f"warning: only {about['share_kept']:.0%} of the text is letters and was used: digits and signs carry no information here",
            err=True,
        )
    for cycle in about["cycles"]:
        click.echo(
            f"cycle {cycle['cycle']}: accuracy {cycle['accuracy']:.4f}, F1 {cycle['f1']:.4f} on {show_count(cycle['rows'], 'row')}, "
            f"{cycle['removed']:,} removed",
            err=True,
        )
    click.echo(
        f"{show_count(about['languages'], 'language')}, {show_count(about['words'], 'word')}", err=True
    )


def summarize_cleaning(record: RunRecord) -> None:
    """Say how the rows add up."""
    counts = record.metrics
    parts = " + ".join(
        f"{counts[name]:,} {name.replace('_', ' ')}"
        for name in ("kept", "label_mismatch", "low_confidence", "blank", "bad")
    )
    click.echo(f"{show_count(counts['read'], 'row')} = {parts}", err=True)


def summarize_model(record: RunRecord) -> None:
    """Say what was written."""
    about = record.metrics
    size = f"{show_count(about['languages'], 'language')}, {show_count(about['words'], 'word')}"
    click.echo(f"{about['mode']} model: {size}", err=True)


def _predict(model: str | None, **values: Any) -> None:
    """Print one line per input row, in order, or write the table back with a language per row."""
    from samebits.langid import predict_files
    from samebits.langid.model.explained import explained

    loaded = load_model(model)
    languages = _names(values["languages"])
    if values["output"]:
        _predict_table(loaded, languages, values)
        return
    for text, prediction in predict_files(
        loaded,
        values["inputs"] or ("-",),
        input_format=values["input_format"],
        column=values["text_column"],
        top=max(values["top"], 2 if values["explain"] else 1),
        min_confidence=values["min_confidence"],
        languages=languages,
        scripts=values["scripts"],
        workers=values["workers"],
    ):
        if values["explain"]:
            click.echo(explained(loaded, text, prediction))
        elif values["as_json"]:
            ranking = [{"lang": name, "p": share} for name, share in prediction.ranking]
            click.echo(
                json.dumps({"text": text, "lang": prediction.label, "ranking": ranking}, ensure_ascii=False)
            )
        else:
            shown = "\t".join(f"{name}\t{share:.4f}" for name, share in prediction.ranking[: values["top"]])
            click.echo(f"{shown or 'und'}\t{text}" if prediction.label != "und" else f"und\t0.0000\t{text}")


def _names(given: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in given.split(",") if name.strip()) if given else ()


def _predict_table(model: Any, languages: tuple[str, ...], values: dict[str, Any]) -> None:
    from samebits.langid.predicted_table import predict_table

    if len(values["inputs"]) != 1 or values["inputs"][0] == "-":
        raise ConfigError("-o writes one table back", hint="give one file as the input")
    num = predict_table(
        model,
        values["inputs"][0],
        values["output"],
        column=values["text_column"],
        min_confidence=values["min_confidence"],
        languages=languages,
        scripts=values["scripts"],
    )
    click.echo(f"{show_count(num, 'row')} written to {values['output']}", err=True)


def _spans(model: str | None, inputs: tuple[str, ...], **values: Any) -> None:
    """Print the spans of each row: start, stop, language and text, or one JSON object per row."""
    from samebits.langid import iter_texts

    loaded = load_model(model)
    languages = _names(values["languages"]) or None
    texts = iter_texts(inputs or ("-",), input_format=values["input_format"], column=values["text_column"])
    for text in texts:
        spans = loaded.spans(text, languages=languages)
        if values["as_json"]:
            shown = [{"start": span.start, "stop": span.stop, "lang": span.label} for span in spans]
            click.echo(json.dumps({"text": text, "spans": shown}, ensure_ascii=False))
            continue
        for start, stop, label in spans:
            click.echo(f"{start}\t{stop}\t{label}\t{text[start:stop]}")


def _eval(model: str | None, **values: Any) -> None:
    """Print accuracy, macro measures, confusion and accuracy by length."""
    from samebits.langid import evaluate_files

    report = evaluate_files(
        load_model(model),
        values["inputs"],
        input_format=values["input_format"],
        text_column=values["text_column"],
        lang_column=values["lang_column"],
        workers=values["workers"],
    )
    if values["as_json"]:
        click.echo(json.dumps(report, ensure_ascii=False))
        return
    rows: list[tuple[str, ...]] = []
    for name in ("rows", "accuracy", "precision", "recall", "f1", "no_prediction"):
        value = report[name]
        rows.append((name, f"{value:.4f}" if isinstance(value, float) else str(value)))
    for length in (length for length in report["by_length"] if length["rows"]):
        accuracy, number = f"{length['accuracy']:.4f}", show_count(length["rows"], "row")
        rows.append((f"{length['characters']} characters", accuracy, number))
    worst = sorted(report["confusion_pairs"], key=lambda pair: (-pair["score"], pair["langs"]))[:10]
    rows += [(" ".join(pair["langs"]), f"{pair['score']:.4f}") for pair in worst]
    echo_rows(rows)


def _reading_flags(*, labels: bool) -> list[click.Parameter]:
    flag = SectionedOption
    found: list[click.Parameter] = [
        flag(
            ["--input-format"],
            default="auto",
            metavar="NAME",
            section=WHAT,
            help="format of the input [auto]",
        ),
        flag(["--text-column"], default="text", section=WHAT, help="column that holds the text [text]"),
        flag(
            ["-w", "--workers"],
            default="auto",
            metavar="N|auto",
            section=OTHER,
            help="number of workers [auto]",
        ),
        flag(["--json", "as_json"], is_flag=True, section=PRINT, help="print JSON"),
    ]
    if labels:
        found.append(
            flag(["--lang-column"], default="lang", section=WHAT, help="column that holds the label [lang]")
        )
    return found


def _train_command() -> click.Command:
    return job_command(
        "langid",
        name="train",
        text="Train a language identifier from labelled rows (JSON lines, CSV, Parquet, __label__ lines, JSON objects). "
        "Writes the model, a report per cycle and a ledger of every row left out.",
        example="""
        samebits langid train rows.jsonl -o model
        samebits langid train rows.csv -o model --mode exact --eval test.csv
        """,
        summarize=summarize_training,
    )


def _predict_command() -> click.Command:
    return SectionedCommand(
        "predict",
        callback=_predict,
        params=[
            flags.input_argument(required=False),
            model_flag(required=False),
            SectionedOption(["--top"], default=1, metavar="N", section=PRINT, help="languages to show [1]"),
            SectionedOption(
                ["--explain"], is_flag=True, section=PRINT, help="words and n-grams that decided, as JSON"
            ),
            SectionedOption(
                ["--min-confidence"], default=0.0, metavar="P", section=WHAT, help="answer und below this [0]"
            ),
            _languages_flag(),
            SectionedOption(
                ["--scripts"], is_flag=True, section=PRINT, help="labels with a script, e.g. deu_Latn"
            ),
            SectionedOption(
                ["-o", "--output"],
                metavar="FILE",
                section=PRINT,
                help="write the table back with columns lang and confidence added",
            ),
            *_reading_flags(labels=False),
        ],
        help="Print the language of each row of the input (standard input if none is given), in order.",
        example="echo 'Guten Morgen' | samebits langid predict --top 3",
    )


def _languages_flag() -> click.Parameter:
    text = "only these are possible, e.g. de,fr; ISO codes and macrolanguages (hbs, no, ku) [all]"
    return SectionedOption(["--languages"], metavar="LIST", section=WHAT, help=text)


def _spans_command() -> click.Command:
    return SectionedCommand(
        "spans",
        callback=_spans,
        params=[
            flags.input_argument(required=False),
            model_flag(required=False),
            _languages_flag(),
            *_reading_flags(labels=False),
        ],
        help="Cut each row where its language changes: start and stop in characters, language, text.",
        example="echo 'Guten Morgen zusammen, how are you today?' | samebits langid spans",
    )


def _clean_command() -> click.Command:
    return job_command(
        "langid_clean",
        name="clean",
        text="Keep the rows whose label a model agrees with; the others go to a ledger with the reason.",
        example="samebits langid clean rows.jsonl -m model -o cleaned --min-confidence 0.8",
        summarize=summarize_cleaning,
    )


def _eval_command() -> click.Command:
    return SectionedCommand(
        "eval",
        callback=_eval,
        params=[flags.input_argument(), model_flag(required=False), *_reading_flags(labels=True)],
        help="Measure a model on labelled rows: accuracy, macro precision, recall and F1, by length, worst pairs.",
        example="samebits langid eval test.jsonl -m model",
    )


def _merge_command() -> click.Command:
    return job_command(
        "langid_merge",
        name="merge",
        text="Add up the counts of models of one mode. A merged backoff model is not refined.",
        example="samebits langid merge model-a model-b -o model",
        summarize=summarize_model,
    )


def _import_command() -> click.Command:
    return job_command(
        "langid_import",
        name="import",
        text="Make a model from a vocabulous JSON file, or from __label__xx lines of words; it predicts in exact mode.",
        example="samebits langid import vocabulous.json -o model",
        summarize=summarize_model,
    )


_COMMANDS: dict[str, Callable[[], click.Command]] = {
    "predict": _predict_command,
    "spans": _spans_command,
    "languages": languages_command,
    "train": _train_command,
    "clean": _clean_command,
    "eval": _eval_command,
    "merge": _merge_command,
    "overlap": overlap_command,
    "export": export_command,
    "import": _import_command,
}


class _LangidGroup(SectionedGroup):
    """Makes a command when it is used: ``train`` then loads one job of four, which is a tenth of its start-up."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make one command."""
        return _COMMANDS[cmd_name]() if cmd_name in _COMMANDS else None


group = _LangidGroup(
    "langid",
    help="Name the language of texts; train language identifiers from noisy labels; find wrong labels.",
)
group.example = "echo 'Guten Morgen' | samebits langid predict"
