"""samebits charset detect, convert and eval: the commands that use a model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from samebits.charset.command_flags import corpus_flags
from samebits.cli.sections import HOW, OTHER, PRINT, WHAT, SectionedCommand, SectionedOption
from samebits.cli.terminal import echo_row
from samebits.errors import ConfigError, InputError, SamebitsError

if TYPE_CHECKING:
    from samebits.charset.conversion.convert import Converted
    from samebits.charset.conversion.files import FoundFile
    from samebits.charset.detection.interface import Choices, Detection
    from samebits.charset.detection.model import CharsetModel

__all__ = ["convert_command", "detect_command", "eval_command", "load_model", "model_flag"]

WIDEST_NAME = 40  # longer names of files push the columns of their own line


def model_flag() -> SectionedOption:
    """Return ``-m/--model``."""
    return SectionedOption(
        ["-m", "--model"],
        metavar="DIR",
        section=WHAT,
        help="models of your own: a folder of charset train; without it, the package's",
    )


def load_model(folder: str | None) -> CharsetModel:
    """Byte-pair models of ``charset train``; without a folder, ones made from the package's samples, and it says so."""
    from samebits.charset.detection.model import CharsetModel, sample_model

    if folder is not None:
        return CharsetModel.load(folder)
    model = sample_model()
    click.echo(f"no --model given: using {model.trained_on}", err=True)
    return model


def _choices(values: dict[str, Any]) -> Choices:
    from samebits.charset.detection.interface import choices

    return choices(
        include=_names(values["include"]),
        exclude=_names(values["exclude"]),
        eras=_names(values["era"]),
        languages=_names(values["languages"]),
        prefer_superset=values["prefer_superset"],
        max_bytes=values["max_bytes"],
    )


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (text or "").split(",") if name.strip())


def _detections(
    files: Sequence[FoundFile], model: str | None, wanted: Choices, *, top: int, workers: int
) -> Iterator[tuple[str, Detection | InputError]]:
    """Answers in the order of the files; what cannot be read is an answer too."""
    from samebits.charset.conversion.files import read_file
    from samebits.charset.detection.detect import detect_with
    from samebits.charset.detection.readings import load_evidence

    if workers < 1:
        raise ConfigError(f"--workers is {workers}", hint="use 1 or more")
    evidence = load_evidence(model)

    def answer(file: FoundFile) -> Detection | InputError:
        try:
            return detect_with(evidence, read_file(file.path, wanted.max_bytes), wanted, top=top)
        except InputError as error:
            return error

    if len(files) == 1 or workers == 1:
        yield from ((file.path, answer(file)) for file in files)
        return
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        yield from zip((file.path for file in files), pool.map(answer, files), strict=True)


def _detect(**values: Any) -> None:
    from samebits.charset.conversion.files import find_files

    files = find_files(values["files"])
    widths = (min(WIDEST_NAME, max((len(file.path) for file in files), default=0)), 10, 5, 3, 0)
    failed: list[InputError] = []
    for path, found in _detections(
        files, values["model"], _choices(values), top=values["top"], workers=values["workers"]
    ):
        if isinstance(found, InputError):
            failed.append(found)
            if len(files) > 1:
                click.echo(f"{found}", err=True)
        elif values["as_json"]:
            click.echo(json.dumps(_plain(path, found)))
        elif values["minimal"]:
            click.echo(found.encoding or "none")
        else:
            echo_row(_cells(path, found), widths)
    if failed:
        if len(files) == 1:
            raise failed[0]
        raise SamebitsError(f"{len(failed)} of {len(files)} files could not be read")


def _cells(path: str, found: Detection) -> list[str]:
    """Return file, encoding, confidence, language and the other candidates, or the type of a binary file."""
    if not found.encoding:
        return [path, "none", f"{found.confidence:.3f}", "-", found.mime_type]
    others = " ".join(
        f"{c.encoding}={c.confidence:.3f}" for c in found.candidates[1:] if c.confidence >= 0.0005
    )
    cells = [path, found.encoding, f"{found.confidence:.3f}", found.language or "-"]
    return [*cells, others] if others else cells


def _plain(path: str, found: Detection) -> dict[str, Any]:
    return {
        "file": path,
        "encoding": found.encoding,
        "confidence": found.confidence,
        "language": found.language or None,
        "mime_type": found.mime_type or None,
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
    from samebits.charset.codec import canonical_name
    from samebits.charset.conversion.convert import ConvertRules, convert_file, decoded
    from samebits.charset.conversion.files import find_files, read_file
    from samebits.charset.detection.readings import load_evidence

    files = find_files(values["files"])
    if values["output"] is not None and values["in_place"]:
        raise ConfigError("--in-place and -o exclude each other", hint="give one of them")
    source = canonical_name(values["source"]) if values["source"] else ""
    rules = ConvertRules(
        evidence=None if source else load_evidence(values["model"]),
        source=source,
        min_confidence=values["min_confidence"],
        errors=values["errors"],
        output=Path(values["output"]) if values["output"] is not None else None,
        backup=values["backup"],
        overwrite=values["overwrite"],
    )
    if values["output"] is None and not values["in_place"]:
        if len(files) != 1:
            hint = "name a folder with -o, or use --in-place"
            raise ConfigError(f"{len(files)} files cannot all go to standard output", hint=hint)
        text, encoding = decoded(files[0].path, read_file(files[0].path), rules)
        click.echo(f"{files[0].path}: {encoding}", err=True)
        _print(text.removeprefix("\ufeff"))
        return
    outcomes = [convert_file(file, rules) for file in files]
    _report(outcomes)


def _print(text: str) -> None:
    """Write a text: its bytes into a pipe, its lines to a terminal, where control characters are shown."""
    if sys.stdout.isatty():
        sys.stdout.write(text.replace("\r\n", "\n"))
    else:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))


def _report(outcomes: Sequence[Converted]) -> None:
    """One line for each file that was not converted, then the sum; ends with 1 when a text file is among them."""
    counts: dict[str, int] = {}
    for outcome in outcomes:
        if outcome.status == "failed":
            click.echo(f"skipped: {outcome.reason}", err=True)
        elif outcome.status == "binary":
            click.echo(f"skipped: {outcome.path}: binary ({outcome.encoding})", err=True)
        elif outcome.status == "converted":
            counts[outcome.encoding] = counts.get(outcome.encoding, 0) + 1
    of = {name: sum(outcome.status == name for outcome in outcomes) for name in _STATUSES}
    encodings = ", ".join(
        f"{name} {count}" for name, count in sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    )
    parts = [f"{of['converted']:,} converted" + (f" ({encodings})" if encodings else "")]
    parts += [f"{of[name]:,} {words}" for name, words in _STATUSES.items() if words and of[name]]
    click.echo(
        f"{len(outcomes):,} {'file' if len(outcomes) == 1 else 'files'} = {' + '.join(parts)}", err=True
    )
    if of["failed"]:
        count = f"{of['failed']:,} of {len(outcomes):,} files" if len(outcomes) > 1 else "the file"
        raise SamebitsError(f"{count} could not be converted; the reasons are above")


_STATUSES = {"converted": "", "unchanged": "in UTF-8 already", "binary": "binary", "failed": "failed"}


def _eval(**values: Any) -> None:
    from samebits.charset.detection.detect import detect_with
    from samebits.charset.detection.evaluate import judge, make_snippets
    from samebits.charset.detection.model import CharsetModel
    from samebits.charset.detection.readings import evidence_of
    from samebits.charset.pairs import detector_pairs
    from samebits.charset.training.slices import cut_slices, texts_by_language
    from samebits.data.inputs.corpus import open_corpus

    model = CharsetModel.load(values["model"]) if values["model"] else None
    evidence = evidence_of(model)
    corpus = open_corpus(values["inputs"])
    slices = cut_slices(corpus, unit=values["unit"], columns=(values["text_column"], values["lang_column"]))
    pairs = model.pairs if model is not None else detector_pairs()
    snippets = make_snippets(
        pairs, texts_by_language(slices), per_pair=values["per_pair"], seed=values["seed"]
    )
    if not snippets:
        raise InputError(
            "no text of any trained language is long enough for a snippet", path=", ".join(values["inputs"])
        )
    scores = judge(snippets, [detect_with(evidence, snippet.data, top=1).encoding for snippet in snippets])
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
        ["--json", "as_json"], is_flag=True, section=PRINT, help="print JSON, one object per line"
    )


def _what(flag: str, metavar: str, text: str) -> SectionedOption:
    return SectionedOption([flag], metavar=metavar, section=WHAT, help=text)


detect_command = SectionedCommand(
    "detect",
    callback=_detect,
    params=[
        click.Argument(["files"], nargs=-1, required=True, metavar="FILE..."),
        model_flag(),
        _what("--include", "X,Y", "consider these encodings only"),
        _what("--exclude", "X,Y", "never answer these encodings"),
        _what("--era", "A,B", "encodings of these eras only: web, iso, mac, regional, dos, mainframe"),
        _what("--languages", "A,B", "the text is probably in one of these"),
        SectionedOption(
            ["--prefer-superset"],
            is_flag=True,
            section=WHAT,
            help="name the larger encoding where one contains the other (cp1252 for iso8859-1)",
        ),
        SectionedOption(
            ["--max-bytes"],
            type=int,
            default=200_000,
            metavar="N",
            section=WHAT,
            help="bytes to read of each file [200000]",
        ),
        SectionedOption(
            ["--minimal"], is_flag=True, section=PRINT, help="print only the encoding of each file"
        ),
        SectionedOption(
            ["--top"], type=int, default=5, metavar="N", section=PRINT, help="candidates to show [5]"
        ),
        SectionedOption(
            ["-w", "--workers"], type=int, default=4, metavar="N", section=HOW, help="files at a time [4]"
        ),
        _json_flag(),
    ],
    help="Find the encoding of files, of all files in folders, or of standard input (-). Each line has file, encoding, confidence, "
    "language, other candidates; a binary file is none, with its type.",
    example="""
    samebits charset detect letter.txt
    samebits charset detect mail/ --json
    iconv -f utf-8 -t koi8-r letter.txt | samebits charset detect --minimal -
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
            help="skip files whose encoding is less certain than this [0.5]",
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
            help="folder to write to; one file goes to standard output without it",
        ),
        SectionedOption(["--in-place"], is_flag=True, section=OTHER, help="replace the files themselves"),
        SectionedOption(
            ["--backup"],
            default=".bak",
            metavar="SUFFIX",
            section=OTHER,
            help="with --in-place, keep the old file under this suffix; '' keeps none [.bak]",
        ),
        SectionedOption(
            ["--overwrite"], is_flag=True, section=OTHER, help="replace files and backups that exist"
        ),
    ],
    help="Write files as UTF-8. Folders are walked and their tree is kept; binary files and files whose encoding is unclear are "
    "skipped and listed, and a summary adds everything up. Exits with 1 if a text file could not be converted.",
    example="""
    samebits charset convert old/ -o new/
    samebits charset convert notes.txt letters/ --in-place
    """,
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
            ["--seed"],
            type=int,
            default=1,
            metavar="N",
            section=WHAT,
            help="seed that chooses the snippets [1]",
        ),
        *corpus_flags(unit="file"),
        _json_flag(),
    ],
    help="Evaluate a model on text it was not trained on: snippets of 20 to 200 bytes, re-encoded in every pair.",
    example="samebits charset eval held-out/ -m models",
)
