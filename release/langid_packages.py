"""Rows from packages of two registries, for the rows that the model of the package is trained on (``release/langid_rows``).

Two sources fill gaps of the corpus: what emoji are called in some 130 languages (Unicode CLDR), the same things in every language,
and forms of Latin words (simplemma). Each package is pinned, and refused if its sha256 is another. The rows are not in the repository.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

from samebits.core.seeds import rng_for

__all__ = ["package_rows"]

Row = dict[str, str]
EMOJI = "cldr-annotations-full@48.2.0"
EMOJI_SHA256 = "28576e51225deb51e3ddd734b0f824a0079682cb5d8c27faa9f68149317a14d1"
# Names of the package's folders that are not ours; other folders count if the corpus has a language of their name.
EMOJI_NAMES = {"no": "nb", "fil": "tl", "sr-Latn": "sr", "zh-Hant": "zh"}
LATIN = "simplemma==2.0.0"
LATIN_SHA256 = "db33b15f5aed6485a748ce34d1f510ca760af2633289ab9a8493e2afa785c352"
LATIN_SCRIPT = """
from simplemma.strategies.dictionaries.dictionary_factory import DefaultDictionaryFactory
for form, lemma in DefaultDictionaryFactory().get_dictionary("la").items():
    print(form, lemma, sep="\\n")
"""
NUM_FORMS = 60_000  # of 1.3 million; with 200,000 fewer sentences in Latin were named right (dev/LOG.md)
TIMES = 6
PER_ROW = 8


def package_rows(languages: set[str]) -> Iterator[Row]:
    """Yield the rows of both packages in these languages."""
    with tempfile.TemporaryDirectory() as place:
        yield from emoji_rows(Path(place), languages)
        yield from latin_rows(Path(place))


def emoji_rows(folder: Path, languages: set[str]) -> Iterator[Row]:
    """Yield for each emoji its name and keywords in each language, every row once."""
    subprocess.run(["npm", "pack", "--silent", EMOJI], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    (packed,) = folder.glob("*.tgz")
    check(packed, EMOJI_SHA256)
    seen: set[tuple[str, str]] = set()
    with tarfile.open(packed) as files:
        for name in sorted(name for name in files.getnames() if name.endswith("/annotations.json")):
            lang = name.split("/")[-2]
            lang = EMOJI_NAMES.get(lang, lang)
            file = files.extractfile(name)
            if lang not in languages or file is None:
                continue
            for text in emoji_texts(file.read()):
                if (lang, text) not in seen:
                    seen.add((lang, text))
                    yield {"text": text, "lang": lang, "source": "cldr"}


def emoji_texts(data: bytes) -> Iterator[str]:
    """Yield the keywords and the name of each emoji in a file of annotations.

    >>> list(emoji_texts(b'{"annotations": {"annotations": {"x": {"default": ["cat", "pet"], "tts": ["cat face"]}, "y": {}}}}'))
    ['cat pet cat face']
    """
    for found in json.loads(data)["annotations"].get("annotations", {}).values():
        if words := [*found.get("default", []), *found.get("tts", [])]:
            yield " ".join(words)


def latin_rows(folder: Path) -> Iterator[Row]:
    """Yield forms of Latin words drawn from the list, eight per row, each six times in another order."""
    pip = [sys.executable, "-m", "pip"]
    subprocess.run([*pip, "download", "-q", "--no-deps", "--dest", str(folder), LATIN], check=True)
    (wheel,) = folder.glob("*.whl")
    check(wheel, LATIN_SHA256)
    target = folder / "latin"
    subprocess.run([*pip, "install", "-q", "--no-deps", "--target", str(target), str(wheel)], check=True)
    command = [sys.executable, "-c", LATIN_SCRIPT]
    done = subprocess.run(
        command, env={"PYTHONPATH": str(target), "PYTHONUTF8": "1"}, check=True, capture_output=True
    )
    forms = chosen_forms(done.stdout.decode().splitlines())
    for turn in range(TIMES):
        order = rng_for(0, "langid-latin", turn).permutation(len(forms)).tolist()
        for i in range(0, len(order), PER_ROW):
            text = " ".join(forms[k] for k in order[i : i + PER_ROW])
            yield {"text": text, "lang": "la", "source": "simplemma"}


def chosen_forms(lines: list[str]) -> list[str]:
    """Return forms of letters alone, none in capitals, as many as are wanted; a fixed choice."""
    forms = sorted({form for form in lines if form.isalpha() and form[1:].islower() and len(form) > 2})
    order = rng_for(0, "langid-latin", "forms").permutation(len(forms))[:NUM_FORMS].tolist()
    return [forms[k] for k in order]


def check(path: Path, expected: str) -> None:
    """Refuse a package that is not the pinned one."""
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        sys.exit(f"{path.name} has sha256 {found}, not {expected}")
