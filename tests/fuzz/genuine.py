"""Small genuine artifacts of every job to forge from, made in this process, and the files of models that are shipped."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import samebits

__all__ = ["FORGEABLE", "MAKERS"]

LINES = {
    "en": ["the cat sat on the mat", "where is the library", "a dog and a bird in the house"],
    "fr": ["le chat est sur le tapis", "où est la bibliothèque", "un chien et un oiseau dans la maison"],
    "ru": ["кошка сидит на коврике", "где находится библиотека", "собака и птица в доме"],
}
SAMPLES = Path(samebits.__file__).parent / "samples"
CHARACTERS = Path(samebits.__file__).parent / "charset" / "characters" / "models.bin"


def _run(job: str, values: dict[str, Any], output: Path) -> Path:
    from samebits.core.config import make_config
    from samebits.jobs import get_job

    options = samebits.RunOptions(
        executor="lockstep" if job in ("lm", "graph_train") else "serial", workers="1"
    )
    samebits.run(job, make_config(get_job(job).Config, values), output=output, options=options)
    return output


def _text(output: Path) -> str:
    path = output.with_suffix(".txt")
    path.write_text("\n".join(line for lines in LINES.values() for line in lines) + "\n", encoding="utf-8")
    return str(path)


def _labelled(output: Path) -> str:
    path = output.with_suffix(".jsonl")
    rows = [{"text": line, "lang": name} for name, lines in LINES.items() for line in lines * 2]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def _count(output: Path) -> Path:
    return _run("count", {"inputs": [_text(output)]}, output)


def _langid(output: Path) -> Path:
    return _run("langid", {"inputs": [_labelled(output)]}, output)


def _langid_exact(output: Path) -> Path:
    return _run("langid", {"inputs": [_labelled(output)], "mode": "exact"}, output)


def _langid_compact(output: Path) -> Path:
    return _run("langid", {"inputs": [_labelled(output)], "mode": "compact", "megabytes": 1}, output)


def _charset(output: Path) -> Path:
    corpus = output.with_suffix(".corpus")
    corpus.mkdir(exist_ok=True)
    for name in ("fr", "ru"):
        (corpus / f"{name}.txt").write_bytes((SAMPLES / f"{name}.txt").read_bytes())
    return _run("charset", {"inputs": [str(corpus)]}, output)


def _tokens_packed(output: Path) -> Path:
    return _run("tokens", {"inputs": [_text(output)], "tokenizer": "word"}, output)


def _tokens_rows(output: Path) -> Path:
    return _run(
        "tokens", {"inputs": [_text(output)], "tokenizer": "char", "layout": "rows", "max_length": 16}, output
    )


def _lm(output: Path) -> Path:
    values = {"layers": 1, "heads": 2, "width": 16, "block": 8, "steps": 2, "batch": 4}
    return _run("lm", {"inputs": [_text(output)], **values}, output)


def _graph(output: Path) -> Path:
    data = _run("graph_generate", {"n": 40}, output.with_suffix(".data"))
    return _run("graph_train", {"inputs": [str(data)], "steps": 2, "width": 16, "batch": 8}, output)


def _characters(output: Path) -> Path:
    """The file of the detector's models, beside a list of files as an artifact has it."""
    output.mkdir(parents=True)
    shutil.copy(CHARACTERS, output)
    (output / "manifest.json").write_text(json.dumps({"files": {CHARACTERS.name: {}}}))
    return output


MAKERS: dict[str, Callable[[Path], Path]] = {
    "count": _count,
    "langid": _langid,
    "langid_compact": _langid_compact,
    "langid_exact": _langid_exact,
    "charset": _charset,
    "tokens_packed": _tokens_packed,
    "tokens_rows": _tokens_rows,
    "lm": _lm,
    "graph": _graph,
}
#: What the forger works on: artifacts of all jobs, and a file that no job makes.
FORGEABLE = {**MAKERS, "characters": _characters}
