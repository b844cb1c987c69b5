"""samebits demo: the promise, seen to hold, on the sample texts inside the package."""

from __future__ import annotations

import tempfile
from importlib import resources
from pathlib import Path

import click

from samebits.cli.sections import SectionedCommand
from samebits.core.record import RunRecord
from samebits.errors import ParityError

__all__ = ["command"]


def _demo() -> None:
    from samebits.executors.cores import look_at_machine

    samples = resources.files("samebits") / "samples"
    languages = sorted(Path(item.name).stem for item in samples.iterdir() if item.name.endswith(".txt"))
    click.echo(f"Counting words in the sample texts of {len(languages)} languages: {' '.join(languages)}\n")
    most = max(2, look_at_machine().physical)
    with tempfile.TemporaryDirectory() as scratch:
        runs = [
            _count(str(samples), Path(scratch), executor, workers)
            for executor, workers in (("serial", 1), ("threads", most), ("processes", most))
        ]
    _show_table(runs)
    if len({run.artifact_digest for run in runs}) != 1:
        raise ParityError("the digests differ", hint="run 'samebits doctor' and report its output")
    click.echo("\nSame digest, whatever the number of workers.\n")
    _show_next_steps(str(samples))


def _count(samples: str, scratch: Path, executor: str, workers: int) -> RunRecord:
    from samebits import api
    from samebits.core.options import RunOptions
    from samebits.jobs.count import CountConfig

    return api.run(
        "count",
        CountConfig(inputs=(samples,)),
        output=scratch / executor,
        options=RunOptions(executor=executor, workers=str(workers)),
    )


def _show_table(runs: list[RunRecord]) -> None:
    click.echo(f"{'executor':12} {'workers':>7} {'words':>8} {'distinct':>8} {'seconds':>8}  digest")
    for run in runs:
        ngrams = run.metrics["ngrams"]
        click.echo(
            f"{run.executor:12} {run.workers:7} {ngrams['counted']:8,} {ngrams['distinct']:8,} "
            f"{run.seconds:8.2f}  {run.artifact_digest[:32]}"
        )


def _show_next_steps(samples: str) -> None:
    click.echo("Where to go next:")
    for text, line in (
        ("count your own files", "samebits count YOUR.txt -o counts"),
        ("prove parity on them", "samebits bench parity count YOUR.txt"),
        ("look at this machine", "samebits doctor"),
        ("read the guides", "docs/guides/"),
    ):
        click.echo(f"  {text:22} {line}")


command = SectionedCommand(
    "demo",
    callback=_demo,
    params=[],
    help="Count the sample texts with 1 and with all workers, and show that the digests are equal.",
    example="samebits demo",
)
