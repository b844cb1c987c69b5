"""From what the user typed to a list of files, in an order that depends on nothing but the names.

An argument is a file, a folder (searched below, hidden names skipped), a glob, ``-`` for standard input, or a URL
that fsspec knows. Arguments keep their order; inside a folder or glob, files are sorted by the bytes of their
name. A file's ``name``, which reaches digests and artifacts, is relative to the argument it came from, so moving
the data to another folder or machine changes nothing.
"""

from __future__ import annotations

import atexit
import fcntl
import glob
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from samebits.data.files import writing
from samebits.data.inputs.formats import COMPRESSIONS, FORMATS, SUFFIXES, FileFormat, format_of
from samebits.errors import ConfigError, InputError, did_you_mean

__all__ = ["Found", "Listing", "list_inputs"]


SPOOL = "samebits-stdin-"


class Found(NamedTuple):
    """One file to read.

    Attributes:
        name: Relative to its argument; the only one of the three that may reach a result.
        path: Where the bytes are on this machine.
        origin: What to call it in messages: the path or URL the user knows.
        kind: Format and compression.
    """

    name: str
    path: str
    origin: str
    kind: FileFormat


class Listing(NamedTuple):
    """The files of a run, and sentences about what was left out."""

    files: list[Found]
    notes: list[str]


def list_inputs(inputs: str | Path | Sequence[str | Path], *, format_name: str = "auto") -> Listing:
    """Find every file the arguments mean.

    Raises:
        ConfigError: No arguments, or an unknown format.
        InputError: An argument that is missing, unreadable, of an unknown format or without usable files.
    """
    arguments = [os.fspath(item) for item in ([inputs] if isinstance(inputs, str | Path) else inputs)]
    if not arguments:
        raise ConfigError(
            "no inputs were given", hint="name files, folders or globs, or - for standard input"
        )
    if format_name != "auto" and format_name not in FORMATS:
        raise ConfigError(
            f"unknown format {format_name!r}", hint=did_you_mean(format_name, ("auto", *FORMATS))
        )
    if arguments.count("-") > 1:
        raise ConfigError("standard input can be read once", hint="give - only once")
    listing = Listing([], [])
    remote = _fetch([argument for argument in arguments if "://" in argument])
    for argument in arguments:
        if argument in remote:
            _add_many(listing, argument, format_name, iter(remote[argument]))
        else:
            _add(listing, argument, format_name)
    return listing


def _fetch(urls: list[str]) -> dict[str, list[tuple[str, str, str]]]:
    if not urls:
        return {}
    from samebits.data.inputs.fetch import fetch_urls  # brings the network libraries

    return fetch_urls(urls)


def _add(listing: Listing, argument: str, format_name: str) -> None:
    if argument == "-":
        kind = FileFormat("txt" if format_name == "auto" else format_name, "")
        listing.files.append(Found("stdin", _spool_stdin(), "standard input", kind))
    elif os.path.isdir(argument):
        _add_many(listing, argument, format_name, _files_below(argument, listing.notes))
    elif os.path.lexists(argument):
        listing.files.append(_file(argument, format_name))
    elif glob.has_magic(argument):
        _add_many(listing, argument, format_name, _files_of_glob(argument))
    else:
        raise _missing(argument)


def _file(argument: str, format_name: str) -> Found:
    name = os.path.basename(argument)
    kind = format_of(name, format_name=format_name)
    if kind is None:
        raise _unknown_suffix(argument, name)
    check_regular(argument)
    return Found(clean_name(name), argument, argument, kind)


def _add_many(
    listing: Listing, argument: str, format_name: str, candidates: Iterator[tuple[str, str, str]]
) -> None:
    """Add the candidates ``(name, path, origin)`` whose suffix is known; say how many were left out."""
    added = 0
    skipped: list[str] = []
    for name, path, origin in candidates:
        kind = format_of(name, format_name=format_name)
        if kind is None:
            skipped.append(origin)
            continue
        check_regular(path, origin=origin)
        listing.files.append(Found(clean_name(name), path, origin, kind))
        added += 1
    if not added:
        if not skipped:
            raise InputError("no files there", path=argument, hint="ls shows what the folder holds")
        what = f"none of its {len(skipped)} files has a known suffix"
        raise InputError(what, path=argument, hint=_known_suffixes())
    if skipped:
        listing.notes.append(
            f"{argument}: files of unknown suffix skipped ({len(skipped)}), first {skipped[0]}"
        )


def _files_below(root: str, notes: list[str]) -> Iterator[tuple[str, str, str]]:
    """Find the files of a folder; links to folders are not followed, because they may lead round in a circle."""
    names: list[bytes] = []
    links: list[bytes] = []
    top = os.fsencode(root)
    for folder, subfolders, files in os.walk(top, onerror=_refuse):
        subfolders[:] = [name for name in subfolders if not name.startswith(b".")]
        below = os.path.relpath(folder, top)
        prefix = b"" if below == b"." else below + b"/"
        names += [prefix + name for name in files if not name.startswith(b".")]
        links += [prefix + name for name in subfolders if os.path.islink(os.path.join(folder, name))]
    if links:
        notes.append(
            f"{root}: {len(links)} links to folders not followed, first {clean_name(os.fsdecode(min(links)))}"
        )
    for name in sorted(names):
        path = os.fsdecode(os.path.join(top, name))
        yield os.fsdecode(name), path, path


def _files_of_glob(pattern: str) -> Iterator[tuple[str, str, str]]:
    parts = Path(pattern).parts
    fixed = parts[: next(i for i, part in enumerate(parts) if glob.has_magic(part))]
    root = os.path.join(*fixed) if fixed else ""
    found = [path for path in glob.glob(pattern, recursive=True) if not os.path.isdir(path)]
    for path in sorted(found, key=os.fsencode):
        yield os.path.relpath(path, root or "."), path, path


def _spool_stdin() -> str:
    """Copy standard input to a temporary file: shards are read by position, and by several workers.

    Its lock is held as long as this process lives; what a killed one left is removed by the next.
    """
    import shutil
    import tempfile

    _sweep_spools()
    descriptor, temporary = tempfile.mkstemp(prefix="samebits-new-")
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    path = os.path.join(
        os.path.dirname(temporary), SPOOL + os.path.basename(temporary)[len("samebits-new-") :]
    )
    os.rename(temporary, path)  # seen by a sweep only when it is locked
    atexit.register(_remove, path)
    with writing(Path(path)), os.fdopen(os.dup(descriptor), "wb") as spool:
        shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
    return path


def _sweep_spools() -> None:
    import tempfile

    for path in glob.glob(os.path.join(glob.escape(tempfile.gettempdir()), SPOOL + "*")):
        try:
            descriptor = os.open(path, os.O_RDWR)
        except OSError:
            continue  # another user's, or gone already
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
        except OSError:
            continue  # its run is alive
        finally:
            os.close(descriptor)


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def clean_name(name: str) -> str:
    r"""Make a file name valid Unicode: bytes that are no UTF-8 become ``\xff`` escapes, so any writer can store it.

    >>> clean_name("caf\udce9.txt")
    'caf\\xe9.txt'
    """
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def check_regular(path: str, *, origin: str = "") -> None:
    """Refuse what cannot be read by position: broken links, folders, pipes, devices.

    Raises:
        InputError: With what it is and what to do instead.
    """
    shown = origin or path
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError as error:
        raise InputError(f"broken link to {os.readlink(path)!r}", path=shown) from error
    except OSError as error:
        raise InputError(f"cannot be opened: {error.strerror}", path=shown) from error
    if not stat.S_ISREG(mode):
        kind = "a pipe" if stat.S_ISFIFO(mode) else "a folder" if stat.S_ISDIR(mode) else "a device or socket"
        raise InputError(f"{kind}, not a file", path=shown, hint=f"pipe it in: samebits … - < {shown}")


def _refuse(error: OSError) -> None:
    raise InputError(f"cannot be listed: {error.strerror}", path=os.fsdecode(error.filename)) from error


def _missing(argument: str) -> InputError:
    folder, name = os.path.split(argument)
    try:
        siblings = sorted(os.listdir(folder or "."))
    except OSError:
        hint = f"there is no folder {folder!r} either"
    else:
        close = _similar_name(name, siblings)
        hint = f"did you mean {os.path.join(folder, close)!r}?" if close else ""
    return InputError("no such file or folder", path=argument, hint=hint)


def _similar_name(name: str, siblings: list[str]) -> str:
    """The sibling that was probably meant, or nothing: its name without suffixes must be similar, not just its ``.txt``."""
    import difflib  # only for mistakes

    def stem(file: str) -> str:
        return file.split(".")[0] or file

    similar = difflib.get_close_matches(stem(name), {stem(file) for file in siblings}, n=len(siblings) or 1)
    files = [file for file in siblings if stem(file) in similar]
    return next(iter(difflib.get_close_matches(name, files, n=1, cutoff=0.0)), "")


def _unknown_suffix(argument: str, name: str) -> InputError:
    import difflib  # only for mistakes

    suffix = os.path.splitext(name)[1]
    close = difflib.get_close_matches(suffix, SUFFIXES, n=1) if suffix else []
    guess = f"did you mean {close[0]!r}? " if close else ""
    return InputError(
        f"the suffix {suffix!r} is not a known format", path=argument, hint=guess + _known_suffixes()
    )


def _known_suffixes() -> str:
    packed = ", ".join("." + name for name in COMPRESSIONS)
    return f"known: {', '.join(SUFFIXES)}, the text ones also with {packed}; or say --input-format txt"
