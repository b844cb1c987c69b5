"""samebits charset detect, convert and eval: the commands that use a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samebits.cli.sections import HOW, OTHER, PRINT, WHAT, SectionedCommand, SectionedOption
from samebits.core.regular_file import read_regular
from samebits.errors import ConfigError, InputError

if TYPE_CHECKING:
    from samebits.charset.detection.detect import Detection
    from samebits.charset.detection.model import CharsetModel

__all__ = ["convert_command", "detect_command", "eval_command", "load_model", "model_flag"]


def model_flag() -> SectionedOption:
    """Return ``-m/--model``."""
    return SectionedOption(
        ["-m", "--model"],
        metavar="DIR",
        section=WHAT,
        help="trained models; without it, small ones made from the package's samples",
    )


def load_model(folder: str | None) -> CharsetModel:
    """Load a model, or make the package's own and say what it was trained on."""
    from samebits.charset.detection.model import CharsetModel, default_model

    if folder is not None:
        return CharsetModel.load(folder)
    model = default_model()
    click.echo(f"no --model given: using {model.trained_on}", err=True)
    return model


def _read(path: str) -> bytes:
    if path == "-":
        return sys.stdin.buffer.read()
    try:
        if Path(path).is_dir():
            raise InputError("is a folder", path=path, hint=f"name the files in it, e.g. {path}/*")
        return read_regular(Path(path))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error


def _detections(
    paths: tuple[str, ...], model: CharsetModel, *, top: int, workers: int
) -> Iterator[tuple[str, Detection]]:
    from samebits.charset.detection.detect import detect_with

    if workers < 1:
        raise ConfigError(f"--workers is {workers}", hint="use 1 or more")
    # Files are read and scored in threads; both release the interpreter lock. Answers come in the order of the files.
    with ThreadPoolExecutor(workers) as pool:
        found = pool.map(lambda path: detect_with(model, _read(path), top=top), paths)
        yield from zip(paths, found, strict=True)


def _detect(**values: Any) -> None:
    model = load_model(values["model"])
    for path, found in _detections(values["files"], model, top=values["top"], workers=values["workers"]):
        if values["as_json"]:
            click.echo(json.dumps(_plain(path, found)))
            continue
        names = " ".join(f"{c.encoding}={c.confidence:.3f}" for c in found.candidates[1:])
        answer = (
            f"{found.encoding}\t{found.confidence:.3f}\t{found.language or '-'}"
            if found.encoding
            else "none\t0.000\t-"
        )
        click.echo(f"{path}\t{answer}\t{names}")


def _plain(path: str, found: Detection) -> dict[str, Any]:
    return {
        "file": path,
        "encoding": found.encoding,
        "confidence": found.confidence,
        "language": found.language or None,
        "candidates": [
            {
                "encoding": c.encoding,
                "confidence": c.confidence,
                "language": c.language or None,
                "aliases": list(c.aliases),
            }
            for c in found.candidates
        ],
    }


def _convert(**values: Any) -> None:
    files = values["files"]
    if values["output"] is None and len(files) > 1:
        raise ConfigError("several files cannot go to one standard output", hint="name a folder with -o")
    model = None if values["source"] else load_model(values["model"])
    for path in files:
        text = _decoded(path, _read(path), model, values)
        data = text.encode("utf-8")
        if values["output"] is None:
            sys.stdout.buffer.write(data)
        else:
            target = Path(values["output"]) / (Path(path).name if path != "-" else "stdin.txt")
            if target.exists() and not values["overwrite"]:
                raise InputError("exists already", path=str(target), hint="add --overwrite to replace it")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


def _decoded(path: str, data: bytes, model: CharsetModel | None, values: dict[str, Any]) -> str:
    from samebits.charset.codec import canonical_name
    from samebits.charset.detection.detect import detect_with

    encoding = values["source"] and canonical_name(values["source"])
    if model is not None:
        found = detect_with(model, data)
        if data and (found.encoding is None or found.confidence < values["min_confidence"]):
            guess = (
                f"{found.encoding} with confidence {found.confidence:.2f}" if found.encoding else "nothing"
            )
            raise InputError(
                f"the encoding is unclear: {guess}",
                path=path,
                hint="name it with --from, or lower --min-confidence",
            )
        encoding = found.encoding or "utf-8"
        click.echo(f"{path}: {encoding}", err=True)
    try:
        return data.decode(encoding, values["errors"])
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not {encoding}: {error.reason}",
            path=path,
            offset=error.start,
            hint="use --errors replace, or another --from",
        ) from error


def _eval(**values: Any) -> None:
    from samebits.charset.detection.detect import detect_with
    from samebits.charset.detection.evaluate import judge, make_snippets
    from samebits.charset.training.slices import cut_slices, texts_by_language
    from samebits.data.inputs.corpus import open_corpus

    model = load_model(values["model"])
    corpus = open_corpus(values["inputs"])
    slices = cut_slices(corpus, unit=values["unit"], columns=(values["text_column"], values["lang_column"]))
    snippets = make_snippets(
        model.pairs, texts_by_language(slices), per_pair=values["per_pair"], seed=values["seed"]
    )
    if not snippets:
        raise InputError(
            "no text of any trained language is long enough for a snippet", path=", ".join(values["inputs"])
        )
    scores = judge(snippets, [detect_with(model, snippet.data, top=1).encoding for snippet in snippets])
    if values["as_json"]:
        click.echo(
            json.dumps(
                {name: {"right": s.right, "total": s.total, "share": s.share} for name, s in scores.items()}
            )
        )
        return
    for name, found in scores.items():
        click.echo(f"{name}\t{found.share:.1%}\t{found.right} of {found.total}")


def _json_flag() -> SectionedOption:
    return SectionedOption(
        ["--json", "as_json"], is_flag=True, section=PRINT, help="print JSON, one object a line"
    )


detect_command = SectionedCommand(
    "detect",
    callback=_detect,
    params=[
        click.Argument(["files"], nargs=-1, required=True, metavar="FILE..."),
        model_flag(),
        SectionedOption(
            ["--top"], type=int, default=5, metavar="N", section=PRINT, help="candidates to show [5]"
        ),
        SectionedOption(
            ["-w", "--workers"], type=int, default=4, metavar="N", section=HOW, help="files at a time [4]"
        ),
        _json_flag(),
    ],
    help="Find the encoding of files, or of standard input (-). A line is: file, encoding, confidence, language, candidates.",
    example="""
    samebits charset detect letter.txt
    samebits charset detect mail/*.eml -m models --json
    """,
)
convert_command = SectionedCommand(
    "convert",
    callback=_convert,
    params=[
        click.Argument(["files"], nargs=-1, required=True, metavar="FILE..."),
        model_flag(),
        SectionedOption(
            ["--from", "source"], metavar="NAME", section=WHAT, help="the encoding, when it is known"
        ),
        SectionedOption(
            ["--min-confidence"],
            type=float,
            default=0.5,
            metavar="X",
            section=WHAT,
            help="refuse a less certain guess [0.5]",
        ),
        SectionedOption(
            ["--errors"],
            type=click.Choice(["strict", "replace"]),
            default="strict",
            section=WHAT,
            help="what to do with undecodable bytes [strict]",
        ),
        SectionedOption(
            ["-o", "--output"],
            metavar="DIR",
            section=OTHER,
            help="folder to write to; standard output without it",
        ),
        SectionedOption(["--overwrite"], is_flag=True, section=OTHER, help="replace files that exist"),
    ],
    help="Write files as UTF-8.",
    example="samebits charset convert old/*.txt -o new/",
)
eval_command = SectionedCommand(
    "eval",
    callback=_eval,
    params=[
        click.Argument(["inputs"], nargs=-1, required=True, metavar="CORPUS..."),
        model_flag(),
        SectionedOption(
            ["--per-pair"], type=int, default=40, metavar="N", section=WHAT, help="snippets of each pair [40]"
        ),
        SectionedOption(
            ["--seed"], type=int, default=1, metavar="N", section=WHAT, help="which snippets [1]"
        ),
        SectionedOption(
            ["--unit"],
            type=click.Choice(["file", "line"]),
            default="file",
            section=WHAT,
            help="what one text of a .txt file is [file]",
        ),
        SectionedOption(
            ["--text-column"],
            default="text",
            metavar="NAME",
            section=WHAT,
            help="column with the text [text]",
        ),
        SectionedOption(
            ["--lang-column"],
            default="lang",
            metavar="NAME",
            section=WHAT,
            help="column with the language [lang]",
        ),
        _json_flag(),
    ],
    help="Judge a model on text it was not trained on: snippets of 20 to 200 bytes, re-encoded in every pair.",
    example="samebits charset eval held-out/ -m models",
)
