"""Write what vocabulous 0.1.3 and unscript 0.1.3 give for small inputs, so that tests need neither.

Run with an environment that has both (and pandas < 3): ``python dev/make_langid_golden.py tests/langid/golden``.
For a longer comparison of the cleaner give another folder and a number of strings, then run tests/langid/test_exact.py with
SAMEBITS_LANGID_GOLDEN set to that folder. The texts are made here: words of a few languages with addresses, mentions, emoji, digits and marks thrown in.
"""

from __future__ import annotations

import json
import logging
import random  # noqa: TID251  # a fixed generator for a file that is made once
import re
import sys
from pathlib import Path
from typing import Any

WORDS = {
    "en": [
        "the",
        "house",
        "stands",
        "near",
        "old",
        "river",
        "and",
        "children",
        "play",
        "there",
        "every",
        "day",
    ],
    "de": [
        "das",
        "Haus",
        "steht",
        "am",
        "alten",
        "Fluß",
        "und",
        "die",
        "Kinder",
        "spielen",
        "dort",
        "täglich",
    ],
    "fr": ["la", "maison", "est", "près", "du", "vieux", "fleuve", "où", "les", "élèves", "jouent", "été"],
    "ru": [
        "дом",
        "стоит",
        "у",
        "старой",
        "реки",
        "и",
        "дети",
        "играют",
        "там",
        "каждый",
        "день",
        "ёлка",
        "мой",
    ],
    "ar": ["البيت", "قرب", "النهر", "القديم", "والأطفال", "يلعبون", "هناك", "كل", "يوم"],
    "hi": ["घर", "नदी", "के", "पास", "है", "और", "बच्चे", "वहाँ", "रोज़", "खेलते", "हैं"],
    "el": ["ΤΟ", "ΣΠΙΤΙ", "είναι", "κοντά", "στο", "παλιό", "ΠΟΤΑΜΟΣ", "και", "τα", "παιδιά"],
}
NOISE = [
    "http://a.example/x?y=1", "https://b.example", "www.c.example", "ftp://d/e", "x@y.example", "@name", "@@name", "#tag",
    "+1", "example.com", "12", "3.14", "1,234.5", "😀", "❤️", "1️⃣", "soooo", "!!!", "...", "٣٫٤", "١٢", "__DECIMAL_0__", "½",
]  # fmt: skip
PIECES = [*NOISE, *"aAbBzZ  ..,,@@++##__09173-/:", "Σ", "ς", "İ", "ı", "é", "e\u0301", "\u0323", "ﬁ", "ß", "й", "가", "漢", "。",
          "\u3000", "ا", "آ", "ـ", "\u200c", "\u200d", "न", "ि", "ก", "\ufe0f", "\u20e3", "\n", "\t", "\u00a0", "\u2003",
          "www.-", "aaa", "\u0085", "\x1c", "Ж"]  # fmt: skip


def rows(rng: random.Random, number: int) -> list[dict[str, str]]:
    """Labelled rows with noise in text and labels, and some repeats."""
    made: list[dict[str, str]] = []
    names = list(WORDS)
    for _ in range(number):
        name = rng.choice(names)
        words = [rng.choice(WORDS[name]) for _ in range(rng.randint(1, 6))]
        if rng.random() < 0.4:
            words.insert(rng.randrange(len(words) + 1), rng.choice(NOISE))
        if rng.random() < 0.2:
            words.append(rng.choice(WORDS[rng.choice(names)]))
        label = rng.choice(names) if rng.random() < 0.1 else name
        made.append({"text": " ".join(words), "lang": label})
        if rng.random() < 0.05:
            made.append({"text": made[-1]["text"], "lang": rng.choice(names)})
    return made


def trained(data: list[dict[str, str]], cycles: int, confidence: float, margin: float) -> dict[str, Any]:
    """What the reference makes of the rows."""
    import pandas as pd
    from vocabulous import Vocabulous

    frame = pd.DataFrame(data)
    model, report = Vocabulous().train(
        frame.copy(), frame.copy(), cycles=cycles, base_confidence=confidence, confidence_margin=margin
    )
    left = report["train_data"]
    reports = [
        {key: value for key, value in r.items() if key != "confusion_matrix"} for r in report["cycle_reports"]
    ]
    return {
        "settings": [cycles, confidence, margin],
        "words": {word: list(pairs.items()) for word, pairs in sorted(model.word_lang_freq.items())},
        "kept": [
            list(pair)
            for pair in zip(
                left["lang"], left["top_lang"], left["top_score"], left["second_score"], strict=True
            )
        ],
        "reports": reports,
    }


def cleaned(text: str) -> str:
    """What the reference's cleaner makes of a text."""
    from unscript import get_dominant_script, unscript

    if not text.strip():
        return ""
    script = get_dominant_script(text, min_percentage=20.0) or "Latn"
    kept = {"spaces": True, "numbers": True, "punctuation": False, "symbols": False}
    result: str = unscript(script, text, kept, lowercase=script != "Arab")
    return "" if result and re.match(r"^\d+$", result.strip()) else result


def main(folder: Path, num_strings: int = 1500) -> None:
    """Write both files."""
    logging.disable(logging.CRITICAL)
    rng = random.Random(7)
    data = rows(rng, 600)
    runs = [trained(data, *settings) for settings in ((1, 0.2, 0.2), (2, 0.5, 0.1), (3, 0.6, 0.2))]
    text = json.dumps({"rows": data, "runs": runs}, ensure_ascii=False, default=float)
    (folder / "training.json").write_text(text + "\n", encoding="utf-8")
    strings = ["".join(rng.choice(PIECES) for _ in range(rng.randint(1, 14))) for _ in range(num_strings)]
    pairs = [[string, cleaned(string)] for string in strings]
    (folder / "cleaning.json").write_text(json.dumps(pairs, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
