"""samebits count."""

from __future__ import annotations

import click

from samebits.cli.job_command import job_command
from samebits.core.observing.record import RunRecord

__all__ = ["command"]


def summarize(record: RunRecord) -> None:
    """Print the most frequent n-grams as tab-separated lines, and how the lines add up."""
    lines, ngrams = record.metrics["lines"], record.metrics["ngrams"]
    for row in record.metrics["top"]:
        click.echo(f"{row['count']}\t{row['ngram']}")
    click.echo(
        f"{lines['read']:,} lines read = {lines['used']:,} used + {lines['blank']:,} blank + {lines['bad']:,} bad",
        err=True,
    )
    click.echo(f"{ngrams['counted']:,} n-grams, {ngrams['distinct']:,} distinct", err=True)


command = job_command(
    "count",
    text="Count words or character n-grams of text files. The full table goes to the output folder, the most frequent ones to stdout.",
    example="""
    samebits count book.txt -o counts
    samebits count 'corpus/*.jsonl.gz' -o counts --unit char -n 3 --lower -w 4
    """,
    summarize=summarize,
)
