from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import samebits
from samebits.charset.config import CharsetConfig

SAMPLES = Path(samebits.__file__).parent / "samples"
#: Trains with a task that kills its own process after some shards, the hardest way to end.
KILLED = """
import os, signal, sys, time
import samebits
from samebits.charset import job
from samebits.charset.training import tasks
from samebits.charset.config import CharsetConfig
from samebits.data import journal

journal.SYNC_SECONDS = 0.1
count, calls = tasks.CountSlice.__call__, []

def dying(self, shard, state, /):
    calls.append(shard)
    if len(calls) == 3:
        time.sleep(0.2)  # by then the journal is synced
    if len(calls) == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return count(self, shard, state)

tasks.CountSlice.__call__ = dying
samebits.run("charset", CharsetConfig(inputs=(sys.argv[1],)), output=sys.argv[2],
             options=samebits.RunOptions(executor="serial", workers="1"))
"""


def test_a_killed_training_continues_to_the_same_digest(tmp_path: Path) -> None:
    for language in ("de", "el", "fr", "ja", "ru", "th"):
        (tmp_path / "corpus" / language).mkdir(parents=True)
        (tmp_path / "corpus" / language / "t.txt").write_bytes((SAMPLES / f"{language}.txt").read_bytes())
    corpus = str(tmp_path / "corpus")
    whole = samebits.run("charset", CharsetConfig(inputs=(corpus,)), output=tmp_path / "whole")
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, corpus, str(tmp_path / "out")],
        capture_output=True,
        env=dict(os.environ),
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    assert not (tmp_path / "out").exists()
    again = samebits.run("charset", CharsetConfig(inputs=(corpus,)), output=tmp_path / "out")
    assert again.artifact_digest == whole.artifact_digest
    assert again.stages["count"]["shards_resumed"] > 0
