"""Where inputs are cached: fetched files, indexes of compressed ones, and copies of those that cannot be entered."""

from __future__ import annotations

import atexit
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from samebits.data.files import remove_tree
from samebits.errors import InputError

__all__ = ["UNFINISHED", "cache_folder", "folder_for", "new_file"]

UNFINISHED = "partial-"  # how names of files begin that are being written


def cache_folder() -> Path:
    """Return the folder for cached inputs: ``SAMEBITS_CACHE_DIR``, or the place the platform has for caches."""
    given = os.environ.get("SAMEBITS_CACHE_DIR")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "samebits"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "samebits"


def folder_for(kind: str) -> Path:
    """Return the folder for one kind of files, made if need be: in the cache, or for this process alone where that cannot be written."""
    folder = cache_folder() / kind
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            return folder
    except OSError:
        pass
    return _own_folder(kind)


@contextmanager
def new_file(folder: Path, *, origin: str) -> Iterator[Path]:
    """Give an empty file in a folder of the cache, to be filled and renamed; it is removed where that does not happen.

    Args:
        folder: Made if need be.
        origin: The input that the file is made from, for messages.

    Raises:
        InputError: It cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=folder, prefix=UNFINISHED)
        os.close(descriptor)
        try:
            yield Path(name)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"cannot be unpacked to {folder.parent}: {error.strerror}",
            path=origin,
            hint="free some space, let SAMEBITS_CACHE_DIR name a larger disk, or decompress the file yourself",
        ) from error


@cache
def _own_folder(kind: str) -> Path:
    folder = Path(tempfile.mkdtemp(prefix=f"samebits-{kind}-"))
    atexit.register(remove_tree, folder)
    return folder
