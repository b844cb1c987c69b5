"""What stands in front of every request: who may ask, from where, how much and for how long.

* Host: only names of this machine are answered, so a name that an attacker points here (DNS rebinding) is not.
* Origin and Sec-Fetch-Site: another site's page may link here but may not call anything.
* Token: needed as soon as the server listens beyond loopback; as a cookie for pages, as a bearer token for programs.
* Bodies: counted as they come; too many bytes or too slow, and the request ends.
* Headers of every answer: nothing may be framed, sniffed, cached by others or loaded from elsewhere.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode

from starlette.exceptions import HTTPException

__all__ = ["COOKIE", "Guard", "GuardRules", "is_loopback"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

COOKIE = "samebits_token"
MOST_BODY = 4 << 20
BODY_SECONDS = 20.0
SEND_SECONDS = 30.0
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


@dataclass(frozen=True, slots=True)
class GuardRules:
    """What the guard goes by.

    Attributes:
        host: The address listened on.
        port: The port.
        token: The secret, or an empty text when loopback needs none.
    """

    host: str
    port: int
    token: str = ""

    def knows(self, host: str) -> bool:
        """Tell whether a Host header names this machine and port."""
        name, port = _split(host)
        if port != self.port and not (port == 0 and self.port == 80):
            return False
        if name in ("localhost", "127.0.0.1", "::1"):
            return True
        if is_loopback(self.host):
            return name == self.host
        return name in (self.host, socket.gethostname().lower()) or _is_address(name)


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_address(name: str) -> bool:
    """Tell whether a name is an address in digits: such a name cannot be pointed elsewhere."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _split(host: str) -> tuple[str, int]:
    """Return name and port of a Host header; port 0 when it has none, -1 when it is no port."""
    name, colon, port = host.strip().lower().rpartition(":")
    if not colon or (host.endswith("]") and host.startswith("[")):
        name, port = host.strip().lower(), "0"
    name = name.removeprefix("[").removesuffix("]")
    return name, int(port) if port.isascii() and port.isdecimal() and len(port) < 6 else -1


class _Refused(Exception):
    """Ends a request with a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Guard:
    """The outermost layer of the application."""

    def __init__(self, app: App, rules: GuardRules) -> None:
        self._app = app
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, then pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no web sockets here
            return
        headers = _headers(scope)
        answer = _Answer(send)
        try:
            self._check_names(scope, headers)
            if self._rules.token and not self._has_token(headers):
                if await self._trades_token(scope, answer):
                    return
                raise _Refused(401, "this server asks for its token: open the address it printed")
            limit = (
                int(headers.get("content-length", "0"))
                if headers.get("content-length", "0").isdecimal()
                else -1
            )
            if not 0 <= limit <= MOST_BODY:
                raise _Refused(413, f"at most {MOST_BODY >> 20} MB can be sent")
            await self._app(scope, _Body(receive), answer)
        except _Refused as refused:
            await _refuse(answer, refused)

    def _check_names(self, scope: Scope, headers: dict[str, str]) -> None:
        if not self._rules.knows(headers.get("host", "")):
            raise _Refused(421, "this server does not go by that name")
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope.get('scheme', 'http')}://{headers['host']}":
            raise _Refused(403, "requests from other sites are refused")
        site = headers.get("sec-fetch-site", "none")
        navigates = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
        if site not in ("none", "same-origin") and not navigates:
            raise _Refused(403, "requests from other sites are refused")

    def _has_token(self, headers: dict[str, str]) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and _same(given.strip(), self._rules.token):
            return True
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
        except CookieError:
            return False
        return cookie is not None and _same(cookie.value, self._rules.token)

    async def _trades_token(self, scope: Scope, send: Send) -> bool:
        """Turn the token of a printed address into a cookie, so that it does not stay in the address."""
        query = parse_qsl(scope["query_string"].decode("latin-1"))
        given = dict(query).get("token", "")
        if scope["method"] != "GET" or not _same(given, self._rules.token):
            return False
        rest = urlencode([pair for pair in query if pair[0] != "token"])
        target = scope.get("raw_path", b"/").decode("latin-1").split("?")[0] + (f"?{rest}" if rest else "")
        target = "/" + target.lstrip("/\\")  # never an address of another site
        cookie = f"{COOKIE}={self._rules.token}; Path=/; HttpOnly; SameSite=Strict"
        headers = [(b"location", target.encode()), (b"set-cookie", cookie.encode())]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})
        return True


def _same(given: str, wanted: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def _headers(scope: Scope) -> dict[str, str]:
    """Return the headers by name; of several with one name the first counts, except that two hosts are none."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1")
        if key == "host" and key in found:
            found[key] = ""
        found.setdefault(key, value.decode("latin-1"))
    return found


class _Body:
    """Receives a body: counted, and with a limit on how long it may take. After it, only the end of the connection comes."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._size = 0
        self._whole = False
        self._until = asyncio.get_running_loop().time() + BODY_SECONDS

    async def __call__(self) -> Message:
        if self._whole:
            return await self._receive()
        left = self._until - asyncio.get_running_loop().time()
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, left))
        except TimeoutError:
            raise HTTPException(408, "the request took too long to arrive") from None
        self._size += len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._size > MOST_BODY:
            raise HTTPException(413, f"at most {MOST_BODY >> 20} MB can be sent")
        return message


class _Answer:
    """Sends an answer with the headers that every answer has."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            given = {name for name, _ in message.get("headers", [])}
            extra = [pair for pair in HEADERS if pair[0] not in given]
            if b"cache-control" not in given:
                extra.append((b"cache-control", b"no-store"))
            message["headers"] = [*message.get("headers", []), *extra]
        async with asyncio.timeout(SEND_SECONDS):  # who reads nothing for so long is gone
            await self._send(message)


async def _refuse(send: Send, refused: _Refused) -> None:
    body = f"{refused}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": refused.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
