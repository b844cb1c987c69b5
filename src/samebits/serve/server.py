"""Listen and answer until interrupted: a socket, limits on connections, and uvicorn around the application."""

from __future__ import annotations

import asyncio
import logging
import resource
import secrets
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from samebits.errors import ConfigError, InputError
from samebits.serve.app import make_app
from samebits.serve.guard import GuardRules, is_loopback

__all__ = ["PORT", "open_socket", "run"]

PORT = 8722
TRIES = 20  # further ports, when nobody asked for this one
MOST_CONNECTIONS = 2000
MOST_FILES = 8192
HEADER_SECONDS = 5.0
MOST_HEADERS = 32 << 10


class _Connection(H11Protocol):
    """A connection that must say what it wants: one that sends no whole request for a while is closed."""

    _silent = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in uvicorn
        """Begin, unless there are too many already."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
            return
        self._look_again()

    def _look_again(self) -> None:
        self.loop.call_later(HEADER_SECONDS / 2, self._look)

    def _look(self) -> None:
        if self.transport.is_closing():
            return
        waits = "IDLE" in str(self.conn.their_state)  # for a request line and headers
        self._silent = self._silent + 1 if waits else 0
        if self._silent >= 2:
            self.transport.abort()
        else:
            self._look_again()


def open_socket(host: str, port: int | None) -> socket.socket:
    """Listen on a port; when none was asked for, on the first free one from ``PORT`` on.

    Raises:
        ConfigError: the port is taken, or the host is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    wanted = [port] if port is not None else [*range(PORT, PORT + TRIES), 0]
    for number in wanted:
        listening = socket.socket(family, socket.SOCK_STREAM)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((host, number))
            return listening
        except OSError as error:
            listening.close()
            failed = error
    raise ConfigError(
        f"cannot listen on {host}:{wanted[-1]}: {failed.strerror}", hint="choose a different --port"
    )


def run(
    folder: Path,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str = "",
    version: str = "",
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve a folder until interrupted.

    Args:
        folder: Where to look for runs.
        host: Address to listen on; one beyond loopback needs a token and is given one if there is none.
        port: Port; None takes the first free one from 8722 on.
        token: A secret that every request must bring.
        version: Of the package, for the foot of the pages.
        ready: Told the address as soon as it answers.

    Raises:
        InputError: there is no such folder.
        ConfigError: the address cannot be had.
    """
    if not folder.is_dir():
        raise InputError("no such folder", path=str(folder), hint="name a folder that runs are written into")
    if not token and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    listening = open_socket(host, port)
    _allow_files()
    number = listening.getsockname()[1]
    rules = GuardRules(host, number, token)
    shown = f"[{host}]" if ":" in host else host
    shown = "localhost" if shown in ("0.0.0.0", "[::]") else shown  # noqa: S104 - the address shown, not listened on
    url = f"http://{shown}:{number}/" + (f"?token={token}" if token else "")
    config = uvicorn.Config(
        make_app(folder, rules, version=version),
        http=_Connection,
        ws="none",
        lifespan="on",
        log_level="warning",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=MOST_HEADERS,
    )
    logging.getLogger("uvicorn.error").addFilter(_is_news)
    _Server(config, lambda: ready(url)).run(sockets=[listening])


def _is_news(record: logging.LogRecord) -> bool:
    """Leave out what uvicorn says of streams that are cut when the server ends, and of readers that went away."""
    error = record.exc_info[1] if record.exc_info else None
    expected = isinstance(error, asyncio.CancelledError | TimeoutError)
    return not expected and "timeout graceful shutdown exceeded" not in str(record.msg)


class _Server(uvicorn.Server):
    """Tells when it answers."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self.started:
            self._ready()

    def handle_exit(self, sig: int, frame: Any) -> None:
        """End; a second signal ends at once. Streams that are open are cut: pages come back by themselves."""
        self.force_exit = self.should_exit
        self.should_exit = True


def _allow_files() -> None:
    """Allow as many open files as connections need."""
    with suppress(OSError, ValueError):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, most), hard))
