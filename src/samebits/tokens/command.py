"""samebits tokens: build, train-tokenizer, show, stats, convert."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from samebits.cli.job_command import job_command, observing
from samebits.cli.sections import HOW, OTHER, PRINT, SectionedCommand, SectionedGroup, SectionedOption
from samebits.core.observing.events import Observer, fan_out
from samebits.core.observing.record import RunRecord

__all__ = ["group"]

BAR_WIDTH = 40


def summarize_store(record: RunRecord) -> None:
    """Say how the lines add up and what was written."""
    about = record.metrics
    lines = about["lines"]
    parts = " + ".join(f"{lines[name]:,} {name}" for name in ("used", "blank", "bad", "dropped"))
    click.echo(f"{lines['read']:,} lines read = {parts}", err=True)
    for split, counts in about["splits"].items():
        click.echo(f"{split}: {counts['rows']:,} rows, {counts['tokens']:,} tokens", err=True)
    if about["rows_cut"]:
        click.echo(f"{about['rows_cut']:,} rows were longer than {about['length']} tokens and cut", err=True)
    if "encoder" in about:
        click.echo(f"encoder: {about['encoder']}", err=True)


def summarize_tokenizer(record: RunRecord) -> None:
    """Say what was learned."""
    found = record.metrics
    click.echo(
        f"{found['tokenizer']}: {found['vocab_size']:,} ids from {found['lines']['read']:,} lines", err=True
    )


def _watch_flags() -> list[click.Parameter]:
    return [
        SectionedOption(
            ["--monitor"],
            is_flag=True,
            section=PRINT,
            help="show CPU per core, memory, MB/s, tokens/s and bad rows twice a second",
        ),
        SectionedOption(
            ["--profile"], metavar="FILE", section=HOW, help="sample all threads; write folded stacks"
        ),
    ]


@contextmanager
def watching(values: dict[str, Any]) -> Iterator[Observer]:
    """Observe with progress or monitor, and profile if asked."""
    if not values["monitor"] and not values["profile"]:
        with observing(values) as observer:
            yield observer
        return
    from samebits.cli.monitor import monitoring, profiling  # brings psutil: 30 ms

    with ExitStack() as stack:
        if values["profile"]:
            stack.enter_context(profiling(Path(values["profile"])))
        if not values["monitor"]:
            yield stack.enter_context(observing(values))
            return
        quiet = stack.enter_context(observing({**values, "progress": False}))
        yield fan_out(quiet, stack.enter_context(monitoring()))


def _store_flags() -> list[click.Parameter]:
    return [
        click.Argument(["folder"], metavar="STORE"),
        SectionedOption(["--split"], default="train", section=OTHER, help="train or val [train]"),
        SectionedOption(["--json", "as_json"], is_flag=True, section=PRINT, help="print JSON lines"),
    ]


def _show(folder: str, split: str, as_json: bool, rows: str, ids: bool) -> None:
    from samebits.data.token_store import TokenStore
    from samebits.tokens.readers.inspect_store import parse_rows, show_rows

    store = TokenStore.open(folder, split)
    for shown in show_rows(store, parse_rows(rows, len(store))):
        if as_json:
            click.echo(json.dumps(dataclasses.asdict(shown), ensure_ascii=False))
            continue
        click.echo(f"--- row {shown.row}, input row {shown.source}, {shown.length} tokens", err=True)
        click.echo(" ".join(map(str, shown.ids)) if ids else shown.text)


def _stats(folder: str, split: str, as_json: bool) -> None:
    from samebits.data.token_store import TokenStore
    from samebits.tokens.readers.inspect_store import store_stats

    stats = store_stats(TokenStore.open(folder, split))
    if as_json:
        click.echo(json.dumps(stats))
        return
    lengths, words = stats["lengths"], stats["vocabulary"]
    click.echo(f"{stats['layout']} store, {stats['tokenizer']}, {stats['dtype']}, split {stats['split']}")
    click.echo(f"rows            {stats['rows']:,}")
    click.echo(f"tokens          {stats['tokens']:,} ({stats['bytes_per_token']:.2f} bytes of text each)")
    click.echo(
        f"length          min {lengths['min']}, median {lengths['median']}, mean {lengths['mean']:.1f}, "
        f"95 % up to {lengths['p95']}, max {lengths['max']}"
    )
    click.echo(f"padding         {100 * stats['padding_share']:.1f} %")
    click.echo(f"rows cut        {stats['rows_cut']:,}")
    click.echo(f"unknown tokens  {100 * stats['unknown_share']:.2f} %")
    click.echo(f"vocabulary      {words['used']:,} of {words['size']:,} ids occur")
    most = max((bin_["rows"] for bin_ in stats["length_histogram"]), default=1)
    for bin_ in stats["length_histogram"]:
        bar = "#" * max(1, round(BAR_WIDTH * bin_["rows"] / most))
        click.echo(f"{bin_['from']:>7}-{bin_['to']:<7} {bin_['rows']:>10,}  {bar}")


group = SectionedGroup("tokens", help="Turn text into memory-mapped tokens, and look at them.")
group.example = "samebits tokens build corpus/*.jsonl -o corpus-tokens --tokenizer bpe.json"
group.add_command(
    job_command(
        "tokens",
        name="build",
        text="Turn JSON lines, text, CSV or Parquet into a store of tokens that NumPy, PyTorch, nanoGPT and "
        "Megatron-LM read. The estimate of disk and memory comes first; what cannot fit is refused.",
        example="""
        samebits tokens build corpus/*.jsonl -o corpus -t tokenizer/ --val-ratio 0.01
        samebits tokens build puzzles.jsonl -o out -t word --columns puzzle,solution
        samebits tokens build book.txt -o book -t char --export nanogpt,megatron
        """,
        summarize=summarize_store,
        extra=_watch_flags(),
        watch=watching,
    )
)
group.add_command(
    job_command(
        "tokens_train",
        name="train-tokenizer",
        text="Learn byte pairs, pieces of words, words or characters from text; writes tokenizer.json into the output.",
        example="""
        samebits tokens train-tokenizer corpus/*.jsonl -o tokenizer --vocab-size 32000
        samebits tokens train-tokenizer data/*.jsonl -o tokenizer --kind unigram
        """,
        summarize=summarize_tokenizer,
    )
)
group.add_command(
    SectionedCommand(
        "show",
        callback=_show,
        params=[
            *_store_flags(),
            SectionedOption(["--rows"], default="0:3", metavar="A:B", section=OTHER, help="which rows [0:3]"),
            SectionedOption(["--ids"], is_flag=True, section=PRINT, help="print ids instead of text"),
        ],
        help="Decode rows of a store back to text, with the input row each came from.",
        example="samebits tokens show corpus-tokens --rows 0:3",
    )
)
group.add_command(
    SectionedCommand(
        "stats",
        callback=_stats,
        params=_store_flags(),
        help="Lengths, padding waste, unknown rate and vocabulary use of a store.",
        example="samebits tokens stats corpus-tokens",
    )
)
group.add_command(
    job_command(
        "tokens_convert",
        name="convert",
        text="Write a store in another layout, or with the files of nanoGPT or Megatron-LM, without the text.",
        example="""
        samebits tokens convert store -o rows --layout rows --max-length 1024
        samebits tokens convert rows -o out --layout packed --export megatron
        """,
        summarize=summarize_store,
    )
)
