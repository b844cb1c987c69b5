"""Files and folders given on the command line: which files, and what each is called in the output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from samebits.errors import InputError

__all__ = ["FoundFile", "find_files", "read_file"]

#: Folders of version control hold no text of the user's.
_SKIPPED_FOLDERS = frozenset({".git", ".hg", ".svn"})


class FoundFile(NamedTuple):
    """A file, and its place below the folder that was given (or below what all given paths share)."""

    path: str
    relative: Path


def find_files(paths: Sequence[str]) -> list[FoundFile]:
    """Every file of the paths, folders walked in the order of names; a path that is not there stays for the reader to report.

    Names below the output keep the tree: two files of one name in two folders do not meet.

    Raises:
        InputError: There is no file in a folder that was given alone.
    """
    folders = [path for path in paths if path != "-" and Path(path).is_dir()]
    if len(paths) == 1 and folders:
        found = [FoundFile(str(file), file.relative_to(paths[0])) for file in _walk(Path(paths[0]))]
        if not found:
            raise InputError("there is no file in this folder", path=paths[0])
        return found
    parents = [str(Path(os.path.abspath(path)).parent) for path in paths if path != "-"]  # noqa: PTH100  # links stay links
    shared = os.path.commonpath(parents) if parents else ""
    out = []
    for path in paths:
        if path == "-":
            out.append(FoundFile(path, Path("stdin.txt")))
            continue
        files = _walk(Path(path)) if path in folders else [Path(path)]
        out += [FoundFile(str(file), Path(os.path.relpath(os.path.abspath(file), shared))) for file in files]  # noqa: PTH100
    return out


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        yield from (Path(place) / name for name in sorted(names))


def read_file(path: str, max_bytes: int = -1) -> bytes:
    """Bytes of a file, or of standard input for ``-``.

    Raises:
        InputError: It cannot be read; the message says why.
    """
    if path == "-":
        return sys.stdin.buffer.read(max_bytes)
    try:
        if not Path(path).is_file() and Path(path).exists():
            raise InputError("is not a file", path=path)
        with Path(path).open("rb") as file:
            return file.read(max_bytes)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
