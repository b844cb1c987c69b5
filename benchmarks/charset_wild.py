"""Encoding detection on other people's files: samebits as installed beside chardet 7.7.0 and charset-normalizer 3.5.

Two questions. The peer's own test suite, 2,179 files inside the sdist of chardet 6.0.0, judged by the rules chardet publishes for itself
(``chardet.evaluation``): strict name, lenient, same text, language, once as they are and once with declarations masked. And snippets of 32 to
1,500 bytes of text that no model was trained on, re-encoded in every pair of the table: right is the same text. Peers are compiled wheels in
an environment of their own; everything is fetched by pip. The suite is for measuring only.

Fresh snippets need text: ``SAMEBITS_SHARED_DATA/world``, of which rows that a hash chooses are left out of a model trained here for this purpose.
Ratio keys: ``lenient``, ``same_text``, ``language`` (ours over chardet's), ``files_per_second`` (ours over theirs), ``p99`` (theirs over ours),
``snippets_32`` ... ``snippets_1024`` (share of right texts, ours over theirs). ``--strings N`` also tries N random and mutated byte strings.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tarfile
import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.common import BENCH, REPO, arguments, finish, peer_python, shared_data, show_table
from samebits.charset import compat
from samebits.charset.characters.learn import learn_models
from samebits.charset.characters.model_file import open_model
from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.readings import CharacterEvidence
from samebits.charset.pairs import Pair, detector_pairs
from samebits.charset.training.slices import cut_slices, texts_by_language
from samebits.charset.training.tasks import image_tables, pairs_by_language
from samebits.data.inputs.corpus import open_corpus

PEERS = ("chardet==7.7.0", "charset-normalizer==3.5.2")
PEER = Path(__file__).with_name("charset_wild_peer.py")
SUITE = "chardet-6.0.0"
SIZES = (32, 64, 128, 256, 1024, 1500)
DECLARATION = re.compile(rb"(charset|encoding|coding)(\s*[=:]\s*[\"']?)([A-Za-z0-9_.:-]+)", re.IGNORECASE)
LANGUAGES = dict(
    pair.split(":")
    for pair in [
        "arabic:ar",
        "belarusian:be",
        "breton:br",
        "bulgarian:bg",
        "chinese:zh",
        "croatian:hr",
        "czech:cs",
        "danish:da",
        "dutch:nl",
        "english:en",
        "esperanto:eo",
        "estonian:et",
        "farsi:fa",
        "finnish:fi",
        "french:fr",
        "german:de",
        "greek:el",
        "hebrew:he",
        "hungarian:hu",
        "icelandic:is",
        "indonesian:id",
        "irish:ga",
        "italian:it",
        "japanese:ja",
        "kazakh:kk",
        "korean:ko",
        "latvian:lv",
        "lithuanian:lt",
        "macedonian:mk",
        "maltese:mt",
        "norwegian:no",
        "polish:pl",
        "portuguese:pt",
        "romanian:ro",
        "russian:ru",
        "serbian:sr",
        "slovak:sk",
        "slovene:sl",
        "spanish:es",
        "swedish:sv",
        "tajik:tg",
        "thai:th",
        "turkish:tr",
        "ukrainian:uk",
        "urdu:ur",
        "vietnamese:vi",
        "welsh:cy",
    ]
)

Answer = tuple[str | None, float, str | None]


class Case(NamedTuple):
    """A file of the suite and what its folder says about it."""

    path: Path
    encoding: str | None
    language: str | None


class Snippet(NamedTuple):
    """Fresh text as an encoding stores it."""

    pair: Pair
    size: int
    data: bytes
    text: str


def suite() -> list[Case]:
    """Fetch the suite and read the labels from the names of its folders."""
    folder = BENCH / "charset_wild"
    root = folder / SUITE / "tests"
    if not root.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        fetch = [
            "-m",
            "pip",
            "download",
            "--no-deps",
            "--no-binary",
            ":all:",
            "--quiet",
            "chardet==6.0.0",
            "-d",
            str(folder),
        ]
        subprocess.run([sys.executable, *fetch], check=True)
        with tarfile.open(folder / f"{SUITE}.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    cases = []
    for path in sorted(root.glob("*/*")):
        name = path.parent.name
        encoding, _, language = name.rpartition("-") if name not in ("None", "ascii") else (name, "", "")
        cases.append(Case(path, None if encoding == "None" else encoding, LANGUAGES.get(language)))
    return cases


def ours(items: Sequence[bytes], detect: Callable[[bytes], Answer]) -> tuple[list[Answer], list[float]]:
    """Our answers and the CPU seconds of each."""
    for data in items[:20]:
        detect(data)
    answers, seconds = [], []
    for data in items:
        started = time.process_time()
        answers.append(detect(data))
        seconds.append(time.process_time() - started)
    return answers, seconds


def installed(data: bytes) -> Answer:
    """As installed, with the names chardet's rules know."""
    found = compat.detect(data)
    return found["encoding"], found["confidence"], found["language"]


def theirs(python: Path, name: str, items: Sequence[bytes]) -> tuple[list[Answer], list[float]]:
    """A peer's answers and CPU seconds, in a process of its own."""
    text = "\n".join(data.hex() for data in items)
    done = subprocess.run(
        [str(python), str(PEER), "ask", name], input=text, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    return [tuple(row) for row in found["answers"]], found["seconds"]


def judged(python: Path, cases: Sequence[Case], answers: Sequence[Answer]) -> list[dict[str, bool]]:
    """Chardet's judgement of anybody's answers."""
    rows = [
        [str(case.path), case.encoding, case.language, answer[0], answer[2]]
        for case, answer in zip(cases, answers, strict=True)
    ]
    done = subprocess.run(
        [str(python), str(PEER), "judge"], input=json.dumps(rows), capture_output=True, text=True, check=True
    )
    verdicts: list[dict[str, bool]] = json.loads(done.stdout)
    return verdicts


def summary(
    cases: Sequence[Case],
    answers: Sequence[Answer],
    verdicts: Sequence[dict[str, bool]],
    seconds: Sequence[float],
) -> dict[str, Any]:
    """Shares, errors by family, and times of one tool."""
    total = len(cases)
    with_language = [v["language"] for case, v in zip(cases, verdicts, strict=True) if case.language]
    families: dict[str, list[int]] = {}
    for case, verdict in zip(cases, verdicts, strict=True):
        row = families.setdefault(family(case.encoding), [0, 0])
        row[0] += not verdict["lenient"]
        row[1] += 1
    sure = [v["lenient"] for a, v in zip(answers, verdicts, strict=True) if a[1] >= 0.95]
    return {
        "files": total,
        **{key: sum(v[key] for v in verdicts) / total for key in ("strict", "lenient", "same_text")},
        "language": sum(with_language) / len(with_language),
        "wrong_at_095": sum(not right for right in sure),
        "wrong_by_family": dict(sorted(families.items())),
        "files_per_second": total / sum(seconds) if seconds else 0.0,
        "p99_ms": 1000 * sorted(seconds)[int(total * 0.99)] if seconds else 0.0,
    }


def family(encoding: str | None) -> str:
    """Family of a label of the suite."""
    if encoding is None or encoding == "ascii" or encoding.startswith("utf"):
        return "unicode, ascii, binary"
    if encoding in ("cp037", "cp273", "cp424", "cp500", "cp875", "cp1026", "cp1140"):
        return "mainframe"
    if encoding.startswith(("big5", "cp932", "cp949", "euc", "gb", "hz", "iso-2022", "johab", "shift")):
        return "east asian"
    if encoding.startswith(("windows", "cp874")):
        return "windows"
    if encoding.startswith("cp"):
        return "dos"
    return "mac" if encoding.startswith("mac") else "iso and koi8"


def masked(data: bytes) -> bytes:
    """Data whose declarations name no encoding that exists."""
    return DECLARATION.sub(lambda found: found.group(1) + found.group(2) + b"x" * len(found.group(3)), data)


def held_out(text: str) -> bool:
    """Whether a text is kept from the model that judges fresh snippets."""
    return zlib.crc32(text.encode("utf-8", "replace")) % 10 == 0


def fresh(texts: dict[str, list[str]], per_pair: int) -> list[Snippet]:
    """Snippets of held-out text in every pair, cut at characters; plain ASCII ones are left out."""
    rng = np.random.default_rng(20)
    out: list[Snippet] = []
    for language, members in pairs_by_language(detector_pairs()).items():
        pool = [
            text
            for text in texts.get(language) or texts.get("nb" if language == "no" else "", [])
            if held_out(text)
        ]
        for images in image_tables("default", members):
            pair = Pair(language, images.recipe.encoding, images.recipe.codec)
            for size in SIZES:
                for _ in range(per_pair if pool else 0):
                    found = _snippet(pair, size, pool, images, int(rng.integers(len(pool))))
                    if found is not None:
                        out.append(found)
    return out


def _snippet(pair: Pair, size: int, pool: Sequence[str], images: Any, start: int) -> Snippet | None:
    text = "\n".join(pool[(start + i) % len(pool)] for i in range(60))[: 2 * size]
    step = images.recipe.before
    written = "".join(image.text for image in images.of(list(text if step is None else step(text))))
    try:
        data = written.encode(pair.codec, "ignore")
        while len(data) > size:
            written = written[: -max(1, (len(data) - size) // 4)]
            data = written.encode(pair.codec, "ignore")
        text = data.decode(pair.codec)
    except UnicodeError:
        return None
    return Snippet(pair, size, data, text) if len(data) > size // 2 and not data.isascii() else None


def shares_by_size(snippets: Sequence[Snippet], answers: Iterable[Answer]) -> dict[int, float]:
    """Share of right texts by size."""
    right: dict[int, list[bool]] = {}
    for snippet, (encoding, _, _) in zip(snippets, answers, strict=True):
        try:
            verdict = encoding is not None and snippet.data.decode(encoding) == snippet.text
        except (UnicodeError, LookupError):
            verdict = False
        right.setdefault(snippet.size, []).append(verdict)
    return {size: sum(found) / len(found) for size, found in sorted(right.items())}


def reliability(snippets: Sequence[Snippet], answers: Sequence[Answer]) -> list[dict[str, float]]:
    """By tenths of confidence: how many answers, how sure they were, how often right."""
    bins: list[list[tuple[float, bool]]] = [[] for _ in range(10)]
    for snippet, answer in zip(snippets, answers, strict=True):
        right = shares_by_size([snippet], [answer])[snippet.size] == 1.0
        bins[min(9, int(answer[1] * 10))].append((answer[1], right))
    return [
        {
            "answers": len(found),
            "confidence": round(sum(sure for sure, _ in found) / len(found), 4),
            "right": round(sum(right for _, right in found) / len(found), 4),
        }
        for found in bins
        if found
    ]


def draw(bins: Sequence[dict[str, float]]) -> str:
    """The reliability plot: confidence to the right, share of right answers upwards, the diagonal where both agree."""
    points = [(40 + 260 * row["confidence"], 280 - 260 * row["right"], row) for row in bins]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    dots = "".join(
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#2563eb"><title>{row["answers"]} answers</title></circle>'
        for x, y, row in points
    )
    marks = "".join(
        f'<text x="{40 + 260 * v:.0f}" y="298" text-anchor="middle">{v:g}</text>'
        f'<text x="34" y="{284 - 260 * v:.0f}" text-anchor="end">{v:g}</text>'
        for v in (0, 0.5, 1)
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 320 320" width="320" font-family="sans-serif" font-size="11">'
        '<rect width="320" height="320" fill="#fff"/><path d="M40 20V280H300" fill="none" stroke="#888"/>'
        f'<path d="M40 280L300 20" stroke="#bbb" stroke-dasharray="4"/><polyline points="{line}" fill="none" stroke="#2563eb"/>{dots}{marks}'
        '<text x="170" y="314" text-anchor="middle">confidence</text>'
        '<text x="12" y="150" text-anchor="middle" transform="rotate(-90 12 150)">share of right texts</text></svg>\n'
    )


def snippets_of(per_pair: int) -> tuple[list[Snippet], Callable[[bytes], Answer]]:
    """Fresh snippets, and a detector whose models have not seen their text."""
    corpus = open_corpus((str(shared_data() / "world" / "world.jsonl.zst"),))
    texts = texts_by_language(cut_slices(corpus, unit="line", columns=("text", "lang")))
    seen = {language: [text for text in rows if not held_out(text)] for language, rows in texts.items()}
    path = BENCH / "charset_wild" / "held-out.bin"
    path.write_bytes(learn_models(seen, detector_pairs(), trained_on="nine tenths of world"))
    evidence = CharacterEvidence(open_model(path))

    def detect(data: bytes) -> Answer:
        found = detect_with(evidence, data)
        return found.encoding, found.confidence, found.language

    return fresh(texts, per_pair), detect


def start_up(command: Sequence[str], rounds: int) -> float:
    """Median wall seconds of one file by command."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def try_strings(number: int) -> None:
    """Random and mutated byte strings: an exception ends the benchmark."""
    rng = np.random.default_rng(7)
    seeds = [
        text.encode(codec, "ignore")
        for text in ("Grüße, Привет, 今日は", "שלום ก ا")
        for codec in ("utf-8", "utf-16", "cp1251", "gb18030", "cp500", "utf-7")
    ]
    for _ in range(number):
        data = bytearray(seeds[int(rng.integers(len(seeds)))] * int(rng.integers(1, 9)))
        for _ in range(int(rng.integers(0, 12))):
            at = int(rng.integers(len(data) + 1))
            data[at : at + int(rng.integers(0, 5))] = rng.integers(
                0, 256, int(rng.integers(0, 9)), np.uint8
            ).tobytes()
        compat.detect(
            bytes(data)
            if rng.random() < 0.6
            else rng.integers(0, 256, int(rng.integers(1, 400)), np.uint8).tobytes()
        )


def main() -> None:
    """Ask everybody, judge, and show one table."""
    options = arguments(__doc__ or "", strings=0)
    python = peer_python("charset-wild", PEERS)
    cases = suite()[:: 10 if options.quick else 1]
    data = [case.path.read_bytes() for case in cases]
    sides: dict[str, tuple[list[Answer], list[float]]] = {
        "samebits": ours(data, installed),
        "chardet": theirs(python, "chardet", data),
        "charset_normalizer": theirs(python, "charset_normalizer", data),
    }
    found = {name: summary(cases, a, judged(python, cases, a), s) for name, (a, s) in sides.items()}
    hidden = [masked(item) for item in data]
    for name, answers in (
        ("samebits", ours(hidden, installed)[0]),
        ("chardet", theirs(python, "chardet", hidden)[0]),
    ):
        found[name]["masked_lenient"] = summary(cases, answers, judged(python, cases, answers), [])["lenient"]
    snippets, detect = snippets_of(1 if options.quick else 4)
    raw = [snippet.data for snippet in snippets]
    fresh_answers = ours(raw, detect)[0]
    bins = reliability(snippets, fresh_answers)
    if not options.quick:
        (REPO / "docs" / "guides" / "charset-reliability.svg").write_text(draw(bins), "utf-8")
    shares = {
        "samebits": shares_by_size(snippets, fresh_answers),
        "chardet": shares_by_size(snippets, theirs(python, "chardet", raw)[0]),
    }
    letter = BENCH / "charset_wild" / "letter.txt"
    letter.write_bytes("Сегодня мы гуляли в парке.\n".encode("koi8-r"))
    one = {
        "samebits": start_up(
            [str(Path(sys.executable).with_name("samebits")), "charset", "detect", str(letter)],
            options.rounds,
        ),
        "chardet": start_up([str(python.with_name("chardetect")), str(letter)], options.rounds),
    }
    try_strings(options.strings)
    show(found, shares, one)
    mine, peer = found["samebits"], found["chardet"]
    finish(
        "charset_wild",
        equal=True,
        ratios={
            **{
                key: mine[key] / peer[key] for key in ("lenient", "same_text", "language", "files_per_second")
            },
            "p99": peer["p99_ms"] / mine["p99_ms"],
            **{f"snippets_{size}": shares["samebits"][size] / shares["chardet"][size] for size in SIZES},
        },
        details={
            "suite": found,
            "snippets": {
                name: {str(size): round(x, 4) for size, x in row.items()} for name, row in shares.items()
            },
            "snippets_of_each_size": len(snippets) // len(SIZES),
            "one_file_seconds": one,
            "reliability": bins,
            "strings": options.strings,
        },
        options=options,
    )


def show(
    found: dict[str, dict[str, Any]], shares: dict[str, dict[int, float]], one: dict[str, float]
) -> None:
    """Print everything."""
    keys = ("strict", "lenient", "same_text", "language", "masked_lenient")
    head = ["tool", *keys, "wrong at >= 0.95", "files/s", "p99 ms", "one file s"]
    rows = [
        [
            name,
            *(f"{row[key]:.2%}" if key in row else "-" for key in keys),
            str(row["wrong_at_095"]),
            f"{row['files_per_second']:,.0f}",
            f"{row['p99_ms']:.2f}",
            f"{one[name]:.3f}" if name in one else "-",
        ]
        for name, row in found.items()
    ]
    show_table(head, rows)
    show_table(
        ["family (wrong of all)", *found],
        [
            [
                name,
                *(
                    f"{row['wrong_by_family'][name][0]} of {row['wrong_by_family'][name][1]}"
                    for row in found.values()
                ),
            ]
            for name in found["samebits"]["wrong_by_family"]
        ],
    )
    show_table(
        ["fresh snippets", *map(str, SIZES)],
        [[name, *(f"{row[size]:.2%}" for size in SIZES)] for name, row in shares.items()],
    )


if __name__ == "__main__":
    main()
