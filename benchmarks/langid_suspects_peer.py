"""Train backoff mode on a file with the samebits of PYTHONPATH, and time its search for suspects: python langid_suspects_peer.py ROWS CALLS.

Runs in version 0.1 too, so it imports nothing of this folder. The search is called as often as asked before training goes on; timed is all that
it does, from the counted features to the list of suspects, in CPU seconds of one worker.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import samebits

__all__ = ["main"]


def package(name: str) -> Any:
    """Import a module of the langid job, which was in another place in 0.1."""
    try:
        return importlib.import_module(f"samebits.langid.{name}")
    except ImportError:
        return importlib.import_module(f"samebits.jobs.langid.{name.rpartition('.')[2]}")


class Heard:
    """A ledger that keeps nothing but what it was told last."""

    def __init__(self, ledger: Any) -> None:
        self.dropped = ledger.dropped
        self.told: list[bytes] = []

    def note(self, rows: Any, *reasons: Any, top: Any, score: Any, **others: Any) -> None:
        """Keep rows, languages and scores as bytes."""
        self.told = [
            np.asarray(column).astype(kind).tobytes()
            for column, kind in ((rows, np.int64), (top, np.int64), (score, np.float64))
        ]


def main() -> None:
    """Train and print one JSON object."""
    rows, calls = sys.argv[1], int(sys.argv[2])
    training = package("training.backoff")
    search, seconds, found = training._note_suspects, [], set()

    def timed(engine: Any, state: Any, features: Any, ledger: Any, *settings: Any, **named: Any) -> int:
        for _ in range(calls):
            heard, started = Heard(ledger), time.process_time()
            search(engine, state, features, heard, *settings, **named)
            seconds.append(time.process_time() - started)
            found.add((len(heard.told[0]) // 8, hashlib.sha256(b"".join(heard.told)).hexdigest()))
        return int(search(engine, state, features, ledger, *settings, **named))

    training._note_suspects = timed
    config = package("job").JOB.Config(inputs=(rows,), refine=0)
    with tempfile.TemporaryDirectory() as place:
        samebits.run("langid", config, output=Path(place) / "model", options=samebits.RunOptions(workers="1"))
    ((number, digest),) = found
    print(json.dumps({"seconds": seconds, "suspects": number, "digest": digest}))


if __name__ == "__main__":
    main()
