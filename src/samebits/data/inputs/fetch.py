"""Inputs that are elsewhere: fetched into a verified cache before the plan is cut.

``https://`` and ``http://`` need nothing else; any URL that fsspec can open works too (``s3://``, ``memory://`` …). Files are
downloaded by a few threads to a temporary name, synced and renamed, so a half download is never taken for a whole one.
The cache knows each file by its sha256 and checks it on every use. A file is fetched again when its validator (ETag, or
time of change) differs, or when the server gives none. A download over http that broke off goes on where it stopped, in the
next try and in the next run. Whoever makes no progress is given up by name (see ``watched``). Tasks then read local files
like any other.

Layout: ``<cache>/fetch/<sha256 of the URL>/<sha256 of the content>`` and ``current.json`` beside it. Content keeps its own
name, so a run that reads an old version is not disturbed by one that fetches a new version.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import posixpath
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from samebits.core.digest import digest_of_file
from samebits.data.files import write_atomic
from samebits.data.inputs.cache import cache_folder
from samebits.data.inputs.http_get import Body, get
from samebits.data.inputs.watched import GivenUp, Limits, Meter, run_watched
from samebits.errors import InputError, MissingExtra

__all__ = ["describe", "fetch_urls", "may_pass", "without_secrets"]

READ_BYTES = 1 << 20
# Waits between tries: a hiccup is over in one second, a restarting server in ten; longer is for the user to judge.
RETRY_SECONDS = (0.2, 1.0, 5.0)
BUSY_STATUSES = (408, 425, 429, 500, 502, 503, 504)
VALIDATORS = ("ETag", "etag", "Last-Modified", "LastModified", "last_modified", "mtime", "created", "updated")

T = TypeVar("T")


class Remote(NamedTuple):
    """One file elsewhere: its name below the argument, the file system (None for the web) and path, and the URL to show."""

    name: str
    system: Any
    path: str
    url: str


class CacheEntry(msgspec.Struct, frozen=True):
    """What ``current.json`` says of a cached file."""

    url: str
    size: int
    sha256: str
    validator: str


def fetch_urls(arguments: Sequence[str]) -> dict[str, list[tuple[str, str, str]]]:
    """Fetch what the arguments mean; return ``(name, local path, URL)`` of each file, by argument, sorted by name.

    Raises:
        InputError: A URL that cannot be read; it names the URL.
        MissingExtra: A package for this kind of URL is not installed.
    """
    limits = Limits.from_environment()
    expanding = [(without_secrets(a), partial(_expand, a)) for a in arguments]
    remotes = dict(zip(arguments, run_watched(expanding, limits), strict=True))
    wanted = [remote for found in remotes.values() for remote in found]
    paths = iter(run_watched([(remote.url, partial(_fetch, remote, limits)) for remote in wanted], limits))
    return {
        argument: [(remote.name, str(next(paths)), remote.url) for remote in found]
        for argument, found in remotes.items()
    }


def _expand(argument: str, _: Meter) -> list[Remote]:
    """List the files of a URL: one, all below a folder, or those that match ``*``."""
    shown = without_secrets(argument)
    # "?" and "[" belong to ordinary URLs, and a web server has no folders that could be listed reliably.
    if is_web(argument) and "*" not in argument:
        name = posixpath.basename(re.sub(r"[?#].*", "", argument).rstrip("/"))
        return [Remote(name, None, argument, shown)]
    return list(_listed(argument, shown))


def _listed(argument: str, shown: str) -> Iterator[Remote]:
    """List a URL by its file system."""
    system, path = _open_system(argument, shown)
    if "*" in path:
        root = posixpath.dirname(path.partition("*")[0])
        paths = _tried(lambda: system.glob(path), shown)
    elif _tried(lambda: system.isdir(path), shown):
        root = path
        paths = _tried(lambda: system.find(path), shown)
    else:
        name = posixpath.basename(re.sub(r"[?#].*", "", path).rstrip("/"))
        yield Remote(name, system, path, shown)
        return
    names = {posixpath.relpath(found, root): found for found in paths}
    for name in sorted(names, key=os.fsencode):
        if not any(part.startswith(".") for part in name.split("/")):
            url = without_secrets(system.unstrip_protocol(names[name]))
            yield Remote(name, system, names[name], url)


def _open_system(argument: str, shown: str) -> tuple[Any, str]:
    import fsspec  # slow to import and seldom needed

    try:
        system, path = fsspec.core.url_to_fs(argument)
    except ImportError as error:
        if is_web(argument):
            raise MissingExtra("aiohttp", extra="http", needed_for="patterns in http URLs") from error
        raise InputError(
            f"cannot be opened: {error}", path=shown, hint="install the package it names"
        ) from error
    except ValueError as error:
        raise InputError(f"cannot be opened: {error}", path=shown) from error
    return system, path


def _fetch(remote: Remote, limits: Limits, meter: Meter) -> Path:
    """Return the local copy of a file, downloading it when the cache has no current one."""
    folder = cache_folder() / "fetch" / hashlib.sha256(remote.url.encode()).hexdigest()
    if remote.system is None:
        folder.mkdir(parents=True, exist_ok=True)
        return _fetch_web(remote, folder, limits, meter)
    info = _tried(lambda: remote.system.info(remote.path), remote.url)
    validator = _validator(info)
    cached = _cached(folder)
    if cached is not None and cached.validator == validator != "":
        return folder / cached.sha256
    folder.mkdir(parents=True, exist_ok=True)
    return _tried(lambda: _download(remote, folder, info.get("size"), validator, meter), remote.url)


def _fetch_web(remote: Remote, folder: Path, limits: Limits, meter: Meter) -> Path:
    """Ask whether the copy is current, and fetch what is missing; one run at a time goes on with a partial file."""
    cached = _cached(folder)
    known = cached.validator if cached is not None else ""
    with _partial_file(folder) as target:

        def once() -> Body:
            return get(remote.path, target, known=known, timeout=limits.timeout, arrived=meter.arrived)

        body = _tried(once, remote.url)
        if body.unchanged and cached is not None:
            return folder / cached.sha256
        return _keep(remote, folder, target, body.validator)


@contextmanager
def _partial_file(folder: Path) -> Iterator[Path]:
    """Give the file that broken downloads are gone on with, or one of our own while another run has that."""
    with (folder / "lock").open("wb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            with tempfile.TemporaryDirectory(dir=folder, prefix="partial-") as own:
                yield Path(own) / "partial"
        else:
            yield folder / "partial"


def _validator(info: Mapping[str, Any]) -> str:
    """Return what changes when the file changes, or nothing if the server does not say."""
    return next((f"{info['size']} {info[key]}" for key in VALIDATORS if info.get(key)), "")


def _cached(folder: Path) -> CacheEntry | None:
    """Return what the cache has, if it is what it was."""
    try:
        entry = msgspec.json.decode((folder / "current.json").read_bytes(), type=CacheEntry)
        path = folder / entry.sha256
        whole = path.stat().st_size == entry.size and digest_of_file(path) == entry.sha256
        return entry if whole else None
    except (OSError, msgspec.DecodeError):
        return None


def _download(remote: Remote, folder: Path, expected: int | None, validator: str, meter: Meter) -> Path:
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix="partial-")
    partial_file = Path(temporary)
    try:
        with open(descriptor, "wb") as file, remote.system.open(remote.path, "rb") as source:  # noqa: PTH123 - of a descriptor
            size = 0
            while block := source.read(READ_BYTES):
                file.write(block)
                size += len(block)
                meter.arrived(size, expected)
        if expected is not None and size != expected:
            raise ConnectionError(f"{size} of {expected} bytes came")
        return _keep(remote, folder, partial_file, validator)
    finally:
        partial_file.unlink(missing_ok=True)


def _keep(remote: Remote, folder: Path, partial_file: Path, validator: str) -> Path:
    """Put a whole download in its place."""
    with partial_file.open("rb") as file:
        os.fsync(file.fileno())
    size, sha256 = partial_file.stat().st_size, digest_of_file(partial_file)
    partial_file.replace(folder / sha256)
    entry = CacheEntry(remote.url, size, sha256, validator)
    write_atomic(folder / "current.json", msgspec.json.encode(entry))
    return folder / sha256


def _tried(action: Callable[[], T], url: str) -> T:
    """Do something over the network; try again when the trouble may pass.

    Raises:
        InputError: It did not pass, or cannot.
    """
    tries = 1 + len(RETRY_SECONDS)
    for number, seconds in enumerate((*RETRY_SECONDS, 0.0), start=1):
        try:
            return action()
        except (InputError, GivenUp):
            raise
        except Exception as error:  # each file system has exceptions of its own
            # fsspec reports any failed request for a size as a missing file; the cause knows better.
            cause = (isinstance(error, FileNotFoundError) and error.__cause__) or error
            if not may_pass(cause):
                raise InputError(f"cannot be fetched: {describe(cause)}", path=url) from error
            if number == tries:
                message = f"cannot be fetched after {tries} tries: {describe(cause)}"
                raise InputError(message, path=url, hint="try again later") from error
            time.sleep(seconds)
    raise AssertionError("the last try returns or raises")


def may_pass(error: BaseException) -> bool:
    """Tell whether trouble on the network may be over in a while."""
    status = getattr(error, "status", None)
    if isinstance(status, int) and status:
        return status in BUSY_STATUSES
    if isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)):
        return False
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, OSError) or bool(names & {"ClientError", "TimeoutError", "FSTimeoutError"})


def describe(error: BaseException) -> str:
    """Say what went wrong, in the server's words where it has some."""
    status, message = getattr(error, "status", None), getattr(error, "message", None)
    if isinstance(status, int) and message:
        return f"the server says {status} {message}"
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return f"{type(error).__name__}: {error}"


def is_web(url: str) -> bool:
    """Tell whether a URL is one of the web's."""
    return url.startswith(("http://", "https://"))


def without_secrets(url: str) -> str:
    """Hide a user name and password: messages and caches are no place for them.

    >>> without_secrets("https://me:secret@example.org/a.txt")
    'https://***@example.org/a.txt'
    """
    return re.sub(r"(?<=://)[^/@]+@", "***@", url)
