"""Detection as plain functions and a class: what ``from samebits import charset`` offers of it."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Unpack

from samebits.charset.characters.model_file import CharacterModel, shipped_model
from samebits.charset.detection.detect import detect_with
from samebits.charset.detection.interface import Candidate, Detection, Wanted, choices
from samebits.charset.detection.readings import evidence_of
from samebits.charset.detection.stream import DetectorStream
from samebits.errors import ConfigError, InputError

if TYPE_CHECKING:
    from samebits.charset.detection.model import CharsetModel

__all__ = ["Detector", "default_model", "detect", "detect_all"]

Source = bytes | bytearray | memoryview | PathLike[str] | BinaryIO
_ALL = 1000


def default_model() -> CharacterModel:
    """The models inside the package, which `detect` uses when it is given none."""
    return shipped_model()


def detect(
    data: Source,
    model: CharsetModel | CharacterModel | None = None,
    *,
    top: int = 5,
    **wanted: Unpack[Wanted],
) -> Detection:
    """Find the encoding of bytes, of a file by its path, or of an open binary file.

    Args:
        data: Bytes, a `pathlib.Path`, or a file object; of a file at most `max_bytes` are read.
        model: Models to use; without any, the package's own.
        top: How many candidates to give.
        include: Consider these encodings only.
        exclude: Never answer these encodings.
        eras: Consider encodings of these eras only: web, iso, mac, regional, dos, mainframe.
        languages: The text is probably in one of these languages.
        priors: Bits in favour of an encoding, by name; 10 bits are worth about three characters of text.
        prefer_superset: Name the larger encoding where one contains the other (cp1252 for iso8859-1).
        max_bytes: Look at this many bytes at most.

    >>> detect("Grüße aus München, schöne Straße".encode("cp1252")).encoding
    'cp1252'
    """
    asked = choices(**wanted)
    return detect_with(evidence_of(model), bytes_of(data, asked.max_bytes), asked, top=top)


def detect_all(
    data: Source,
    model: CharsetModel | CharacterModel | None = None,
    **wanted: Unpack[Wanted],
) -> list[Candidate]:
    """All readings of the data worth a mention, the likeliest first; arguments as for `detect`."""
    return list(detect(data, model, top=_ALL, **wanted).candidates)


class Detector(DetectorStream):
    """A detector for data that comes in pieces: `feed` it, `close` it, read its `result`.

    >>> detector = Detector()
    >>> for piece in ("Привет, ".encode("koi8-r"), "как дела?".encode("koi8-r")):
    ...     detector.feed(piece)
    >>> detector.close().encoding
    'koi8-r'
    """

    def __init__(self, model: CharsetModel | CharacterModel | None = None, **wanted: Unpack[Wanted]) -> None:
        """Take the arguments of `detect`."""
        super().__init__(evidence_of(model), choices(**wanted))


def bytes_of(data: Source, max_bytes: int) -> bytes:
    """The first bytes of whatever holds them.

    Raises:
        ConfigError: It is text already, or nothing that holds bytes.
        InputError: The file cannot be read.
    """
    if isinstance(data, (bytes, bytearray, memoryview)):
        return bytes(data[:max_bytes])
    if isinstance(data, PathLike):
        try:
            with Path(data).open("rb") as file:
                return file.read(max_bytes)
        except OSError as error:
            raise InputError(f"cannot be read: {error.strerror}", path=str(data)) from error
    if not hasattr(data, "read"):
        hint = "give bytes, a pathlib.Path or a file opened with 'rb'"
        raise ConfigError(f"cannot detect the encoding of a {type(data).__name__}", hint=hint)
    found = data.read(max_bytes)
    if not isinstance(found, bytes):
        raise ConfigError("the file was opened as text", hint="open it with 'rb'")
    return found
