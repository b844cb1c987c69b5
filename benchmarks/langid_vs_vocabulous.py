"""langid's exact mode against vocabulous 0.1.3 on the seed benchmark, and backoff mode's accuracy against its peers.

The peer runs in its own environment with one worker and is not charged for reading; ours reads the JSON lines, journals,
and writes the model. Equality comes first: dictionary, order of languages, kept rows, top languages and scores ``==``,
metrics within 1e-12, on the seed rows and on real strings with 10 % wrong labels. Ratio keys: ``rows_20000`` (peer over
ours with one worker), ``two_workers`` (ours with one worker over ours with two, 200,000 rows).
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import arguments, finish, interleave, peer_python, shared_data, show_table
from benchmarks.langid_peer import PREDICT, TRAIN_VOCABULOUS
from samebits import RunOptions, langid, run
from samebits.bench.langid_data import write_seed_rows
from samebits.core.seeds import rng_for
from samebits.jobs.langid.config import LangidConfig
from samebits.jobs.langid.words import WordTable

VOCABULOUS = ("vocabulous==0.1.3", "unscript==0.1.3", "pandas<3")
ACCURACY_PEERS = ("lingua-language-detector", "py3langid", "fasttext-wheel", "numpy<2")
METRICS = ("f1", "accuracy", "precision", "recall", "confusion", "confidence_margin")


def train_ours(data: Path, output: Path, settings: list[Any], workers: str) -> Any:
    """Run exact mode."""
    cycles, confidence, margin = settings
    config = LangidConfig(
        inputs=(str(data),), mode="exact", cycles=cycles, base_confidence=confidence, confidence_margin=margin
    )
    return run("langid", config, output=output, options=RunOptions(workers=workers, overwrite=True))


def train_peer(python: Path, data: Path, dump: Path, settings: list[Any]) -> float:
    """Run the peer; return its seconds."""
    command = [
        str(python),
        "-c",
        TRAIN_VOCABULOUS,
        str(data),
        str(dump),
        *map(str, settings),
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return float(json.loads(dump.read_text(encoding="utf-8"))["seconds"])


def is_equal(dump: Path, output: Path) -> bool:
    """Compare everything that was computed."""
    theirs = json.loads(dump.read_text(encoding="utf-8"))
    model = langid.LangidModel.load(output)
    ours = {word: dict(pairs) for word, pairs in WordTable.of(model.files).entries()}
    report = json.loads((output / "report.json").read_text(encoding="utf-8"))
    metrics = [[cycle[name] for name in METRICS] for cycle in report["cycles"]]
    close = all(
        abs(a - b) < 1e-12
        for x, y in zip(metrics, theirs["metrics"], strict=True)
        for a, b in zip(x, y, strict=True)
    )
    order = ours == theirs["words"] and all(list(ours[word]) == list(theirs["words"][word]) for word in ours)
    kept = report["rows"]["kept"] == len(theirs["kept"])
    removed = [cycle["removed"] for cycle in report["cycles"]] == theirs["removed"]
    return order and kept and removed and close and _same_predictions(model, output, theirs)


def _same_predictions(model: langid.LangidModel, output: Path, theirs: dict[str, Any]) -> bool:
    """Kept rows in order, by label; the scores row by row are compared by the tests' golden files."""
    dropped = {
        json.loads(line)["row"]
        for line in (output / "dropped.jsonl").read_text(encoding="utf-8").splitlines()
    }
    labels = json.loads((output.parent / "labels.json").read_text(encoding="utf-8"))
    return [label for row, label in enumerate(labels) if row not in dropped] == [
        row[0] for row in theirs["kept"]
    ]


def noisy_rows(path: Path, num_rows: int) -> None:
    """Write training strings with every tenth label drawn anew."""
    rows = [row for row in shared_rows() if row["split"] == "train"][:num_rows]
    names = sorted({row["lang"] for row in rows})
    draws = rng_for(0, "langid-noise").random((len(rows), 2)).tolist()
    with path.open("w", encoding="utf-8") as file:
        for row, (wrong, which) in zip(rows, draws, strict=True):
            label = names[int(which * len(names))] if wrong < 0.1 else row["lang"]
            file.write(json.dumps({"text": row["text"], "lang": label}, ensure_ascii=False) + "\n")


def shared_rows() -> list[dict[str, str]]:
    """Return the strings in 86 languages."""
    with gzip.open(shared_data() / "ui-strings-86.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def check(python: Path, folder: Path, data: Path, settings: list[Any]) -> bool:
    """Train both on one file and compare."""
    labels = [json.loads(line)["lang"] for line in data.read_text(encoding="utf-8").splitlines()]
    (folder / "labels.json").write_text(json.dumps(labels), encoding="utf-8")
    train_peer(python, data, folder / "dump.json", settings)
    train_ours(data, folder / "model", settings, "1")
    return is_equal(folder / "dump.json", folder / "model")


def accuracy_table(folder: Path) -> list[list[str]]:
    """Accuracy on the test split: ours with right and with noisy labels, and the peers."""
    rows = shared_rows()
    files = {split: folder / f"{split}.jsonl" for split in ("train", "test")}
    for split, path in files.items():
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows if row["split"] == split)
        path.write_text("".join(lines), encoding="utf-8")
    noisy_rows(folder / "noisy.jsonl", len(rows))
    tests = [row for row in rows if row["split"] == "test"]
    found = []
    for name, data in (
        ("samebits backoff", files["train"]),
        ("samebits, 10 % wrong labels", folder / "noisy.jsonl"),
    ):
        model = langid.train(data)
        texts = [row["text"] for row in tests]
        timing = interleave({"predict": partial(model.predict, texts)}, rounds=3)
        labels = model.predict(texts)
        right = sum(a == row["lang"] for a, row in zip(labels, tests, strict=True))
        found.append([name, f"{right / len(tests):.4f}", f"{len(tests) / min(timing['predict'].cpu):,.0f}"])
    python = peer_python("langid-accuracy", ACCURACY_PEERS)
    for peer in ("fasttext", "py3langid", "lingua"):
        command = [
            str(python),
            "-c",
            PREDICT,
            peer,
            str(files["train"]),
            str(files["test"]),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            found.append(
                [peer, "not run", done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""]
            )
            continue
        result = json.loads(done.stdout.splitlines()[-1])
        found.append([peer, f"{result['accuracy']:.4f}", f"{result['texts_per_second']:,.0f}"])
    return found


def main() -> None:
    """Check, time, compare accuracy."""
    options = arguments(__doc__ or "")
    python = peer_python("vocabulous", VOCABULOUS)
    num_rows = 3_000 if options.quick else 20_000
    settings = [1, 0.2, 0.2]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        small, large, noisy = folder / "seed.jsonl", folder / "large.jsonl", folder / "noisy.jsonl"
        write_seed_rows(small, num_rows)
        write_seed_rows(large, num_rows * 10)
        noisy_rows(noisy, 1_000 if options.quick else 8_000)
        equal = check(python, folder, noisy, [2, 0.5, 0.5]) and check(python, folder, small, settings)
        peer = [
            train_peer(python, small, folder / "dump.json", settings)
            for _ in range(1 if options.quick else 2)
        ]
        timings = interleave(
            {
                "small": lambda: train_ours(small, folder / "model", settings, "1"),
                "one": lambda: train_ours(large, folder / "model", settings, "1"),
                "two": lambda: train_ours(large, folder / "model", settings, "2"),
            },
            rounds=options.rounds,
        )
        accuracy = [] if options.quick else accuracy_table(folder)
    seconds = {name: timing.median for name, timing in timings.items()}
    table = [
        [f"vocabulous, 1 worker, {num_rows:,} rows", f"{min(peer):.2f} s"],
        [f"samebits, 1 worker, {num_rows:,} rows", f"{seconds['small']:.3f} s"],
        [f"samebits, 1 worker, {num_rows * 10:,} rows", f"{seconds['one']:.3f} s"],
        [f"samebits, 2 workers, {num_rows * 10:,} rows", f"{seconds['two']:.3f} s"],
    ]
    show_table(["run", "time"], table)
    show_table(["model", "accuracy", "texts/CPU s"], accuracy)
    finish(
        "langid_vs_vocabulous",
        equal=equal,
        ratios={
            f"rows_{num_rows}": min(peer) / seconds["small"],
            "two_workers": seconds["one"] / seconds["two"],
        },
        details={"rows": num_rows, "peer_seconds": peer, "seconds": seconds, "accuracy": accuracy},
        options=options,
    )


if __name__ == "__main__":
    main()
