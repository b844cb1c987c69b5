"""Files of any encoding to UTF-8: into another folder, or in place with backups; one bad file stops no other."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from samebits.charset.conversion.files import FoundFile, read_file
from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.interface import Choices
from samebits.charset.detection.readings import Evidence
from samebits.errors import InputError

__all__ = ["ConvertRules", "Converted", "convert_file", "decoded"]


@dataclass(frozen=True, slots=True)
class ConvertRules:
    """How to convert.

    Attributes:
        evidence: Models to detect by; None when the encoding is known.
        source: The encoding, when it is known.
        min_confidence: Leave files alone whose encoding is less certain.
        errors: What becomes of bytes the encoding cannot read.
        output: Folder for the results; None converts in place.
        backup: Suffix of the copy that in-place conversion keeps; empty keeps none.
        overwrite: Replace files and backups that exist.
        choices: What the caller knows about the encodings.
    """

    evidence: Evidence | None
    source: str = ""
    min_confidence: float = 0.5
    errors: Literal["strict", "replace"] = "strict"
    output: Path | None = None
    backup: str = ".bak"
    overwrite: bool = False
    choices: Choices | None = None


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of one file.

    Attributes:
        path: The file.
        status: Converted, the same already (UTF-8, written or left as it is), binary, or failed.
        encoding: What it was, or the type of a binary file.
        reason: Why it failed.
    """

    path: str
    status: Literal["converted", "unchanged", "binary", "failed"]
    encoding: str = ""
    reason: str = ""


class _Binary(Exception):
    """The data is no text; the argument is its type."""


def decoded(path: str, data: bytes, rules: ConvertRules) -> tuple[str, str]:
    """Text and encoding of a file's bytes.

    Raises:
        InputError: The encoding is unclear, or cannot read the bytes.
    """
    encoding = rules.source
    if rules.evidence is not None:
        encoding = _detected(path, data, rules, rules.evidence)
    try:
        return data.decode(encoding, rules.errors), encoding
    except UnicodeDecodeError as error:
        raise InputError(
            f"is not {encoding}: {error.reason}",
            path=path,
            offset=error.start,
            hint="use --errors replace, or a different --from",
        ) from error


def _detected(path: str, data: bytes, rules: ConvertRules, evidence: Evidence) -> str:
    if not data:
        return "utf-8"
    found = detect_with(evidence, data, rules.choices)
    if found.encoding is None and found.confidence:
        raise _Binary(found.mime_type)
    if found.encoding is None or found.confidence < rules.min_confidence:
        guess = (
            f"{found.encoding} with confidence {found.confidence:.2f}" if found.encoding else "nothing fits"
        )
        raise InputError(
            f"the encoding is unclear: {guess}",
            path=path,
            hint="name it with --from, or lower --min-confidence",
        )
    return found.encoding


def convert_file(file: FoundFile, rules: ConvertRules) -> Converted:
    """Convert one file; whatever is wrong with it is in the outcome."""
    try:
        data = read_file(file.path)
        text, encoding = decoded(file.path, data, rules)
        written = text.removeprefix("\ufeff").encode("utf-8", rules.errors)
        if rules.output is not None:
            _write(rules.output / file.relative, written, rules)
        elif written != data:
            _replace(Path(file.path), written, rules)
        return Converted(file.path, "unchanged" if written == data else "converted", encoding)
    except _Binary as error:
        return Converted(file.path, "binary", str(error))
    except InputError as error:
        return Converted(
            file.path, "failed", reason=error.message + (f" ({error.hint})" if error.hint else "")
        )
    except UnicodeEncodeError as error:
        return Converted(
            file.path, "failed", reason=f"{file.path}: holds half a character pair at {error.start}"
        )
    except OSError as error:
        return Converted(file.path, "failed", reason=f"{file.path}: cannot be written: {error.strerror}")


def _write(target: Path, data: bytes, rules: ConvertRules) -> None:
    if target.exists() and not rules.overwrite:
        raise InputError("already exists", path=str(target), hint="add --overwrite to replace it")
    target.parent.mkdir(parents=True, exist_ok=True)
    _atomically(target, data)


def _replace(path: Path, data: bytes, rules: ConvertRules) -> None:
    """Put the new bytes where the old ones were; the old ones are kept beside them first."""
    if rules.backup:
        copy = path.with_name(path.name + rules.backup)
        if copy.exists() and not rules.overwrite:
            raise InputError(
                "the backup already exists", path=str(copy), hint="add --overwrite to replace it"
            )
        shutil.copy2(path, copy)
    _atomically(path, data, like=path)


def _atomically(target: Path, data: bytes, *, like: Path | None = None) -> None:
    """Write beside the target and rename: a stopped command leaves the old file or the new one."""
    temporary = target.with_name(f".{target.name}.part")
    with temporary.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    if like is not None:
        shutil.copymode(like, temporary)
    temporary.replace(target)
