"""Inputs that are elsewhere: fetched into a verified cache before the plan is cut.

Any URL that fsspec can open works (``https://``, ``s3://``, ``memory://`` …). Files are downloaded by a few threads to a
temporary name, synced and renamed, so a half download is never taken for a whole one. The cache knows each file by its
sha256 and checks it on every use. A file is fetched again when its validator (ETag, or time of change) differs, or
when the server gives none. Tasks then read local files like any other.

Layout: ``<cache>/fetch/<sha256 of the URL>/<sha256 of the content>`` and ``current.json`` beside it. Content keeps its own
name, so a run that reads an old version is not disturbed by one that fetches a new version.
"""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from samebits.core.digest import digest_of_file
from samebits.data.files import write_atomic
from samebits.errors import InputError, MissingExtra

__all__ = ["cache_folder", "fetch_urls"]

FETCH_THREADS = 8
# Waits between tries: a hiccup is over in one second, a restarting server in ten; longer is for the user to judge.
RETRY_SECONDS = (0.2, 1.0, 5.0)
BUSY_STATUSES = (408, 425, 429, 500, 502, 503, 504)
VALIDATORS = ("ETag", "etag", "Last-Modified", "LastModified", "last_modified", "mtime", "created", "updated")

T = TypeVar("T")


class Remote(NamedTuple):
    """One file elsewhere: its name below the argument, the file system and path to ask, and the URL to show."""

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


def cache_folder() -> Path:
    """Return the folder for fetched files: ``SAMEBITS_CACHE_DIR``, or the place the platform has for caches."""
    given = os.environ.get("SAMEBITS_CACHE_DIR")
    if given:
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "samebits"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "samebits"


def fetch_urls(arguments: Sequence[str]) -> dict[str, list[tuple[str, str, str]]]:
    """Fetch what the arguments mean; return ``(name, local path, URL)`` of each file, by argument, sorted by name.

    Raises:
        InputError: A URL that cannot be read; it names the URL.
        MissingExtra: A package for this kind of URL is not installed.
    """
    remotes = {argument: list(_expand(argument)) for argument in arguments}
    wanted = [remote for found in remotes.values() for remote in found]
    with ThreadPoolExecutor(FETCH_THREADS) as pool:
        paths = iter(list(pool.map(_fetch, wanted)))
    return {
        argument: [(remote.name, str(next(paths)), remote.url) for remote in found]
        for argument, found in remotes.items()
    }


def _expand(argument: str) -> Iterator[Remote]:
    """List the files of a URL: one, all below a folder, or those that match ``*``."""
    shown = _without_secrets(argument)
    system, path = _open_system(argument, shown)
    # "?" and "[" belong to ordinary URLs, and a web server has no folders that could be listed reliably.
    if "*" in path:
        root = posixpath.dirname(path.partition("*")[0])
        paths = _tried(lambda: system.glob(path), shown)
    elif not shown.startswith(("http://", "https://")) and _tried(lambda: system.isdir(path), shown):
        root = path
        paths = _tried(lambda: system.find(path), shown)
    else:
        name = posixpath.basename(re.sub(r"[?#].*", "", path).rstrip("/"))
        yield Remote(name, system, path, shown)
        return
    names = {posixpath.relpath(found, root): found for found in paths}
    for name in sorted(names, key=os.fsencode):
        if not any(part.startswith(".") for part in name.split("/")):
            url = _without_secrets(system.unstrip_protocol(names[name]))
            yield Remote(name, system, names[name], url)


def _open_system(argument: str, shown: str) -> tuple[Any, str]:
    import fsspec  # slow to import and seldom needed

    try:
        system, path = fsspec.core.url_to_fs(argument)
    except ImportError as error:
        if argument.startswith(("http://", "https://")):
            raise MissingExtra("aiohttp", extra="http", needed_for="reading http URLs") from error
        raise InputError(
            f"cannot be opened: {error}", path=shown, hint="install the package it names"
        ) from error
    except ValueError as error:
        raise InputError(f"cannot be opened: {error}", path=shown) from error
    return system, path


def _fetch(remote: Remote) -> Path:
    """Return the local copy of a file, downloading it when the cache has no current one."""
    info = _tried(lambda: remote.system.info(remote.path), remote.url)
    folder = cache_folder() / "fetch" / hashlib.sha256(remote.url.encode()).hexdigest()
    validator = _validator(info)
    cached = _cached(folder, validator)
    if cached is not None:
        return cached
    folder.mkdir(parents=True, exist_ok=True)
    return _tried(lambda: _download(remote, folder, info.get("size"), validator), remote.url)


def _validator(info: Mapping[str, Any]) -> str:
    """Return what changes when the file changes, or nothing if the server does not say."""
    return next((f"{info['size']} {info[key]}" for key in VALIDATORS if info.get(key)), "")


def _cached(folder: Path, validator: str) -> Path | None:
    try:
        entry = msgspec.json.decode((folder / "current.json").read_bytes(), type=CacheEntry)
        path = folder / entry.sha256
        current = entry.validator == validator != "" and path.stat().st_size == entry.size
        return path if current and digest_of_file(path) == entry.sha256 else None
    except (OSError, msgspec.DecodeError):
        return None


def _download(remote: Remote, folder: Path, expected: int | None, validator: str) -> Path:
    descriptor, temporary = tempfile.mkstemp(dir=folder, prefix="partial-")
    os.close(descriptor)
    partial = Path(temporary)
    try:
        remote.system.get_file(remote.path, temporary)
        size = partial.stat().st_size
        if expected is not None and size != expected:
            raise ConnectionError(f"{size} of {expected} bytes came")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        sha256 = digest_of_file(partial)
        partial.replace(folder / sha256)
    finally:
        partial.unlink(missing_ok=True)
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
        except InputError:
            raise
        except Exception as error:  # each file system has exceptions of its own
            # fsspec reports any failed request for a size as a missing file; the cause knows better.
            cause = (isinstance(error, FileNotFoundError) and error.__cause__) or error
            if not _may_pass(cause):
                raise InputError(f"cannot be fetched: {_describe(cause)}", path=url) from error
            if number == tries:
                message = f"cannot be fetched after {tries} tries: {_describe(cause)}"
                raise InputError(message, path=url, hint="try again later") from error
            time.sleep(seconds)
    raise AssertionError("the last try returns or raises")


def _may_pass(error: BaseException) -> bool:
    status = getattr(error, "status", None)
    if isinstance(status, int) and status:
        return status in BUSY_STATUSES
    if isinstance(error, (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)):
        return False
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, OSError) or bool(names & {"ClientError", "TimeoutError", "FSTimeoutError"})


def _describe(error: BaseException) -> str:
    status, message = getattr(error, "status", None), getattr(error, "message", None)
    if isinstance(status, int) and message:
        return f"the server says {status} {message}"
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return f"{type(error).__name__}: {error}"


def _without_secrets(url: str) -> str:
    """Hide a user name and password: messages and caches are no place for them.

    >>> _without_secrets("https://me:secret@example.org/a.txt")
    'https://***@example.org/a.txt'
    """
    return re.sub(r"(?<=://)[^/@]+@", "***@", url)
