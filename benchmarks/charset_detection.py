"""Detection on held-out snippets: our scorer against chardet 7.7.0 running on our exported models.

Both are trained on the same text: our models are exported to chardet's files and put into a copy of its pure-Python source,
which is then checked to use them. Snippets of 20 to 200 bytes come from the test split of the interface strings and are
re-encoded in every pair; right is the same codec or the same text. Ratio keys: ``accuracy`` (share of ours over chardet's),
``speed`` (snippets a CPU second of ours over chardet's).
"""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.chardet_peer import FOLDER, unpack_source
from benchmarks.common import arguments, finish, shared_data, show_table
from samebits.charset.codec import canonical_name
from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.evaluate import Snippet, judge, make_snippets
from samebits.charset.detection.model import CharsetModel, train_in_memory
from samebits.charset.detection.readings import evidence_of
from samebits.charset.exchange.chardet_files import (
    KNOWN_TO_CHARDET,
    install_models,
    weights_of_model,
    write_models,
)
from samebits.charset.pairs import builtin_pairs

PEER = """
import json, sys, time
import chardet
snippets = [bytes.fromhex(line) for line in sys.stdin.read().split()]
chardet.detect(snippets[0])
started = time.process_time()
answers = [chardet.detect(data)["encoding"] for data in snippets]
print(json.dumps({"cpu": time.process_time() - started, "answers": answers}))
"""
HELD_OUT_CHARS = 400


def read_split(split: str) -> dict[str, list[str]]:
    """Strings of one split by language."""
    out: dict[str, list[str]] = {}
    with gzip.open(shared_data() / "ui-strings-86.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            if row["split"] == split:
                out.setdefault(row["lang"], []).append(row["text"])
    out.setdefault("no", out["nb"])
    return out


def joined(strings: Sequence[str]) -> list[str]:
    """Strings joined to texts long enough for a snippet of 200 bytes."""
    out, text = [], ""
    for string in strings:
        text = f"{text}\n{string}" if text else string
        if len(text) >= HELD_OUT_CHARS:
            out.append(text)
            text = ""
    return out


def install(model: CharsetModel) -> Path:
    """Put our exported models into a copy of chardet's pure-Python source, and check that it uses them."""
    prefix = FOLDER / "pure"
    shutil.rmtree(prefix, ignore_errors=True)
    shutil.copytree(unpack_source() / "src" / "chardet", prefix / "chardet")
    weights, _ = weights_of_model(model)
    write_models(weights, FOLDER / "exported")
    answers = install_models(FOLDER / "exported", prefix, weights)
    print(f"chardet uses {len(weights)} models of ours; five sentences: {', '.join(answers)}")
    return prefix


def ask_chardet(prefix: Path, snippets: Sequence[Snippet]) -> dict[str, Any]:
    """Answers and CPU seconds of chardet, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", PEER],
        input="\n".join(snippet.data.hex() for snippet in snippets),
        env={"PYTHONPATH": str(prefix)},
        capture_output=True,
        text=True,
        check=True,
    )
    answered: dict[str, Any] = json.loads(done.stdout)
    return answered


def main() -> None:
    """Train, export, judge both."""
    options = arguments(__doc__ or "", seed=1)
    texts = read_split("train")
    pairs = [
        p for p in builtin_pairs() if p.language in texts and canonical_name(p.codec) in KNOWN_TO_CHARDET
    ]
    model = train_in_memory(texts, pairs)
    held_out = {language: joined(found) for language, found in read_split("test").items()}
    snippets = make_snippets(model.pairs, held_out, per_pair=10 if options.quick else 40, seed=options.seed)
    prefix = install(model)
    evidence = evidence_of(model)
    detect_with(evidence, snippets[0].data)
    started = time.process_time()
    ours = [detect_with(evidence, snippet.data, top=1).encoding for snippet in snippets]
    cpu = time.process_time() - started
    theirs = ask_chardet(prefix, snippets)
    scores = {"ours": judge(snippets, ours), "chardet": judge(snippets, theirs["answers"])}
    rows = [
        [group, str(found.total), f"{found.share:.1%}", f"{scores['chardet'][group].share:.1%}"]
        for group, found in scores["ours"].items()
    ]
    rate = {"ours": len(snippets) / cpu, "chardet": len(snippets) / theirs["cpu"]}
    rows.append(["snippets a CPU second", "", f"{rate['ours']:,.0f}", f"{rate['chardet']:,.0f}"])
    show_table(["snippets", "number", "ours", "chardet on our models"], rows)
    finish(
        "charset_detection",
        equal=True,
        ratios={
            "accuracy": scores["ours"]["all"].share / scores["chardet"]["all"].share,
            "speed": rate["ours"] / rate["chardet"],
        },
        details={
            "pairs": len(model.pairs),
            "snippets": len(snippets),
            "per_second": {name: round(value) for name, value in rate.items()},
            "right": {
                name: {group: [s.right, s.total] for group, s in found.items()}
                for name, found in scores.items()
            },
        },
        options=options,
    )


if __name__ == "__main__":
    main()
