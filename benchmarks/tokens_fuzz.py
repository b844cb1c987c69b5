"""Ids of the fast encoders against the library that defines them: every family and allowed configuration, fuzzed strings and real text.

Run it before a new version of a library is allowed: ``python -m benchmarks.tokens_fuzz``. A configuration that
differs on one string does not belong on the allow-list of its encoder. ``tokenizers`` defines the ids of a ``tokenizer.json``,
``sentencepiece`` those of a ``.model``, ``tiktoken`` those of a ``.tiktoken``. gigatoken knows a newer Unicode than ``tokenizers``, and our own
kernel has its table of characters, so each pattern that one of them cuts by is tried with every code point too.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from importlib import metadata
from itertools import pairwise
from pathlib import Path

from samebits.machine.caps import cap_threads

cap_threads()

from benchmarks.tokens_data import text_jsonl  # noqa: E402  # after the caps
from benchmarks.tokens_families import Family, byte_level_variants, families, train_byte_level  # noqa: E402
from samebits.tokens.encoders import gigatoken_encoder  # noqa: E402
from samebits.tokens.encoders.interface import column_of  # noqa: E402
from samebits.tokens.encoders.probe import probe_texts  # noqa: E402
from samebits.tokens.tokenizers.file_tokenizer import FileTokenizer  # noqa: E402
from samebits.tokens.tokenizers.open_tokenizer import load_tokenizer  # noqa: E402

RECORD = Path(__file__).resolve().parent / "records" / "tokens_fuzz.json"
LIBRARIES = ("tokenizers", "fastokens", "gigatoken", "sentencepiece", "tiktoken")
TRAINING_TEXTS = 400
SLOW_BATCH = 2000
PATTERN_TITLES = [f"bytes, none x {name}" for name in gigatoken_encoder.ALLOWED_PRE_TOKENIZERS]


def num_differences(tokenizer: FileTokenizer, family: Family, texts: list[str]) -> int:
    """Count the texts on which the two libraries differ."""
    differences = 0
    for at in range(0, len(texts), SLOW_BATCH):
        batch = texts[at : at + SLOW_BATCH]
        ids, offsets, _ = tokenizer.encode(column_of(batch))
        ours = [ids[a:b].tolist() for a, b in pairwise(offsets)]
        differences += sum(a != b for a, b in zip(ours, family.reference(batch), strict=True))
    return differences


def every_character() -> list[str]:
    """Return a text for every code point: among letters, digits and signs, before an ending, twice, and at line ends."""
    codes = (code for code in range(0x110000) if not 0xD800 <= code < 0xE000)
    return [f"a{c}b 1{c}2 {c}{c}'s!{c}\n{c} A{c}" for c in map(chr, codes)]


def all_families(texts: list[str]) -> Iterator[Family]:
    """Yield everything that is compared."""
    yield from byte_level_variants(train_byte_level(texts))
    yield from families(texts)


def main() -> int:
    """Fuzz, print a table, write the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=30_000, help="fuzzed strings for each configuration")
    parser.add_argument("--real-mb", type=float, default=20, help="real text for each configuration")
    parser.add_argument("--only", default="", help="only configurations whose title contains this; no record")
    parser.add_argument("--quick", action="store_true", help="2,000 strings and 1 MB")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    asked = parser.parse_args()
    count, real_mb = (2000, 1.0) if asked.quick else (asked.count, asked.real_mb)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "text.jsonl"
        text_jsonl(path, round(real_mb * 1e6))
        real = [json.loads(line)["text"] for line in path.read_bytes().splitlines()]
    texts = probe_texts(count, seed=6)
    rows: dict[str, list[int]] = {}
    characters: dict[str, int] = {}
    encoders: dict[str, str] = {}
    for family in all_families(real[:: max(1, len(real) // TRAINING_TEXTS)]):
        if asked.only not in family.title:
            continue
        tokenizer = load_tokenizer(family.document, name=family.name)
        assert isinstance(tokenizer, FileTokenizer)
        encoders[family.title] = tokenizer.library
        rows[family.title] = [num_differences(tokenizer, family, sample) for sample in (texts, real)]
        fuzzed, found = rows[family.title]
        print(
            f"{family.title:50s} {tokenizer.library:16s} {fuzzed} of {len(texts)} fuzzed, {found} of {len(real)} real",
            flush=True,
        )
        if family.title in PATTERN_TITLES and not asked.quick:
            characters[family.title] = num_differences(tokenizer, family, every_character())
            print(f"{family.title:50s} {characters[family.title]} of 1,112,064 characters", flush=True)
    equal = not any(sum(pair) for pair in rows.values()) and not any(characters.values())
    record = {
        "name": "tokens_fuzz",
        "equal": equal,
        "fuzzed_strings": len(texts),
        "real_mb": real_mb,
        "versions": {name: metadata.version(name) for name in LIBRARIES},
        "encoders": encoders,
        "differences": rows,
        "differences_by_character": characters,
        "ratios": {},
        "record": "benchmarks/records/tokens_fuzz.json",
    }
    if not (asked.quick or asked.only):
        RECORD.parent.mkdir(exist_ok=True)
        RECORD.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    if asked.json:
        print(json.dumps(record))
    return 0 if equal else 3


if __name__ == "__main__":
    sys.exit(main())
