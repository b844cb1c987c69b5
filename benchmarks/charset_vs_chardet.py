"""charset against chardet 7.7.0's own training function, on the same texts and pairs.

Equality first: for all of the peer's pairs, on real text and on fuzz texts (short, doubled spaces and brackets, NUL, zero
width, combining marks, foreign scripts), the whole result of its ``_build_one_model`` - counts, samples, bytes,
retention - is compared with ours, with the text cut into slices. Then both are timed in this process from texts
in memory, CPU seconds of one core. Ratio keys: ``mixed_14_languages`` (300,000 characters each, among them ja zh ko ar he),
``alphabetic_1m`` (five alphabetic languages, a million characters each), ``two_workers`` (wall seconds of our counting
stage with one thread over those with two, text in memory). A full run also trains all pairs on 90M characters from files.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.chardet_peer import FOLDER, PeerBook, load_peer
from benchmarks.common import RECORDS, arguments, finish, interleave, shared_data, show_table
from samebits.charset.block import TextBlock, block_of
from samebits.charset.pairs import builtin_pairs
from samebits.charset.training.count import count_block
from samebits.charset.training.images import ImageTable
from samebits.charset.training.project import PairCounts, project_language
from samebits.charset.training.slices import SLICE_BYTES
from samebits.charset.training.tables import PlainCounts, add_counts
from samebits.charset.training.tasks import image_tables
from samebits.core.engine import Engine
from samebits.core.plan import Shard, ShardTable
from samebits.core.seeds import rng_for
from samebits.executors import ExecutorOptions, make_executor
from samebits.machine.caps import keep_freed_memory

MIXED = ("ar", "cs", "de", "el", "fr", "he", "ja", "ko", "pl", "ru", "th", "tr", "uk", "zh")
ALPHABETIC = ("de", "fr", "pl", "ru", "uk")
TEXT_CHARS = 2000
NASTY = "\x00 \t\n\f\v\x1c\x85\u00a0\u2000\u2002\u2003\u2009\u200a\u3000\u2028\u202f[]{}|'\"\u200b\u200c\u200d\u200e\ufeff\u2026\u2014\u2019\u20ac\u00a4"
MARKS = (
    "\u309a\u0300\u0301\u02e5\u02e9\u0304\u030c\u00ca\u00eaかきくカセツト\u00e6ɔʌə\u0254\u0323\u0309\u0303"
)
FOREIGN = "абвЖЉЊЏљαβγĐđșşțţçñøžאבגابتپچیک中文字符日本語ア한국어กขค😀𠮷ÀÉ½«»ﺍ"
LENGTHS = (0, 1, 5, 9, 10, 11, 12, 13, 20, 60, 300, 900)

TRAIN = """
import json, resource, sys, time
from samebits.machine.caps import cap_threads, keep_freed_memory
cap_threads()
keep_freed_memory()
import samebits
from samebits.charset.config import CharsetConfig
started = time.process_time()
record = samebits.run("charset", CharsetConfig(inputs=(sys.argv[1],)), output=sys.argv[2],
                      options=samebits.RunOptions(workers=sys.argv[3], executor=sys.argv[4]))
print(json.dumps({"wall": record.seconds, "cpu": time.process_time() - started, "digest": record.artifact_digest,
                  "peak": record.peak_rss["driver"], "pairs": record.metrics["trained"]}))
"""


def read_strings() -> dict[str, list[str]]:
    """Interface strings by language."""
    out: dict[str, list[str]] = {}
    with gzip.open(shared_data() / "ui-strings-86.jsonl.gz", "rt", encoding="utf-8") as file:
        for row in map(json.loads, file):
            out.setdefault(row["lang"], []).append(row["text"])
    out.setdefault("no", out["nb"])
    return out


def make_texts(strings: Sequence[str], num_chars: int, name: str) -> list[str]:
    """Texts of about 2,000 characters, drawn from the strings line by line until there are enough."""
    rng = rng_for(1, "charset-benchmark", name)
    out: list[str] = []
    total = 0
    while total < num_chars:
        lines: list[str] = []
        length = 0
        while length < TEXT_CHARS:
            lines.append(strings[int(rng.integers(len(strings)))])
            length += len(lines[-1]) + 1
        out.append("\n".join(lines))
        total += length
    return out


def fuzz_texts(strings: Sequence[str], seed: int, name: str, number: int = 40) -> list[str]:
    """Hostile texts around the minimum length."""
    rng = rng_for(seed, "charset-fuzz", name)
    base = " ".join(strings)[:6000]
    out = []
    for _ in range(number):
        length, share, text = int(rng.choice(LENGTHS)), float(rng.choice([0, 0.05, 0.3, 0.9])), ""
        while len(text) < length:
            if rng.random() < share:
                kind = (NASTY, NASTY, MARKS, FOREIGN)[int(rng.integers(4))]
                text += kind[int(rng.integers(len(kind)))] * int(rng.choice([1, 1, 1, 2, 3]))
            else:
                start = int(rng.integers(len(base)))
                text += base[start : start + int(rng.integers(1, 8))]
        out.append(text[:length])
    return out


Pairs = dict[str, list[tuple[str, str]]]


def count_ours(book: PeerBook, pairs: Pairs, texts: dict[str, list[str]], cut: int) -> dict[str, PairCounts]:
    """All pairs of all languages, from nothing: new tables, texts cut into slices of so many texts."""
    out = {}
    for language, members in texts.items():
        tables = [ImageTable(book.recipe(language, encoding, codec)) for encoding, codec in pairs[language]]
        parts = [count_block(tables, block_of(members[i : i + cut])) for i in range(0, len(members), cut)]
        parts.append(count_block(tables, block_of(book.markup(language, members[:20]))))
        found = project_language(add_counts(parts), tables)
        out.update({f"{language}/{encoding}": pair for encoding, pair in found.items()})
    return out


def count_theirs(pairs: Pairs, texts: dict[str, list[str]]) -> dict[str, tuple[Any, ...]]:
    """The peer's own function for every pair."""
    peer = load_peer()
    return {
        f"{language}/{encoding}": peer.build(language, encoding, codec, members)
        for language, members in texts.items()
        for encoding, codec in pairs[language]
    }


def as_theirs(key: str, pair: PairCounts) -> tuple[Any, ...]:
    """Our result in the shape of the peer's."""
    if not pair.samples:
        return (key, None, pair.texts, 0, pair.retention)
    index = pair.index
    counts = dict(
        zip(
            zip((index >> 8).tolist(), (index & 255).tolist(), strict=True), pair.counts.tolist(), strict=True
        )
    )
    return (key, counts or None, pair.samples, pair.num_bytes, pair.retention)


def differences(book: PeerBook, pairs: Pairs, texts: dict[str, list[str]], cut: int) -> tuple[int, list[str]]:
    """Number of pairs compared, and the keys that differ."""
    ours, theirs = count_ours(book, pairs, texts, cut), count_theirs(pairs, texts)
    return len(theirs), [key for key in theirs if as_theirs(key, ours[key]) != theirs[key]]


def check_equality(
    book: PeerBook, pairs: Pairs, strings: dict[str, list[str]], seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Compare every pair on real and on fuzz texts."""
    base = {language: strings.get(language, strings["en"]) for language in pairs}
    sets: list[tuple[str, dict[str, list[str]], int]] = [
        ("strings", {name: found[:60] for name, found in base.items()}, 25),
        ("long texts", {name: make_texts(found, 8000, name) for name, found in base.items()}, 2),
    ]
    sets += [
        (f"fuzz {seed}", {name: fuzz_texts(found, seed, name) for name, found in base.items()}, 13)
        for seed in seeds
    ]
    out = []
    for name, texts, cut in sets:
        number, wrong = differences(book, pairs, texts, cut)
        out.append({"texts": name, "pairs": number, "different": wrong})
        print(f"{name}: {number} pairs, {len(wrong)} different", flush=True)
    return out


def time_both(book: PeerBook, pairs: Pairs, texts: dict[str, list[str]], rounds: int) -> dict[str, Any]:
    """CPU seconds of both sides, interleaved, and whether the results agree."""
    results: dict[str, Any] = {}

    def ours() -> None:
        results["ours"] = count_ours(book, pairs, texts, 10**9)

    def theirs() -> None:
        results["theirs"] = count_theirs(pairs, texts)

    timed = interleave({"ours": ours, "theirs": theirs}, rounds=rounds)
    cpu = {name: statistics.median(timed[name].cpu) for name in timed}
    wrong = [key for key, want in results["theirs"].items() if as_theirs(key, results["ours"][key]) != want]
    return {
        "languages": sorted(texts),
        "pairs": len(results["theirs"]),
        "chars": sum(len(text) for members in texts.values() for text in members),
        "different": wrong,
        "cpu_ours": round(cpu["ours"], 4),
        "cpu_theirs": round(cpu["theirs"], 3),
        "ratio": cpu["theirs"] / cpu["ours"],
    }


def write_corpus(strings: dict[str, list[str]], languages: Sequence[str], num_chars: int, name: str) -> Path:
    """A folder a language, files of 8,000 characters; kept for the next run."""
    root = FOLDER / name
    if not (root / "done").exists():
        shutil.rmtree(root, ignore_errors=True)
        for language in languages:
            (root / language).mkdir(parents=True)
            texts = make_texts(strings[language], num_chars, language)
            for number in range(0, len(texts), 4):
                path = root / language / f"{number:06d}.txt"
                path.write_text("\n".join(texts[number : number + 4]), encoding="utf-8")
        (root / "done").touch()
    return root


def train(root: Path, workers: int, executor: str = "threads") -> dict[str, Any]:
    """Our whole training in a process of its own: reading, journal, counting, writing."""
    output = FOLDER / "trained"
    shutil.rmtree(output, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-c", TRAIN, str(root), str(output), str(workers), executor],
        capture_output=True,
        text=True,
        check=True,
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


@dataclass(frozen=True, slots=True)
class CountInMemory:
    """The counting task of the job on blocks that are in memory already."""

    def __call__(self, shard: Shard, state: Sequence[tuple[str, TextBlock]], /) -> PlainCounts:
        """Count one block for all encodings of its language."""
        language, block = state[shard.source]
        pairs = tuple(pair for pair in builtin_pairs() if pair.language == language)
        return count_block(image_tables("default", pairs), block).to_part()


def time_workers(strings: dict[str, list[str]], num_chars: int, rounds: int) -> dict[str, Any]:
    """Wall seconds of our engine and threads with one and with two workers, interleaved, text in memory."""
    state = []
    for language in ALPHABETIC:
        texts = make_texts(strings[language], num_chars, language)
        num_bytes = sum(len(text.encode()) for text in texts)
        step = max(1, len(texts) * SLICE_BYTES // num_bytes)  # slices as large as the job's
        state += [(language, block_of(texts[i : i + step])) for i in range(0, len(texts), step)]
    zeros = [0] * len(state)
    shards = ShardTable.from_ranges(source=range(len(state)), start=zeros, stop=[1] * len(state))
    digests: set[str] = set()

    def run(workers: int) -> None:
        # as a run chooses it: one worker is one core
        executor = make_executor("serial" if workers == 1 else "threads", ExecutorOptions(workers))
        try:
            parts = [
                part
                for _, part in Engine(executor).map_ordered(
                    "count", CountInMemory(), shards, state=state, unit="bytes"
                )
            ]
        finally:
            executor.close()
        digests.add(digest_of_part(parts))

    def pair() -> None:
        """Do the work of one worker in two processes at once, which share nothing: what the second core is worth."""
        children = []
        for _ in range(2):
            child = os.fork()
            if not child:
                run(1)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)

    keep_freed_memory()  # as the command does
    run(1)
    # half a second each: medians of few jump by a tenth
    timed = interleave({"one": lambda: run(1), "two": lambda: run(2), "pair": pair}, rounds=max(rounds, 21))
    one, two = timed["one"].median, timed["two"].median
    return {
        "chars": num_chars * len(ALPHABETIC),
        "wall_one": round(one, 3),
        "wall_two": round(two, 3),
        "ratio": one / two,
        "machine_two_processes": 2 * one / timed["pair"].median,
        "same_digest": len(digests) == 1,
    }


def digest_of_part(parts: Sequence[PlainCounts]) -> str:
    """One digest of all parts, cheap enough not to matter in the timing."""
    total = hashlib.sha256()
    for part in parts:
        for table in part["tables"]:
            for value in table:
                total.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return total.hexdigest()


def only_workers(options: argparse.Namespace) -> None:
    """Measure ``two_workers`` again and keep the rest of the last record."""
    if options.only != "two_workers":
        sys.exit(f"--only is {options.only!r}; use two_workers")
    record = json.loads((RECORDS / "charset_vs_chardet.json").read_text(encoding="utf-8"))
    found = time_workers(read_strings(), 8_000_000, options.rounds)
    print(
        f"two workers {found['ratio']:.3f}, two processes that share nothing {found['machine_two_processes']:.3f}"
    )
    finish(
        "charset_vs_chardet",
        equal=record["equal"] and found["same_digest"],
        ratios={**record["ratios"], "two_workers": found["ratio"]},
        details={**record["details"], "two_workers": found},
        options=options,
    )


def main() -> None:
    """Check equality, time, write the record; ``--only two_workers`` measures that alone."""
    options = arguments(__doc__ or "", only="")
    if options.only:
        only_workers(options)
        return
    load_peer()
    book, strings = PeerBook(), read_strings()
    pairs = book.peer.pairs()
    equality = check_equality(book, pairs, strings, (1,) if options.quick else (1, 2, 3, 4, 5, 6))
    # The peer needs half a minute for each set: one round in a quick run, never more than three.
    rounds = 1 if options.quick else min(options.rounds, 3)
    mixed = {name: make_texts(strings[name], 300_000, name) for name in MIXED}
    alphabetic = {name: make_texts(strings[name], 1_000_000, name) for name in ALPHABETIC}
    details: dict[str, Any] = {
        "equality": equality,
        "mixed_14_languages": time_both(book, pairs, mixed, rounds),
        "alphabetic_1m": time_both(book, pairs, alphabetic, rounds),
        "two_workers": time_workers(strings, 8_000_000, rounds),
    }
    if not options.quick:
        languages = sorted(set(pairs) & set(strings))
        details["whole_90m"] = train(
            write_corpus(strings, languages, 90_000_000 // len(languages), "all-90m"), 1, "serial"
        )
    keys = ("mixed_14_languages", "alphabetic_1m", "two_workers")
    show_table(
        ["run", "theirs, CPU s", "ours, CPU s", "ratio"],
        [
            [
                key,
                str(details[key].get("cpu_theirs", "-")),
                str(details[key].get("cpu_ours", "-")),
                f"{details[key]['ratio']:.1f}",
            ]
            for key in keys
        ],
    )
    equal = not any(entry["different"] for entry in [*equality, details[keys[0]], details[keys[1]]])
    details["peak_rss_this_process"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    finish(
        "charset_vs_chardet",
        equal=equal and details["two_workers"]["same_digest"],
        ratios={key: details[key]["ratio"] for key in keys},
        details=details,
        options=options,
    )


if __name__ == "__main__":
    main()
