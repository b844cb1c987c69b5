"""What the demo works on: the package's sample sentences as a messy world.

One half lies in ``texts/<language>`` as clean UTF-8, to learn encodings from. The other half lies in ``raw/<label>`` as
files in old encodings, and one sentence in ten is in the folder of another language. ``truth.jsonl`` says what is what.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from samebits.core.seeds import rng_for

__all__ = ["ENCODINGS", "write_world"]

SEED = 1
WRONG_SHARE = 0.1
#: The encoding each language's raw files are in; the others are UTF-8, as most files are today.
ENCODINGS = {
    "ar": "cp1256",
    "cs": "cp1250",
    "de": "cp1252",
    "el": "iso8859-7",
    "fr": "iso8859-15",
    "he": "cp1255",
    "ja": "cp932",
    "ko": "cp949",
    "pl": "iso8859-2",
    "ru": "koi8-r",
    "th": "tis-620",
    "tr": "cp1254",
    "uk": "cp1251",
    "zh": "gb18030",
}
LINES_PER_FILE = 9


def write_world(folder: Path) -> dict[str, int]:
    """Write the files, the same bytes every time, and return how many there are of what."""
    samples = resources.files("samebits") / "samples"
    languages = sorted(Path(item.name).stem for item in samples.iterdir() if item.name.endswith(".txt"))
    truth: list[dict[str, str]] = []
    num_rows = num_wrong = 0
    for number, language in enumerate(languages):
        lines = (samples / f"{language}.txt").read_text(encoding="utf-8").splitlines()
        _write(folder / "texts" / language / "sentences.txt", "\n".join(lines[::2]).encode())
        kept, moved = _divide(lines[1::2], number)
        num_rows, num_wrong = num_rows + len(kept) + len(moved), num_wrong + len(moved)
        other = languages[(number + 1 + len(kept)) % len(languages)]
        other = other if other != language else languages[number - 1]
        for label, rows in ((language, kept), (other, moved)):
            truth += _write_files(folder, language, label, rows)
    _write(folder / "truth.jsonl", "".join(json.dumps(row) + "\n" for row in truth).encode())
    return {"languages": len(languages), "files": len(truth), "rows": num_rows, "wrong_labels": num_wrong}


def _divide(lines: list[str], number: int) -> tuple[list[str], list[str]]:
    """Draw the sentences that go to a wrong folder."""
    drawn = rng_for(SEED, "demo", number).random(len(lines)) < WRONG_SHARE
    pairs = list(zip(lines, drawn.tolist(), strict=True))
    return [line for line, wrong in pairs if not wrong], [line for line, wrong in pairs if wrong]


def _write_files(folder: Path, language: str, label: str, rows: list[str]) -> list[dict[str, str]]:
    encoding = ENCODINGS.get(language, "utf-8")
    truth = []
    for at in range(0, len(rows), LINES_PER_FILE):
        name = f"{label}/{language if label != language else 'page'}-{at // LINES_PER_FILE:02}.txt"
        # What the old page lacks is left out, as people did.
        _write(folder / "raw" / name, "\n".join(rows[at : at + LINES_PER_FILE]).encode(encoding, "ignore"))
        truth.append({"file": name, "language": language, "encoding": encoding})
    return truth


def _write(path: Path, data: bytes) -> None:
    if not path.exists() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
