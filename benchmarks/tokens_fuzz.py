"""Ids of fastokens against ``tokenizers``: every allowed configuration, fuzzed strings and real text.

Run it before a new version of either library is allowed: ``python -m benchmarks.tokens_fuzz``. A configuration that
differs on one string does not belong in ``samebits.tokens.encoders.bpe_rules``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from samebits.machine.caps import cap_threads

cap_threads()

import numpy as np  # noqa: E402  # after the caps

from benchmarks.tokens_data import text_jsonl  # noqa: E402
from samebits.api import run  # noqa: E402
from samebits.tokens.encoders.bpe import FastEncoder, ReferenceEncoder  # noqa: E402
from samebits.tokens.encoders.bpe_probe import probe_texts  # noqa: E402
from samebits.tokens.encoders.bpe_rules import NORMALIZERS, PRE_TOKENIZERS  # noqa: E402
from samebits.tokens.training.tokenizer_job import TokenizerConfig  # noqa: E402

RECORD = Path(__file__).resolve().parent / "records" / "tokens_fuzz.json"


def num_differences(document: bytes, texts: list[str]) -> int:
    """Count the texts on which the two libraries differ."""
    differences = 0
    fast, reference = FastEncoder(document), ReferenceEncoder(document)
    for at in range(0, len(texts), 2000):
        batch = texts[at : at + 2000]
        (a, starts), (b, others) = fast.encode_strings(batch), reference.encode_strings(batch)
        if np.array_equal(a, b) and np.array_equal(starts, others):
            continue
        for i in range(len(batch)):
            same = np.array_equal(a[starts[i] : starts[i + 1]], b[others[i] : others[i + 1]])
            differences += not same
    return differences


def variants(base: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield every allowed combination of normalizer and pre-tokenizer over one model."""
    document = json.loads(base)
    for normalizer, first in NORMALIZERS.items():
        for pre_tokenizer, second in PRE_TOKENIZERS.items():
            changed = {**document, "normalizer": first, "pre_tokenizer": second}
            yield f"{normalizer} x {pre_tokenizer}", json.dumps(changed).encode()


def main() -> int:
    """Fuzz, print a table, write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=30_000, help="fuzzed strings for each configuration")
    parser.add_argument("--real-mb", type=float, default=20, help="real text for the plain configuration")
    parser.add_argument("--quick", action="store_true", help="2,000 strings and 1 MB")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    asked = parser.parse_args()
    count, real_mb = (2000, 1.0) if asked.quick else (asked.count, asked.real_mb)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text_jsonl(folder / "text.jsonl", round(real_mb * 1e6))
        config = TokenizerConfig(inputs=(str(folder / "text.jsonl"),), vocab_size=8000, sample_mb=4)
        run("tokens_train", config, output=folder / "tokenizer")
        base = (folder / "tokenizer" / "tokenizer.json").read_bytes()
        real = [json.loads(line)["text"] for line in (folder / "text.jsonl").read_bytes().splitlines()]
    texts = probe_texts(count, seed=6)
    rows = {}
    for number, (title, document) in enumerate(variants(base)):
        sample = real if number == 0 else real[:: max(1, len(real) // 250)]
        rows[title] = [num_differences(document, texts), num_differences(document, sample)]
        print(
            f"{title:45s} {rows[title][0]} of {len(texts)} fuzzed, {rows[title][1]} of {len(sample)} real",
            flush=True,
        )
    equal = not any(sum(pair) for pair in rows.values())
    record = {
        "name": "tokens_fuzz",
        "equal": equal,
        "fuzzed_strings": len(texts),
        "real_mb": real_mb,
        "versions": {name: metadata.version(name) for name in ("tokenizers", "fastokens")},
        "differences": rows,
        "ratios": {},
        "record": "benchmarks/records/tokens_fuzz.json",
    }
    if not asked.quick:
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if asked.json:
        print(json.dumps(record))
    return 0 if equal else 3


if __name__ == "__main__":
    sys.exit(main())
