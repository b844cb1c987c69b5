"""One file over http or https, in pieces that may be asked for again: the standard library and nothing else.

A request carries what is known of an earlier copy, so an unchanged file costs one answer without a body. A connection that
breaks off goes on where it stopped (``Range`` with ``If-Range``, so that pieces of two versions are never joined).
"""

from __future__ import annotations

import base64
import http.client
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO, NamedTuple

__all__ = ["Body", "HttpStatus", "get"]

READ_BYTES = 1 << 16


class HttpStatus(ConnectionError):
    """The server refused; ``status`` is its number."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(f"{status} {message}")
        self.status, self.message = status, message


class Body(NamedTuple):
    """What came: the validator of this version, or ``unchanged``."""

    validator: str
    unchanged: bool


def get(
    url: str, target: Path, *, known: str, timeout: float, arrived: Callable[[int, int | None], None]
) -> Body:
    """Fetch a URL into a file, going on where an earlier try of the same version stopped.

    Args:
        url: What to fetch; a user name and password in it are sent as such.
        target: Where it goes; ``target`` with ``.validator`` beside it remembers which version it is a part of.
        known: Validator of a whole copy that is there already, or nothing.
        timeout: Seconds without any byte.
        arrived: Told of the bytes there are so far, and how many there will be if the server says so.

    Raises:
        HttpStatus: The server refused.
        OSError: The connection failed, or less came than was promised.
    """
    note = target.with_name(target.name + ".validator")
    begun = note.read_text() if note.exists() and target.exists() else ""
    have = target.stat().st_size if begun else 0
    request = _request(url, known, begun if have else "", have)
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:  # noqa: S310 - http and https only, see the caller
            validator = _validator(answer)
            if answer.status != 206:
                have = 0
            if validator:
                note.write_text(validator)
            else:
                note.unlink(missing_ok=True)
            total = _total(answer, have)
            with target.open("ab" if have else "wb") as file:
                got = _copy(answer, file, have, total, arrived)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 304:
                return Body(known, unchanged=True)
            if (
                error.code == 416
            ):  # what is there is no beginning of what the server has: from the start next time
                note.unlink(missing_ok=True)
            raise HttpStatus(error.code, str(error.reason)) from None
    except urllib.error.URLError as error:
        raise ConnectionError(f"no connection ({error.reason})") from None
    except http.client.HTTPException as error:
        raise ConnectionError(f"{type(error).__name__}: {error}") from None
    if total is not None and got != total:
        raise ConnectionError(f"{got} of {total} bytes came")
    note.unlink(missing_ok=True)
    return Body(validator, unchanged=False)


def _request(url: str, known: str, begun: str, have: int) -> urllib.request.Request:
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    request = urllib.request.Request(urllib.parse.urlunsplit(parts._replace(netloc=host)))  # noqa: S310 - see above
    if parts.username is not None:
        user = f"{urllib.parse.unquote(parts.username)}:{urllib.parse.unquote(parts.password or '')}"
        request.add_header("Authorization", "Basic " + base64.b64encode(user.encode()).decode())
    request.add_header("User-Agent", "samebits")
    if begun:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", begun)
    elif known:
        request.add_header("If-None-Match" if known.startswith('"') else "If-Modified-Since", known)
    return request


def _validator(answer: http.client.HTTPResponse) -> str:
    """Return what changes when the file changes: a strong ETag, or the time of change, or nothing.

    A time counts whole seconds: a file that changed just now may change again within the same one.
    """
    tag = answer.headers.get("ETag", "")
    if tag.startswith('"'):
        return tag
    try:
        times = [parsedate_to_datetime(answer.headers[name]) for name in ("Last-Modified", "Date")]
        return answer.headers["Last-Modified"] if (times[1] - times[0]).total_seconds() >= 2 else ""
    except (TypeError, ValueError):
        return ""


def _total(answer: http.client.HTTPResponse, have: int) -> int | None:
    length = answer.headers.get("Content-Length", "")
    return have + int(length) if length.isdecimal() and len(length) < 20 else None


def _copy(
    answer: http.client.HTTPResponse,
    file: IO[bytes],
    have: int,
    total: int | None,
    arrived: Callable[[int, int | None], None],
) -> int:
    arrived(have, total)
    while block := answer.read1(READ_BYTES):
        file.write(block)
        have += len(block)
        arrived(have, total)
    return have
