"""count against Python's own Counter over str.split, on a generated text file.

Both sides run in processes of their own and read the same file: the peer line by line, the way it is usually written
(``Counter.update(line.split())``), ours as ``samebits count`` with one worker and with two, journal, digests and output
included. Equality: the two tables are compared key by key. Ratio keys: ``one_worker``, ``two_workers`` (of ours against
ours with one).
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.common import BENCH, arguments, finish, show_table
from samebits.core.seeds import rng_for

FULL_BYTES = 200_000_000
QUICK_BYTES = 20_000_000
VOCABULARY = 50_000
LETTERS = "etaoinshrdlucmfwypvbgkjqxzéüßñçøαβдж"

PEER = """
import json, re, sys, time
from collections import Counter
started = time.perf_counter()
counts = Counter()
with open(sys.argv[1], encoding="utf-8") as file:
    for line in file:
        counts.update(line.split())
seconds = time.perf_counter() - started
if len(sys.argv) > 2:
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        json.dump(counts, out)
with open("/proc/self/status") as status:  # not ru_maxrss: it starts with the peak of the process before exec
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) * 1024
print(json.dumps({"seconds": seconds, "peak": peak}))
"""

OURS = """
import json, sys
from samebits.machine.caps import cap_threads, keep_freed_memory
cap_threads()
keep_freed_memory()
import samebits
config = samebits.CountConfig(inputs=(sys.argv[1],))
record = samebits.run("count", config, output=sys.argv[2], options=samebits.RunOptions(workers=sys.argv[3]))
print(json.dumps({"seconds": record.seconds, "peak": record.peak_rss["driver"]}))
"""


def make_text(path: Path, num_bytes: int) -> None:
    """Write lines of about 12 words whose frequencies fall like 1/rank, as in real text."""
    rng = rng_for(1, "count-benchmark")
    letters = np.array(list(LETTERS))
    lengths = rng.integers(2, 12, size=VOCABULARY)
    weights = 1 / np.arange(3, len(letters) + 3)
    picks = rng.choice(letters, size=int(lengths.sum()), p=weights / weights.sum())
    words, at = [], 0
    for length in lengths:
        words.append("".join(picks[at : at + length]))
        at += length
    frequency = 1 / np.arange(1, VOCABULARY + 1)
    frequency /= frequency.sum()
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < num_bytes:
            ranks = rng.choice(VOCABULARY, size=240_000, p=frequency)
            chosen = [words[rank] for rank in ranks]
            file.writelines(" ".join(chosen[i : i + 12]) + "\n" for i in range(0, len(chosen), 12))


def run(code: str, *arguments: str) -> dict[str, float]:
    """Run one side in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def is_equal(text: Path, scratch: Path) -> bool:
    """Compare our table with the peer's."""
    run(PEER, str(text), str(scratch / "peer.json"))
    run(OURS, str(text), str(scratch / "ours"), "2")
    peer = json.loads((scratch / "peer.json").read_text(encoding="utf-8"))
    lines = (scratch / "ours" / "counts.jsonl").read_text(encoding="utf-8").splitlines()
    ours = {row["ngram"]: row["count"] for row in map(json.loads, lines)}
    return bool(ours == peer)


def main() -> None:
    """Generate, compare, measure, report."""
    options = arguments(__doc__.splitlines()[0])
    size = QUICK_BYTES if options.quick else FULL_BYTES
    BENCH.mkdir(exist_ok=True)
    text = BENCH / f"count-{size}.txt"
    if not text.exists():
        make_text(text, size)
    with tempfile.TemporaryDirectory(dir=BENCH) as folder:
        scratch = Path(folder)
        equal = is_equal(text, scratch)
        rounds: dict[str, list[dict[str, float]]] = {"Counter": [], "samebits -w 1": [], "samebits -w 2": []}
        for _ in range(options.rounds):
            rounds["Counter"].append(run(PEER, str(text)))
            for workers in ("1", "2"):
                shutil.rmtree(scratch / "out", ignore_errors=True)
                rounds[f"samebits -w {workers}"].append(run(OURS, str(text), str(scratch / "out"), workers))
    median = {name: statistics.median(item["seconds"] for item in items) for name, items in rounds.items()}
    peak = {name: max(item["peak"] for item in items) for name, items in rounds.items()}
    num_bytes = text.stat().st_size
    show_table(
        ["side", "median s", "MB/s", "peak MB"],
        [
            [n, f"{median[n]:.2f}", f"{num_bytes / 1e6 / median[n]:.0f}", f"{peak[n] / 1e6:.0f}"]
            for n in rounds
        ],
    )
    ratios = {
        "one_worker": median["Counter"] / median["samebits -w 1"],
        "two_workers": median["samebits -w 1"] / median["samebits -w 2"],
    }
    print(
        f"equal: {equal}; one worker {ratios['one_worker']:.2f}x, two workers {ratios['two_workers']:.2f}x of one"
    )
    details = {"bytes": num_bytes, "median_seconds": median, "peak_bytes": peak, "rounds": options.rounds}
    finish("count", equal=equal, ratios=ratios, details=details, options=options)


if __name__ == "__main__":
    main()
