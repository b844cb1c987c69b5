"""Play the whole fault table and print it: ``python -m tests.faults.chaos [--record FILE [--rest]] [words of a name]``.

Cases of one executor are played one after the other, several executors side by side: most of the time is waiting. Rows
are printed as they end. ``--record`` writes the rows played into a JSON file, beside the rows of other cases that it holds
already, with sums; ``--rest`` plays only cases that it does not hold. Ends with exit code 1 if anything hung, was lost, ended otherwise than it must or hit nothing.
"""

from __future__ import annotations

import datetime
import importlib.util
import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.faults.clusters import Cluster, Node, dask_cluster, ray_cluster
from tests.faults.scene import Ending, open_scene, play
from tests.faults.table import CASES, Case

from samebits.core.digest import canonical_json

COLUMNS = ("case", "tries", "faults", "same digest", "named error", "hung", "lost", "seconds")
LANES = 3  # at the same time
PACKAGES = {"dask": "distributed", "ray": "ray", "lockstep": "torch", "torchrun": "torch"}


class Table:
    """Prints and keeps rows; they come from several threads."""

    def __init__(self, cases: list[Case], record: Path | None) -> None:
        self.widths = (max((len(case.name) for case in cases), default=4), 5, 6, 11, 11, 4, 4, 7)
        self.record = record
        self.lock = threading.Lock()
        self.wrong: list[str] = []
        self.rows: dict[str, dict[str, int]] = {}

    def show(self, *cells: object) -> None:
        """Print one line at once: a case may take a while."""
        line = "  ".join(str(cell).ljust(width) for cell, width in zip(cells, self.widths, strict=False))
        sys.stdout.write(line.rstrip() + "\n")
        sys.stdout.flush()

    def add(self, case: Case, endings: list[Ending], seconds: float) -> None:
        """Add the row of one case."""
        counts = [sum(e.verdict == verdict for e in endings) for verdict in ("same", "named", "hung", "lost")]
        row = (len(endings), sum(ending.faults for ending in endings), *counts)
        with self.lock:
            self.wrong += [
                f"{case.name}, try {i}: {e.detail}" for i, e in enumerate(endings) if is_wrong(case, e)
            ]
            self.rows[case.name] = dict(zip(COLUMNS[1:-1], row, strict=True))
            self.show(case.name, *row, f"{seconds:.1f}")
            if self.record is not None:
                keep(self.record, self.rows)

    def skip(self, case: Case, reason: str) -> None:
        """Say that a case is not played, and why."""
        with self.lock:
            self.show(case.name, f"skipped: {reason}")


def play_lane(cases: list[Case], table: Table) -> None:
    """Play cases one after the other, those that share a cluster on one."""
    with _shared_cluster(cases[0]) as cluster:
        for case in cases:
            started = time.monotonic()
            endings = [_play(case, seed, cluster) for seed in range(case.tries)]
            table.add(case, endings, time.monotonic() - started)


def _play(case: Case, seed: int, cluster: Cluster | None) -> Ending:
    try:
        return play(case.play, seed, case.executor, case.job, cluster)
    except Exception as error:  # the table goes on; whatever this was, it is not what must happen
        return Ending("lost", f"{type(error).__name__}: {error}", faults=0)


@contextmanager
def _shared_cluster(case: Case) -> Iterator[Cluster | None]:
    if not case.shares:
        yield None
        return
    with open_scene(seed=0) as scene:
        if case.executor == "dask":
            with dask_cluster(scene, Node(), Node(), nanny=True) as cluster:
                yield cluster
        else:
            with ray_cluster(scene, cpus=2) as cluster:
                yield cluster


def main(words: list[str]) -> int:
    """Play the chosen cases."""
    record = None
    if words[:1] == ["--record"]:
        record, words = Path(words[1]), words[2:]
    known = _known(record) if words[:1] == ["--rest"] else {}
    words = words[1:] if words[:1] == ["--rest"] else words
    chosen = [case for case in CASES if all(word in case.name for word in words) and case.name not in known]
    table = Table(chosen, record)
    table.show(*COLUMNS)
    lanes: dict[str, list[Case]] = {}
    for case in chosen:
        package = PACKAGES.get(case.executor, "samebits")
        missing = "" if importlib.util.find_spec(package) else f"{package} is not installed"
        if reason := case.why_not() or missing:
            table.skip(case, reason)
        else:
            lanes.setdefault(case.lane, []).append(case)
    with ThreadPoolExecutor(LANES) as pool:
        longest_first = sorted(lanes.values(), key=lambda cases: (-len(cases), cases[0].name))
        for done in [pool.submit(play_lane, cases, table) for cases in longest_first]:
            done.result()
    table.show("in all", *(sum(row[column] for row in table.rows.values()) for column in COLUMNS[1:-1]))
    for line in sorted(table.wrong):
        sys.stdout.write(f"WRONG {line}\n")
    return 1 if table.wrong else 0


def keep(record: Path, rows: dict[str, dict[str, int]]) -> None:
    """Put rows into the record and add all of its rows up."""
    played = _known(record) | rows
    known = {case.name: played[case.name] for case in CASES if case.name in played}
    total = {column: sum(row[column] for row in known.values()) for column in COLUMNS[1:-1]}
    measured = datetime.datetime.now(datetime.UTC).date().isoformat()
    record.write_bytes(
        canonical_json({"name": "chaos", "measured": measured, "cases": known, "total": total})
    )


def _known(record: Path | None) -> dict[str, dict[str, int]]:
    rows: dict[str, dict[str, int]] = {}
    if record is not None and record.exists():
        rows = json.loads(record.read_bytes())["cases"]
    return rows


def is_wrong(case: Case, ending: Ending) -> bool:
    """Tell whether a run ended otherwise than it must, or was not disturbed at all."""
    if case.either and ending.verdict == "named":
        return not ending.detail.startswith("WorkerLost") or ending.faults == 0
    return ending.verdict != case.wanted or ending.faults == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
