"""Begin loading a tokenizer file, and encoding, while the command's own modules are being imported.

gigatoken builds its tables for a file of 32,000 ids in 0.08 s, fastokens in 0.26 s without holding the GIL, our own kernel in 0.015 s,
and the imports take as long on another core. This looks at the arguments before click is imported, so it only guesses: which encoder is
wanted by what a probe found before, the rest by the flags. A wrong guess costs only work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samebits.tokens.early.cut import Cut

__all__ = ["begin_early"]

FLAGS = ("-t", "--tokenizer")
HASH_SECONDS = 0.04  # in which some 150 MB are hashed; the imports take longer
SWITCH_SECONDS = (
    0.0005  # until whoever imports lets a thread in that asks: in Python's 5 ms it could read 40 MB
)


def begin_early(arguments: Sequence[str]) -> None:
    """Start what ``tokens build -t FILE`` is going to need."""
    if list(arguments[:2]) != ["tokens", "build"] or any(a.startswith("--special-tokens") for a in arguments):
        return
    from samebits.tokens.early.guess import guess_cut
    from samebits.tokens.early.numpy_docs import leave_out_numpy_docs

    leave_out_numpy_docs()
    cut = guess_cut(arguments[2:])
    if cut is not None:
        from samebits.data.inputs.blocks import begin_hashing

        sys.setswitchinterval(SWITCH_SECONDS)
        begin_hashing(cut.path)
    from pathlib import Path

    from samebits.core.regular_file import read_regular
    from samebits.errors import InputError
    from samebits.machine import early_start as early
    from samebits.tokens.encoders.probe_memory import document_digest, probe_key, was_equal

    path = Path(_value_of(FLAGS, arguments))
    path = path / "tokenizer.json" if path.is_dir() else path
    with suppress(OSError, ImportError, InputError, RuntimeError):  # the last: no more threads
        document = read_regular(path)
        if was_equal(probe_key(document, "samebits", "text", "byte pairs")):
            _begin_byte_pairs(document, cut)
            return
        digest = document_digest(document)
        if was_equal(probe_key(document, "gigatoken", "text")):
            early.begin(f"gigatoken text {digest}", lambda: _load_gigatoken(document))
        elif was_equal(probe_key(document, "fastokens", "text")):
            early.begin(f"fastokens {digest}", lambda: _load_fastokens(document))


def _value_of(flags: Sequence[str], arguments: Sequence[str]) -> str:
    for flag, value in pairwise(arguments):
        if flag in flags:
            return value
    return next((a.partition("=")[2] for a in arguments if a.partition("=")[0] in flags), "")


def _begin_byte_pairs(document: bytes, cut: Cut | None) -> None:
    """Read the merges, then encode; two threads that import wait for one another, so what both need is imported here.

    First the input is hashed, unless that takes long: the imports have one core, all that is begun here the other.
    """
    from samebits.data.inputs.blocks import begun_hashing
    from samebits.machine import early_start as early
    from samebits.tokens.encoders.byte_pairs_encoder import EARLY, BytePairsEncoder

    def load() -> tuple[bytes, BytePairsEncoder]:
        if cut is not None:
            begun_hashing(cut.path, HASH_SECONDS)
        return document, BytePairsEncoder(document)

    early.begin(EARLY, load)
    if cut is not None:
        from samebits.tokens.early.first_cells import begin_cells, row_end

        def make() -> tuple[BytePairsEncoder, tuple[int, ...]]:
            _, encoder = early.look(EARLY) or (b"", BytePairsEncoder(document))
            return encoder, row_end(document)

        begin_cells(cut, make)


def _load_gigatoken(document: bytes) -> Any:
    """Build the tables."""
    from samebits.tokens.encoders.gigatoken_encoder import load_library

    return load_library(document, "text")


def _load_fastokens(document: bytes) -> Any:
    """Build the tables and make the first call, which builds more of them (20 ms) and sizes the library's thread pool."""
    from fastokens._native import Tokenizer

    from samebits.machine.one_cpu import one_cpu

    library = Tokenizer.from_json_str(document.decode())
    with one_cpu():
        library.encode_batch_flat(["a"], split_special_tokens=True)
    return library
