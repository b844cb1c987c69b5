"""samebits lm: train, sample, eval, export."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import click

from samebits.cli.job_command import ask_job, job_command
from samebits.cli.sections import OTHER, PRINT, WHAT, SectionedCommand, SectionedGroup, SectionedOption
from samebits.core.observing.record import RunRecord
from samebits.core.observing.units import show_size
from samebits.errors import ConfigError

__all__ = ["group"]


def summarize(record: RunRecord) -> None:
    """Say what was learned, and what it cost."""
    about = record.metrics
    click.echo(
        f"{about['parameters']:,} parameters, {about['steps']:,} steps, {about['tokens_seen']:,} tokens seen",
        err=True,
    )
    if about["val_loss"] is not None:
        bits = f", {about['bits_per_byte']:.4f} bits per byte" if about["bits_per_byte"] else ""
        click.echo(f"validation loss {about['val_loss']:.4f}{bits}", err=True)
    memory = about["memory"]
    if memory:
        said = ", ".join(f"{show_size(size)} {name.replace('_', ' ')}" for name, size in memory.items())
        click.echo(f"memory: {said}", err=True)
    if not about["exact"]:
        click.echo("not exact: the run was continued on a different CPU or library version", err=True)
    click.echo(f"state {about['state_digest']}", err=True)


def _train_command() -> click.Command:
    dry = SectionedOption(
        ["--dry-run"], is_flag=True, section=PRINT, help="say what the run would need, without starting it"
    )
    command = job_command(
        "lm",
        name="train",
        text="Train a small GPT on a text, a token store or .bin files. The weights are the same to the last bit for any "
        "number of workers; an interrupted run is continued by the same command.",
        example="""
        samebits lm train book.txt -o run
        samebits lm train corpus-tokens/ -o run --depth 6 --steps 3000 -w 4
        samebits lm train book.txt -o run --preset tiny --steps 300 --sample-every 100
        """,
        summarize=summarize,
        extra=[dry],
    )
    run = command.callback
    assert run is not None

    def callback(**values: Any) -> None:
        if values["dry_run"]:
            _estimate(values)
        else:
            run(**values)

    command.callback = callback
    return command


def _estimate(values: dict[str, Any]) -> None:
    from samebits.lm.estimation import estimate

    config, _ = ask_job("lm", values)
    found = estimate(config)
    if values["as_json"]:
        click.echo(json.dumps(dataclasses.asdict(found)))
        return
    click.echo(f"parameters       {found.parameters:,}")
    click.echo(f"tokens           {found.train_tokens:,} to train on, {found.val_tokens:,} to validate")
    click.echo(f"steps            {found.steps:,}, {found.epochs:.1f} passes over the training part")
    click.echo(
        f"memory           {show_size(found.shared_bytes)} shared, {show_size(found.worker_bytes)} per worker"
    )
    click.echo(
        f"arithmetic       {found.flops / 1e12:.2f} TFLOP; this core does {found.flops_per_second / 1e9:.0f} GFLOP/s"
    )
    click.echo(f"time on one core about {found.seconds_one_core:.0f} s")


def _model_flag() -> SectionedOption:
    return SectionedOption(["-m", "--model"], metavar="RUN", section=WHAT, help="folder of the model")


def _model_argument() -> click.Argument:
    return click.Argument(["folder"], metavar="RUN", required=False)


def _folder(folder: str | None, model: str | None) -> str:
    """Return the model's folder, given with -m or as the first argument."""
    if bool(folder) == bool(model):
        what = "two models were given" if folder else "no model was given"
        raise ConfigError(what, hint="name the folder of a run: -m RUN")
    return str(folder or model)


def _unknown_flag() -> SectionedOption:
    return SectionedOption(
        ["--unknown"],
        type=click.Choice(["error", "skip"]),
        default="error",
        section=WHAT,
        help="characters the model does not know: error, or skip them [error]",
    )


def _sample(
    folder: str | None,
    model: str | None,
    prompt: str,
    tokens: int,
    as_json: bool,
    unknown: str,
    **choices: Any,
) -> None:
    from samebits.lm.model.language_model import LanguageModel

    loaded = LanguageModel.load(_folder(folder, model))
    if as_json:
        text = loaded.generate(prompt, tokens=tokens, unknown=unknown, **choices)
        click.echo(json.dumps({"prompt": prompt, "text": text, "model": loaded.digest}, ensure_ascii=False))
        return
    start = prompt  # printed with the first piece: a prompt that is refused is not printed
    for piece in loaded.stream(prompt, tokens=tokens, unknown=unknown, **choices):
        click.echo(start + piece, nl=False)
        start = ""
    click.echo()


def _eval(model: str | None, inputs: tuple[str, ...], as_json: bool, **choices: str) -> None:
    from samebits.lm.evaluation import evaluate
    from samebits.lm.model.language_model import LanguageModel

    folder, texts = (model, inputs) if model else (inputs[0], inputs[1:])
    if not texts:
        raise ConfigError("a model and nothing to measure it on", hint="samebits lm eval -m RUN TEXT...")
    found = evaluate(LanguageModel.load(folder), texts, **choices)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(found)))
        return
    click.echo(f"loss           {found.loss:.4f} nats per token")
    click.echo(f"perplexity     {found.perplexity:.3f}")
    if found.bits_per_byte is not None:
        click.echo(f"bits per byte  {found.bits_per_byte:.4f}")
    click.echo(f"tokens         {found.tokens:,} in {found.windows:,} windows")


def _export(folder: str | None, model: str | None, output: str, format: str) -> None:  # noqa: A002 - the flag's own name
    from samebits.lm.exchange.export import export
    from samebits.lm.model.language_model import LanguageModel

    said = export(LanguageModel.load(_folder(folder, model)), output, format)
    click.echo(f"written to {output}; {said}", err=True)


def _sample_command() -> click.Command:
    flag = SectionedOption
    return SectionedCommand(
        "sample",
        callback=_sample,
        params=[
            _model_argument(),
            _model_flag(),
            flag(["--prompt", "-p"], default="", metavar="TEXT", section=WHAT, help="text to continue"),
            flag(["--tokens", "-n"], default=500, metavar="N", section=WHAT, help="tokens to make [500]"),
            flag(
                ["--temperature"],
                default=0.8,
                metavar="X",
                section=WHAT,
                help="0: always the most likely token [0.8]",
            ),
            flag(
                ["--top-k"],
                default=0,
                metavar="N",
                section=WHAT,
                help="keep this many candidates; 0: all [0]",
            ),
            flag(["--top-p"], default=1.0, metavar="X", section=WHAT, help="keep this much probability [1]"),
            flag(["--seed"], default=0, metavar="N", section=WHAT, help="root of the draws [0]"),
            _unknown_flag(),
            flag(["--json", "as_json"], is_flag=True, section=PRINT, help="print one JSON object at the end"),
        ],
        help="Write text with a model, token by token; the same seed gives the same text.",
        example='samebits lm sample -m run --prompt "ROMEO:" -n 500 --top-k 40 --seed 7',
    )


def _eval_command() -> click.Command:
    return SectionedCommand(
        "eval",
        callback=_eval,
        params=[
            click.Argument(["inputs"], nargs=-1, required=True, metavar="[RUN] INPUT..."),
            _model_flag(),
            _unknown_flag(),
            SectionedOption(
                ["--part"],
                type=click.Choice(["all", "train", "val"]),
                default="all",
                section=WHAT,
                help="which part of the input: all, or what training used for train or val [all]",
            ),
            SectionedOption(
                ["--text-column"],
                default="text",
                section=WHAT,
                metavar="TEXT",
                help="column of a table or key of JSON lines that holds the text [text]",
            ),
            SectionedOption(["--json", "as_json"], is_flag=True, section=PRINT, help="print JSON"),
        ],
        help="Measure loss, perplexity and bits per byte of a model on a text, a token store or .bin files.",
        example="""
        samebits lm eval -m run other-book.txt
        samebits lm eval -m run book.txt --part val
        """,
    )


def _export_command() -> click.Command:
    return SectionedCommand(
        "export",
        callback=_export,
        params=[
            _model_argument(),
            _model_flag(),
            SectionedOption(
                ["-o", "--output"], required=True, metavar="DIR", section=OTHER, help="folder to write"
            ),
            SectionedOption(
                ["--format"],
                type=click.Choice(["gpt2", "llama", "safetensors"]),
                default="safetensors",
                section=WHAT,
                help="gpt2 and llama load in transformers; safetensors comes with a loader [safetensors]",
            ),
        ],
        help="Write the weights for another program; if transformers is installed, load them there and compare.",
        example="samebits lm export -m run -o run-gpt2 --format gpt2",
    )


group = SectionedGroup(
    "lm", help="Train a small GPT on every core, write text with it, measure it, export it."
)
group.example = "samebits lm train book.txt -o run"
group.add_command(_train_command())
group.add_command(_sample_command())
group.add_command(_eval_command())
group.add_command(_export_command())
