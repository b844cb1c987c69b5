"""Small files that must be files: settings, manifests, recipes. A named pipe in their place would be waited for without end."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

from samebits.errors import InputError

__all__ = ["open_regular", "read_regular"]


def open_regular(path: Path) -> BufferedReader:
    """Open a file to read it.

    Raises:
        OSError: There is none, or it cannot be opened.
        InputError: It is something else.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return open(descriptor, "rb")  # noqa: PTH123 - of a descriptor that was looked at
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    hint = "give a file; what comes through a pipe is read from standard input, as -"
    raise InputError("not a file", path=str(path), hint=hint)


def read_regular(path: Path) -> bytes:
    """Read a whole file.

    Raises:
        FileNotFoundError: There is none.
        NotADirectoryError: A folder of the path is a file.
        InputError: It is something else, or cannot be read.
    """
    try:
        with open_regular(path) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
