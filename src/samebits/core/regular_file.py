"""Small files that must be files: settings, manifests, recipes. A named pipe in their place would be waited for without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from samebits.errors import InputError

__all__ = ["read_regular"]


def read_regular(path: Path) -> bytes:
    """Read a whole file.

    Raises:
        FileNotFoundError: There is none.
        NotADirectoryError: A folder of the path is a file.
        InputError: It is something else, or cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open(descriptor, "rb") as file:  # noqa: PTH123 - of a descriptor that was looked at
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise InputError(
                    "not a file",
                    path=str(path),
                    hint="give a file; what comes through a pipe is read from standard input, as -",
                )
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        raise
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=str(path)) from None
