"""Inputs of the scale benchmark, drawn from the package's sample texts and a made-up vocabulary: the same bytes every time."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from samebits.core.seeds import rng_for

__all__ = ["ENCODED", "TAIL", "write_inputs", "write_vocabularies", "zipf_text"]

# so much that what the driver does for each gigabyte is more than the few milliseconds by which two runs differ
LARGE_BYTES = {"count": 32_000_000, "charset": 16_000_000, "langid": 32_000_000, "tokens": 128_000_000}
SHARE_OF_SMALL = 4  # the small input is a quarter of the large one: two sizes show what grows with the input
TAIL = 1.4  # exponent of Zipf's law: distinct words grow with the bytes to the power 1/1.4, real text to 0.5 or 0.6
MOST_WORDS = 1 << 21
WORDS_A_LINE = 12
LETTERS = "etaoinshrdlucmfw"
LINES_A_FILE = 2000  # about 150 kB: a file is one text to charset, and slices are made of whole texts
FILE_BYTES = 1_000_000  # of a file to decode
NUM_FILES = 96
NUM_GRAPHS = 240  # 28,680 pairs
NUM_NODES = 8
VOCABULARIES = (20_000, 120_000)  # different words
VOCABULARY_ROWS = 20_000
#: Languages of the charset inputs and the encodings their files to decode are in.
ENCODED = {"de": "cp1252", "pl": "iso8859-2", "ru": "koi8-r", "el": "iso8859-7"}


def write_inputs(folder: Path, *, share: int = 1) -> None:
    """Write all inputs, divided by ``share``, into ``large`` and ``small``; a finished folder stays as it is."""
    for name, divisor in (("large", share), ("small", share * SHARE_OF_SMALL)):
        place = folder / name
        done = place / f"done-{sum(LARGE_BYTES.values()) // divisor}"
        if not done.exists():
            _write(place, divisor)
            done.write_text("")


def _write(place: Path, divisor: int) -> None:
    size = {name: num_bytes // divisor for name, num_bytes in LARGE_BYTES.items()}
    for name in ("count", "charset", "langid", "tokens", "decode", "graph"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "count" / "words.txt").write_bytes(zipf_text(size["count"]))
    sentences = _samples()
    for language in ENCODED:
        text = _lines(sentences[language], size["charset"] // len(ENCODED), language)
        (place / "charset" / language).mkdir(exist_ok=True)
        for at in range(0, len(text), LINES_A_FILE):
            path = place / "charset" / language / f"text-{at // LINES_A_FILE:03}.txt"
            path.write_text("\n".join(text[at : at + LINES_A_FILE]), encoding="utf-8")
    rows = _labelled(sentences, size["langid"])
    _write_json(place / "langid" / "rows.jsonl", rows)
    texts = [text for text, _ in _labelled(sentences, size["tokens"])]
    documents = ["\n".join(texts[at : at + 20]) for at in range(0, len(texts), 20)]
    _write_json(place / "tokens" / "documents.jsonl", [(text, "") for text in documents])
    _write_files(place / "decode", sentences, max(4, NUM_FILES // divisor))
    _write_graphs(place / "graph", max(40, NUM_GRAPHS // divisor))


def write_vocabularies(folder: Path) -> dict[int, Path]:
    """Write two sets of labelled rows, as many of each, that differ in how many different words they have."""
    found = {}
    for number in VOCABULARIES:
        path = folder / f"words-{number}" / "rows.jsonl"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            drawn = rng_for(1, "scale", "vocabulary").integers(number, size=(VOCABULARY_ROWS, WORDS_A_LINE))
            texts = [" ".join([_word(rank + 4096) for rank in line]) for line in drawn.tolist()]
            languages = list(ENCODED)
            _write_json(path, [(text, languages[i % len(languages)]) for i, text in enumerate(texts)])
        found[number] = path.parent
    return found


def _labelled(sentences: dict[str, list[str]], num_bytes: int) -> list[tuple[str, str]]:
    share = num_bytes // len(sentences)
    return [(text, lang) for lang, words in sentences.items() for text in _lines(words, share, lang)]


def zipf_text(num_bytes: int) -> bytes:
    """Return lines of made-up words whose frequencies follow Zipf's law, about so many bytes."""
    ranks = rng_for(1, "scale", "words").zipf(TAIL, num_bytes // 5) % MOST_WORDS
    drawn = [_word(rank + 256) for rank in ranks.tolist()]  # three letters and more
    lines = (" ".join(drawn[at : at + WORDS_A_LINE]) for at in range(0, len(drawn), WORDS_A_LINE))
    return "\n".join(lines).encode()[:num_bytes]


def _word(rank: int) -> str:
    """Write a number with letters: common words are short."""
    out = LETTERS[rank % 16]
    while rank := rank // 16:
        out += LETTERS[rank % 16]
    return out


def _samples() -> dict[str, list[str]]:
    folder = resources.files("samebits") / "samples"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".txt"))
    return {
        Path(name).stem: sorted(set((folder / name).read_text(encoding="utf-8").split())) for name in names
    }


def _lines(words: list[str], num_bytes: int, language: str) -> list[str]:
    """Draw lines of words of a language; hardly two are equal, so that nothing is dropped as a duplicate."""
    length = sum(len(word.encode()) + 1 for word in words) / len(words) * WORDS_A_LINE
    drawn = rng_for(1, "scale", language).integers(len(words), size=(int(num_bytes / length), WORDS_A_LINE))
    return [" ".join([words[i] for i in line]) for line in drawn.tolist()]


def _write_json(path: Path, rows: list[tuple[str, str]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for text, language in rows:
            file.write(json.dumps({"text": text, "lang": language}, ensure_ascii=False) + "\n")


def _write_files(folder: Path, sentences: dict[str, list[str]], number: int) -> None:
    for index in range(number):
        language = list(ENCODED)[index % len(ENCODED)]
        path = folder / language / f"page-{index:03}.txt"
        path.parent.mkdir(exist_ok=True)
        lines = _lines(sentences[language], FILE_BYTES, f"{language}-{index}")
        path.write_bytes("\n".join(lines).encode(ENCODED[language], "ignore"))


def _write_graphs(folder: Path, number: int) -> None:
    """Write random graphs of a few labelled nodes, about half of all edges present."""
    rng = rng_for(1, "scale", "graphs")
    with (folder / "graphs.jsonl").open("w", encoding="ascii") as file:
        for _ in range(number):
            nodes = [{"id": i, "label": LETTERS[int(rng.integers(4))]} for i in range(NUM_NODES)]
            ends = [(i, j) for i in range(NUM_NODES) for j in range(i) if rng.random() < 0.5]
            edges = [{"from": i, "to": j} for i, j in ends]
            file.write(json.dumps({"nodes": nodes, "edges": edges}) + "\n")
