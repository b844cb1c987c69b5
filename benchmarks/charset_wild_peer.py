"""Runs in an environment with chardet 7.7.0 and charset-normalizer: answers of the peers, and chardet's own judgement of any answers.

``python charset_wild_peer.py ask NAME`` reads lines of hexadecimal data and prints answers and CPU seconds for each;
``python charset_wild_peer.py judge`` reads a JSON list of (path, expected encoding, expected language, encoding, language) and prints verdicts.
Not imported by anything of samebits.
"""

from __future__ import annotations

import json
import sys
import time
from importlib import import_module
from pathlib import Path

Answer = tuple[str | None, float, str | None]


def _chardet(data: bytes) -> Answer:
    found = import_module("chardet").detect(data)
    return found["encoding"], found["confidence"], found["language"]


def _normalizer(data: bytes) -> Answer:
    best = import_module("charset_normalizer").from_bytes(data).best()
    return (best.encoding, 1 - best.chaos, best.language) if best else (None, 1.0, None)


def ask(name: str) -> None:
    """Answer every line of standard input."""
    detect = {"chardet": _chardet, "charset_normalizer": _normalizer}[name]
    items = [bytes.fromhex(line) for line in sys.stdin.read().split("\n") if line]
    for data in items[:20]:
        detect(data)
    answers, seconds = [], []
    for data in items:
        started = time.process_time()
        answers.append(detect(data))
        seconds.append(time.process_time() - started)
    print(json.dumps({"answers": answers, "seconds": seconds}))


def judge() -> None:
    """Judge answers by the rules chardet publishes for itself."""
    evaluation = import_module("chardet.evaluation")
    out = []
    for path, expected, language, encoding, found_language in json.load(sys.stdin):
        data = Path(path).read_bytes()
        out.append(
            {
                "strict": evaluation.is_exact_match(expected, encoding),
                "lenient": evaluation.is_acceptable(data, expected, encoding),
                "same_text": _same_text(data, expected, encoding),
                "language": language is None
                or (bool(found_language) and evaluation.is_language_equivalent(language, found_language)),
            }
        )
    print(json.dumps(out))


def _same_text(data: bytes, expected: str | None, encoding: str | None) -> bool:
    if expected is None or encoding is None:
        return expected is encoding is None
    try:
        return data.decode(expected) == data.decode(encoding)
    except (UnicodeError, LookupError):
        return False


if __name__ == "__main__":
    ask(sys.argv[2]) if sys.argv[1] == "ask" else judge()
