"""An output at a URL: made in a local folder, uploaded when it is whole, its manifest last.

Object stores have no renames and no writing in the middle of a file. So a run works in a staging folder, with journal, resume and all, and
what it made is uploaded by a few threads afterwards. Whoever finds a manifest at the URL finds all files it lists; an upload that
broke off leaves none, and the same command goes on with it: the finished result stays in the staging folder until then.

``file://`` is a local path and needs none of this. Staging folders lie in ``<cache>/outputs``, one for each URL; where workers are on other
machines, ``SAMEBITS_CACHE_DIR`` can put the cache on a disk that all of them see.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from samebits.data.files import remove_tree
from samebits.data.inputs.cache import cache_folder
from samebits.data.inputs.fetch import describe, may_pass, without_secrets
from samebits.data.lock import OutputLock
from samebits.errors import ConfigError, OutputExists, OutputFailed

__all__ = ["UrlOutput", "as_path", "is_url"]

T = TypeVar("T")

MANIFEST = "manifest.json"
THREADS = 8
RETRY_SECONDS = (0.2, 1.0, 5.0)  # as for inputs
READ_ONLY = ("http", "https", "data")


def is_url(output: str | Path) -> bool:
    """Tell whether an output is a URL, and no path.

    Raises:
        ConfigError: It is a path that was made of a URL: by a function that opens what it wrote.
    """
    text = str(output)
    if isinstance(output, Path) and re.match(r"[a-z][a-z0-9+.-]+:/", text):
        raise ConfigError(
            f"the output {text} is a URL, where a local folder is needed",
            hint="samebits.run(job, config, output=URL) and -o on the command line take URLs",
        )
    return bool(re.match(r"[a-z][a-z0-9+.:-]*://", text)) and not text.startswith("file://")


def as_path(output: str | Path) -> Path:
    """Return the path of an output that is no URL, or one of ``file://``."""
    return Path(output.removeprefix("file://") if isinstance(output, str) else output)


class UrlOutput:
    """A folder at a URL.

    Attributes:
        shown: The URL, without secrets.
        staged: The local folder in which the output is made.
    """

    def __init__(self, url: str) -> None:
        url = re.sub(r"(?<=[^:/])/+$", "", url)
        self.shown = without_secrets(url)
        self._system, self._path = _open_system(url, self.shown)
        folder = cache_folder() / "outputs" / hashlib.sha256(url.encode()).hexdigest()[:32]
        self.staged = folder / (re.sub(r"[^\w.-]", "_", posixpath.basename(self._path)) or "output")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs of this machine away from the URL."""
        lock = OutputLock(self.staged.parent / "lock", output=self.shown)
        try:
            yield
        finally:
            lock.release()

    def check(self, *, overwrite: bool) -> None:
        """Refuse a URL that holds something already, unless it is an artifact to replace or the rest of a broken upload.

        Raises:
            OutputExists: With what to do about it.
            OutputFailed: The store cannot be asked.
        """
        found = self._found()
        if MANIFEST in found and not overwrite:
            hint = "add --overwrite to replace it, or choose a different output"
            raise OutputExists(f"{self.shown} already exists", hint=hint)
        if found and MANIFEST not in found and not self.is_staged:
            raise OutputExists(
                f"{self.shown} exists and is not an artifact", hint="choose a different output"
            )

    @property
    def is_staged(self) -> bool:
        """Whether a run has finished here whose upload has not."""
        return (self.staged / MANIFEST).exists()

    def record(self) -> dict[str, Any]:
        """Return the record of the staged run."""
        found: dict[str, Any] = json.loads((self.staged / "record.json").read_bytes())
        return found | {"inputs": tuple(found["inputs"])}

    def upload(self) -> None:
        """Upload the staged folder, the manifest last; then remove it.

        Raises:
            OutputFailed: Names the file; what is staged stays.
        """
        names = sorted(p.relative_to(self.staged).as_posix() for p in self.staged.rglob("*") if p.is_file())
        names.remove(MANIFEST)
        before = self._found()
        if MANIFEST in before:
            self._tried(partial(self._system.rm_file, self._at(MANIFEST)), MANIFEST)
        with ThreadPoolExecutor(THREADS) as threads:
            for sent in [threads.submit(self._put, name) for name in names]:
                sent.result()
        for name in sorted(set(before) - {*names, MANIFEST}):  # of the artifact that this one replaces
            self._tried(partial(self._system.rm_file, self._at(name)), name)
        self._put(MANIFEST)
        remove_tree(self.staged)

    def _put(self, name: str) -> None:
        source, target = self.staged / name, self._at(name)

        def put() -> None:
            self._system.makedirs(posixpath.dirname(target), exist_ok=True)
            self._system.put_file(str(source), target)
            size = self._system.info(target)["size"]
            if size != source.stat().st_size:
                raise ConnectionError(f"{size} of {source.stat().st_size} bytes are there")

        self._tried(put, name)

    def _found(self) -> dict[str, Any]:
        """Return what is at the URL, by name."""

        def find() -> dict[str, Any]:
            self._system.invalidate_cache()
            found = self._system.find(self._path) if self._system.exists(self._path) else []
            return {posixpath.relpath(path, self._path): path for path in found}

        return self._tried(find, "")

    def _at(self, name: str) -> str:
        return posixpath.join(self._path, name)

    def _tried(self, action: Callable[[], T], name: str) -> T:
        """Do something with the store; try again when the trouble may pass."""
        where = f"{self.shown}/{name}".rstrip("/")
        for seconds in (*RETRY_SECONDS, None):
            try:
                return action()
            except NotImplementedError as error:
                raise OutputFailed(f"cannot write {where}: this kind of URL can only be read") from error
            except Exception as error:  # each file system has exceptions of its own
                if seconds is None or not may_pass(error):
                    kept = "the result is kept, and the same command goes on with the upload"
                    hint = (
                        kept if self.is_staged else "see whether the address is right and you may write there"
                    )
                    raise OutputFailed(f"cannot write {where}: {describe(error)}", hint=hint) from error
                time.sleep(seconds)
        raise AssertionError("the last try returns or raises")


def _open_system(url: str, shown: str) -> tuple[Any, str]:
    scheme = url.partition("://")[0]
    if scheme in READ_ONLY:
        hint = "use a local folder, or a store that can be written, such as s3:// or gs://"
        raise ConfigError(f"{shown}: {scheme} URLs can be read, not written", hint=hint)
    import fsspec  # slow to import and seldom needed

    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise OutputFailed(f"cannot write {shown}: {error}", hint="install the package it names") from error
    except ValueError as error:
        raise ConfigError(
            f"cannot write {shown}: {error}", hint="see the kinds of URL fsspec knows"
        ) from error
    if not path.strip("/"):
        raise ConfigError(f"{shown} is a store without a folder", hint="add a folder, such as /results")
    return system, path
