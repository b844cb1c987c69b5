"""The accuracy of backoff mode next to lingua, py3langid and fastText (trained on the same rows), on strings of 86 languages.

A peer that has no name for a language is wrong on all its rows, so accuracy is given twice: over all rows, and over the
rows of the languages it knows; it is told which languages there are. Speeds are CPU
seconds of one core. Also home of the rows that the comparison with vocabulous is made on. Ratio keys: ``accuracy``, ``lost_by_noise`` (in points, 10 % wrong labels), ``texts_per_second``,
``model_megabytes``, ``load_seconds``.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import tempfile
import time
from functools import partial
from pathlib import Path

from benchmarks.common import arguments, finish, interleave, peer_python, shared_data, show_table
from benchmarks.langid_peer import PREDICT
from samebits import RunOptions, langid
from samebits.core.seeds import rng_for

__all__ = ["measure", "messy_rows", "noisy_rows"]

# An environment each: fastText's wheel needs NumPy 1, which would hold py3langid back at 0.2.2 with its old model.
PEERS = {
    "fasttext": ("fasttext-wheel==0.9.2", "numpy<2"),
    "py3langid": ("py3langid==0.4.0",),
    "lingua": ("lingua-language-detector==2.1.1",),
}
PIECES = (
    *("http://example.org/a?b=1", "www.example.org", "me@example.org", "@you", "#topic", "+1", "\U0001f600"),
    *(
        "1.5",
        "3,141.59",
        "2024",
        "12",
        "aaaa!!!",
        "Q. E. D.",
        "Mr. Smith went home. He slept.",
        "one?two! Three.",
    ),
    *(
        "été à la plage",
        "мой йод",
        "Việt Nam",
        "ذهب الولد إلى المدرسة.",
        "שלום עולם",
        "γεια σου Κόσμε",
        "你好。再见",
    ),
    *(
        "ΟΔΥΣΣΕΥΣ",
        "İstanbul",
        "ſtraße",
        "a\u0301b",
        "\u200d",
        "__DECIMAL_0__",
        "...",
        "\u00a0",
        "end.\u00a0New",
    ),
)


def shared_rows() -> list[dict[str, str]]:
    """Return the strings in 86 languages."""
    with gzip.open(shared_data() / "ui-strings-86.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def noisy_rows(path: Path, num_rows: int) -> None:
    """Write training strings with every tenth label drawn anew."""
    rows = [row for row in shared_rows() if row["split"] == "train"][:num_rows]
    names = sorted({row["lang"] for row in rows})
    draws = rng_for(0, "langid-noise").random((len(rows), 2)).tolist()
    with path.open("w", encoding="utf-8") as file:
        for row, (wrong, which) in zip(rows, draws, strict=True):
            label = names[int(which * len(names))] if wrong < 0.1 else row["lang"]
            file.write(json.dumps({"text": row["text"], "lang": label}, ensure_ascii=False) + "\n")


def messy_rows(path: Path, num_rows: int) -> None:
    """Write rows of two to six pieces that cleaning has rules for, and strings of many scripts between them."""
    rng = rng_for(0, "langid-messy")
    strings = [row["text"] for row in shared_rows() if row["split"] == "train"]
    with path.open("w", encoding="utf-8") as file:
        for _ in range(num_rows):
            drawn = [PIECES[int(i)] for i in rng.integers(len(PIECES), size=int(rng.integers(1, 5)))]
            drawn.insert(int(rng.integers(len(drawn) + 1)), strings[int(rng.integers(len(strings)))])
            text = ("", " ")[int(rng.random() < 0.8)].join(drawn)
            row = {"text": text, "lang": "abc"[int(rng.integers(3))]}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def measure(folder: Path, *, peers: bool) -> dict[str, dict[str, float]]:
    """Measure on the test split: ours with right and with noisy labels, and the peers."""
    rows = shared_rows()
    files = {split: folder / f"{split}.jsonl" for split in ("train", "test")}
    for split, path in files.items():
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows if row["split"] == split)
        path.write_text("".join(lines), encoding="utf-8")
    noisy_rows(folder / "noisy.jsonl", len(rows))
    tests = [row for row in rows if row["split"] == "test"]
    sides = {"samebits": files["train"], "samebits, 10 % wrong labels": folder / "noisy.jsonl"}
    found = {name: _ours(data, folder / "model", tests) for name, data in sides.items()}
    if peers:
        pythons = {name: peer_python(f"langid-{name}", packages) for name, packages in PEERS.items()}
        found |= {name: _peer(name, python, files) for name, python in pythons.items()}
    return found


def _ours(data: Path, output: Path, tests: list[dict[str, str]]) -> dict[str, float]:
    langid.train(data, output=output, options=RunOptions(overwrite=True))
    started = time.perf_counter()
    model = langid.LangidModel.load(output)
    loaded = time.perf_counter() - started
    size = sum(path.stat().st_size for path in output.glob("*.npy")) / 1e6
    texts = [row["text"] for row in tests]
    timing = interleave({"predict": partial(model.predict, texts)}, rounds=3)
    right = sum(a == row["lang"] for a, row in zip(model.predict(texts), tests, strict=True))
    share = right / len(tests)
    return {
        "accuracy": share,
        "known_accuracy": share,
        "known_languages": len(model.languages),
        "texts_per_second": len(tests) / min(timing["predict"].cpu),
        "megabytes": size,
        "load_seconds": loaded,
    }


def _peer(name: str, python: Path, files: dict[str, Path]) -> dict[str, float]:
    command = [str(python), "-c", PREDICT, name, str(files["train"]), str(files["test"])]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measure and show."""
    options = arguments(__doc__ or "")
    with tempfile.TemporaryDirectory() as folder:
        found = measure(Path(folder), peers=not options.quick)
    head = ["model", "86 languages", "languages it knows", "how many", "texts/CPU s"]
    rows = [
        [
            name,
            f"{side['accuracy']:.4f}",
            f"{side['known_accuracy']:.4f}",
            f"{side['known_languages']}",
            f"{side['texts_per_second']:,.0f}",
        ]
        for name, side in found.items()
    ]
    show_table(head, rows)
    ours, noisy = list(found.values())[:2]
    ratios = {
        "accuracy": ours["accuracy"],
        "lost_by_noise": 100 * (ours["accuracy"] - noisy["accuracy"]),
        "texts_per_second": ours["texts_per_second"],
        "model_megabytes": ours["megabytes"],
        "load_seconds": ours["load_seconds"],
    }
    finish("langid_accuracy", equal=True, ratios=ratios, details=found, options=options)


if __name__ == "__main__":
    main()
