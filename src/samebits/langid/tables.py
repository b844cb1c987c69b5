"""The committed code point tables, loaded once a process.

They come from ``dev/make_langid_tables.py``; results are promised for the Unicode version they state, whatever version
the running Python has.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path

import numpy as np

from samebits.core.codec import decode
from samebits.errors import ConfigError, did_you_mean
from samebits.kernels.langid.text.unicode import Tables

__all__ = ["ARRAYS", "load_tables", "script_names", "script_number", "unicode_version"]

ARRAYS = (
    "stage1", "stage2", "flags", "script", "keep", "ccc", "lower", "fold", "nfd_start", "nfd_length", "nfd", "pairs",
    "composed",
)  # fmt: skip


@cache
def _file() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    # Not an .npz: reading one costs every start 13 ms more, most of it zipfile and its friends.
    packed = Path(__file__).with_name("unicode.bin").read_bytes()
    return {name: array.copy() for name, array in decode(zlib.decompress(packed)).items()}  # aligned


@cache
def load_tables() -> Tables:
    """Return the tables for the kernels."""
    return Tables(*(_file()[name] for name in ARRAYS))  # type: ignore[arg-type]  # dtypes are fixed by the file


def unicode_version() -> str:
    """Return the Unicode version the tables were made from."""
    return _file()["unicode_version"].tobytes().decode()


def script_names() -> list[str]:
    """Return the scripts exact mode knows, by number."""
    return _file()["script_names"].tobytes().decode().split()


def script_number(name: str) -> int:
    """Return a script's number, or -1 for ``auto``: each row's dominant script.

    Raises:
        ConfigError: for a name that is not known.
    """
    if name == "auto":
        return -1
    names = script_names()
    if name not in names:
        raise ConfigError(f"--script is {name!r}", hint=did_you_mean(name, [*names, "auto"]))
    return names.index(name)
