"""langid's exact mode against vocabulous 0.1.3 on the seed benchmark; ``langid_accuracy`` compares backoff mode with its peers.

Timed on the peer's side, with one worker and its sentence splitter out of the way: reading the JSON lines, training, saving,
without its imports. On ours the same twice: as a whole command, from the start of Python to the end, and inside a process
that has trained before (``langid_here``). All alternate, round after round.

Equality comes first, on real strings with 10 % wrong labels (one and two cycles), on messy text, and on the seed rows,
each with rows taken whole and with Punkt's sentences: dictionary, order of a word's languages, rows kept, and top language
and both scores of every row ``==``; metrics within 1e-12.

Ratio keys: ``rows_20000`` (like against like: peer over ours, both in a running process, one worker, reading and writing
included), ``rows_20000_command`` (peer over our whole command, start-up of Python included), ``start_seconds`` (the command on
one row), ``two_workers`` (ours in process with one worker over two, 200,000 rows), ``machine_two_processes`` (twice the time of one such command over the time of two at once, which share nothing: what
this machine's second core is worth at most).
"""

from __future__ import annotations

import compileall
import json
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import REPO, arguments, finish, interleave, peer_python, show_table
from benchmarks.langid_accuracy import messy_rows, noisy_rows
from benchmarks.langid_check import VOCABULOUS, check, peer_environment, train_peer
from benchmarks.langid_here import SETTINGS
from samebits.bench.langid_data import write_seed_rows

STRICT = [2, 0.5, 0.5]
ROUNDS_HERE = 36  # with 12, three whole runs on one evening gave 1.57, 1.67 and 1.79 for two workers


def command(data: Path, output: Path, workers: int) -> list[str]:
    """Return the command line of our side."""
    _, confidence, margin = map(str, SETTINGS)
    flags = ["--mode", "exact", "--base-confidence", confidence, "--confidence-margin", margin]
    return [
        *(sys.executable, "-m", "samebits", "langid", "train", str(data), "-o", str(output)),
        *flags,
        *("--overwrite", "-q", "-w", str(workers)),
    ]


def run_command(data: Path, output: Path, workers: int) -> None:
    """Run our side as a user does."""
    subprocess.run(command(data, output, workers), check=True)


def run_pair(data: Path, folder: Path) -> None:
    """Run our side twice at once, with one worker each."""
    running = [subprocess.Popen(command(data, folder / f"pair-{i}", 1)) for i in range(2)]
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit("a command failed")


def train_here(data: Path, large: Path, folder: Path) -> dict[str, list[float]]:
    """Run our side in a process of its own; a round is short, and this machine's speed moves by a third within minutes."""
    program = [sys.executable, "-m", "benchmarks.langid_here", str(ROUNDS_HERE)]
    program += [str(folder), str(data), str(large)]
    done = subprocess.run(program, check=True, capture_output=True, text=True, cwd=REPO)
    seconds: dict[str, list[float]] = json.loads(done.stdout)
    return seconds


def check_all(python: Path, folder: Path, *, quick: bool, seed_rows: Path) -> dict[str, bool]:
    """Compare with the peer on every set, with and without sentences; the seed rows come last (see ``time_all``)."""
    noisy, messy = folder / "noisy.jsonl", folder / "messy.jsonl"
    noisy_rows(noisy, 500 if quick else 8_000)
    messy_rows(messy, 500 if quick else 5_000)
    environment = peer_environment()
    ways = ("none", "punkt") if "NLTK_DATA" in environment else ("none",)
    found = {}
    for sentences in ways:
        for name, data, settings in (("noisy", noisy, STRICT), ("messy", messy, SETTINGS)):
            found[f"{name}_{sentences}"] = check(python, folder, data, settings, sentences, environment)
    # With Punkt the peer takes a minute more for these rows and cuts none: they hold no stop.
    found["seed_none"] = check(python, folder, seed_rows, SETTINGS, "none", environment)
    return found


def time_all(python: Path, folder: Path, small: Path, large: Path, rounds: int) -> dict[str, list[float]]:
    """Time the peer and our sides in turn: the peer once a round, our commands five times.

    The peer's run that was compared is its first round.
    """
    one_row = folder / "one.jsonl"
    write_seed_rows(one_row, 1)
    environment, model = peer_environment(), folder / "timed"
    sides = {
        "command": partial(run_command, small, model, 1),
        "start": partial(run_command, one_row, model, 1),
        "alone": partial(run_command, large, model, 1),
        "pair": partial(run_pair, large, folder),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ("peer", *sides, "here", "one", "two")}
    dump = folder / "dump.json"
    for number in range(rounds):
        if number > 0:
            train_peer(python, small, dump, SETTINGS, "none", environment)
        seconds["peer"].append(json.loads(dump.read_text(encoding="utf-8"))["seconds"])
        for name, timing in interleave(sides, rounds=5).items():
            seconds[name] += timing.wall
        for name, wall in train_here(small, large, folder).items():
            seconds[name] += wall
    return seconds


def ratios_of(median: dict[str, float], num_rows: int) -> dict[str, float]:
    """Name the ratios."""
    return {
        f"rows_{num_rows}": median["peer"] / median["here"],
        f"rows_{num_rows}_command": median["peer"] / median["command"],
        "start_seconds": median["start"],
        "two_workers": median["one"] / median["two"],
        "machine_two_processes": 2 * median["alone"] / median["pair"],
    }


def main() -> None:
    """Check, then time."""
    options = arguments(__doc__ or "")
    # As pip does for an installed package: where Python writes no bytecode, every start would compile what changed last.
    compileall.compile_dir(REPO / "src" / "samebits", quiet=1)
    python = peer_python("vocabulous", VOCABULOUS)
    num_rows = 3_000 if options.quick else 20_000
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small, large = folder / "seed.jsonl", folder / "large.jsonl"
        write_seed_rows(small, num_rows)
        write_seed_rows(large, num_rows * 10)
        checked = check_all(python, folder, quick=options.quick, seed_rows=small)
        show_table(
            ["compared with vocabulous", "equal"], [[key, str(value)] for key, value in checked.items()]
        )
        seconds = time_all(python, folder, small, large, 1 if options.quick else 2)
    median = {key: statistics.median(values) for key, values in seconds.items()}
    labels = {
        "peer": f"vocabulous, 1 worker, {num_rows:,} rows: read, train, save",
        "command": f"samebits command, 1 worker, {num_rows:,} rows",
        "start": "samebits command, 1 row: its start-up",
        "here": f"samebits in process, 1 worker, {num_rows:,} rows",
        "one": f"samebits in process, 1 worker, {num_rows * 10:,} rows",
        "two": f"samebits in process, 2 workers, {num_rows * 10:,} rows",
        "alone": f"samebits command, 1 worker, {num_rows * 10:,} rows",
        "pair": "two of these at once",
    }
    show_table(["run", "median"], [[text, f"{median[key]:.3f} s"] for key, text in labels.items()])
    print(f"{time.perf_counter() - started:.0f} s in all")
    details: dict[str, Any] = {"rows": num_rows, "checked": checked, "seconds": seconds, "median": median}
    finish(
        "langid_vs_vocabulous",
        equal=all(checked.values()),
        ratios=ratios_of(median, num_rows),
        details=details,
        options=options,
    )


if __name__ == "__main__":
    main()
