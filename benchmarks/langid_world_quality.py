"""What else the shipped kind of model promises: noise is noise, mixed lines are cut right, probabilities can be trusted.

Everything is measured with a model that has not seen the texts: sentences are of the held-out source.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import sysconfig
import tokenize
from collections.abc import Callable
from pathlib import Path

import numpy as np

from samebits.core.seeds import rng_for
from samebits.langid import LangidModel

__all__ = ["noise", "reliability", "spans"]

PER_KIND = 2_000
LINES = 600
ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
PATHS = [
    "index",
    "api",
    "user",
    "images",
    "static",
    "v2",
    "login",
    "page",
    "news",
    "archive",
    "blog",
    "search",
    "main",
    "test",
    "data",
    "file",
    "list",
    "item",
]
_FAMILIES = """
de nl sv da en
es pt fr it ro ca
pl cs ru bg uk
fi hu et
tr kk az
ar he
sw zu
id tl
vi
el
eu
"""
FAMILIES = [line.split() for line in _FAMILIES.strip().splitlines()]
Rng = np.random.Generator


def noise(model: LangidModel, sentences: list[tuple[str, str]]) -> dict[str, float]:
    """Percent of each kind of noise that has no language (``zxx`` or ``und``), and of real sentences."""
    found: dict[str, float] = {}
    total = 0
    for kind, texts in _noise_texts().items():
        none = sum(label in ("zxx", "und") for label in model.predict(texts))
        total += none
        found[kind] = 100 * none / len(texts)
    found["all"] = total / (len(found) * PER_KIND) * 100
    real = model.predict([text for _, text in sentences])
    found["real_sentences"] = 100 * sum(label in ("zxx", "und") for label in real) / len(real)
    return found


def _noise_texts() -> dict[str, list[str]]:
    rng = rng_for(0, "langid-world", "noise")
    makers: dict[str, Callable[[Rng], str]] = {
        "base64": _base64,
        "hashes": _hash,
        "urls": _url,
        "mash": _mash,
    }
    texts = {kind: [maker(rng) for _ in range(PER_KIND)] for kind, maker in makers.items()}
    return {**texts, "code": _code_lines(rng)}


def _base64(rng: Rng) -> str:
    return base64.b64encode(rng.bytes(int(rng.integers(9, 60)))).decode()


def _hash(rng: Rng) -> str:
    kinds = (hashlib.md5, hashlib.sha1, hashlib.sha256)
    return kinds[int(rng.integers(3))](rng.bytes(9)).hexdigest()


def _url(rng: Rng) -> str:
    host = _one(rng, ["example", "shop", "my-site", "cdn", "files"]) + _one(
        rng, [".com", ".org", ".de", ".io"]
    )
    path = "".join(f"/{_one(rng, PATHS)}" for _ in range(int(rng.integers(1, 5))))
    return _one(rng, ["https://", "http://", "www.", ""]) + host + path + _one(rng, ["", "?q=17", ".html"])


def _mash(rng: Rng) -> str:
    words = []
    for _ in range(int(rng.integers(1, 4))):
        letters = [
            _one(rng, _one(rng, ROWS)) if rng.random() < 0.3 else _one(rng, ROWS[1])
            for _ in range(int(rng.integers(5, 13)))
        ]
        words.append("".join(letters))
    return " ".join(words)


def _one(rng: Rng, choices: list[str] | tuple[str, ...] | str) -> str:
    return choices[int(rng.integers(len(choices)))]


def _code_lines(rng: Rng) -> list[str]:
    """Lines of Python's own library that hold code, neither comments nor strings alone."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(folder.glob("*.py"))[::4]
    lines: set[str] = set()
    for path in files:
        source = path.read_text(encoding="utf-8", errors="replace")
        kinds = (tokenize.NAME, tokenize.OP)
        numbers = {
            token.start[0]
            for token in tokenize.generate_tokens(io.StringIO(source).readline)
            if token.type in kinds
        }
        split = source.split("\n")
        lines |= {split[number - 1].strip() for number in numbers}
    long = sorted(line for line in lines if len(line) >= 8 and re.search("[a-z]", line))
    return [long[i] for i in rng.permutation(len(long))[:PER_KIND].tolist()]


def spans(model: LangidModel, sentences: list[tuple[str, str]]) -> dict[str, float]:
    """Percent of characters named right in lines of 2 to 4 stretches of 3 to 8 words."""
    texts: dict[str, list[list[str]]] = {}
    for label, text in sentences:
        texts.setdefault(label, []).append(text.split())
    families = [[name for name in family if name in texts] for family in FAMILIES]
    rng = rng_for(0, "langid-world", "spans")
    found = {}
    for kind, far in (("different_families", True), ("same_family", False)):
        right = total = 0
        for _ in range(LINES):
            line, labels = _mixed(rng, texts, [family for family in families if family], far=far)
            named = [span.label for span in model.spans(line) for _ in range(span.stop - span.start)]
            right += sum(a == b for a, b in zip(labels, named, strict=True))
            total += len(labels)
        found[kind] = 100 * right / total
    return found


def _mixed(
    rng: Rng, texts: dict[str, list[list[str]]], families: list[list[str]], *, far: bool
) -> tuple[str, list[str]]:
    usable = families if far else [family for family in families if len(family) > 1]
    family = usable[int(rng.integers(len(usable)))]
    line, before = "", ""
    labels: list[str] = []
    for _ in range(int(rng.integers(2, 5))):
        if far:
            others = [group for group in usable if before not in group]
            family = others[int(rng.integers(len(others)))]
        name = _one(rng, [one for one in family if one != before])
        words = texts[name][int(rng.integers(len(texts[name])))]
        count = min(int(rng.integers(3, 9)), len(words))
        first = int(rng.integers(len(words) - count + 1))
        piece = " ".join(words[first : first + count])
        line += (" " if line else "") + piece
        labels += [before] * (len(line) - len(piece) - len(labels)) + [name] * len(piece)
        before = name
    return line, labels


def reliability(model: LangidModel, rows: list[tuple[str, str]]) -> dict[str, object]:
    """Of texts named with a probability around p, how many are right: ten bins, and the mean distance."""
    full = list(model.predict_full([text for _, text in rows]))
    sure = np.array([one.confidence for one in full])
    right = np.array([one.label == label for one, (label, _) in zip(full, rows, strict=True)])
    place = np.minimum((sure * 10).astype(int), 9)
    bins = []
    for k in range(10):
        inside = place == k
        if inside.any():
            bins.append(
                {
                    "texts": int(inside.sum()),
                    "said": float(sure[inside].mean()),
                    "right": float(right[inside].mean()),
                }
            )
    off = sum(abs(float(one["said"]) - float(one["right"])) * one["texts"] for one in bins) / len(rows)
    return {"bins": bins, "error": off}
