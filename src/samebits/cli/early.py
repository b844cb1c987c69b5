"""Begin loading a tokenizer file while the command's own modules are being imported.

fastokens builds its tables for a file of 32,000 ids in 0.26 s without holding the GIL, and the imports take as long on
another core. This looks at the arguments before click is imported, so it only guesses: a wrong guess costs only work.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

__all__ = ["begin_early"]

FLAGS = ("-t", "--tokenizer")


def begin_early(arguments: Sequence[str]) -> None:
    """Start what ``tokens build -t FILE`` is going to need."""
    if list(arguments[:2]) != ["tokens", "build"]:
        return
    import hashlib
    from pathlib import Path

    from samebits.machine import early_start as early

    path = Path(_value_of(FLAGS, arguments))
    path = path / "tokenizer.json" if path.is_dir() else path
    with suppress(OSError):
        document = path.read_bytes()
        early.begin(f"fastokens {hashlib.sha256(document).hexdigest()}", lambda: _load(document))


def _value_of(flags: Sequence[str], arguments: Sequence[str]) -> str:
    for flag, value in pairwise(arguments):
        if flag in flags:
            return value
    return next((a.partition("=")[2] for a in arguments if a.partition("=")[0] in flags), "")


def _load(document: bytes) -> Any:
    """Build the tables and make the first call, which builds more of them (20 ms) and sizes the library's thread pool."""
    from fastokens._native import Tokenizer

    from samebits.machine.one_cpu import one_cpu

    library = Tokenizer.from_json_str(document.decode())
    with one_cpu():
        library.encode_batch_flat(["a"], split_special_tokens=True)
    return library
