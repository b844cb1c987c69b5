"""Hosts in network namespaces: a second machine on this one, whose network can be cut and mended.

Each host is a namespace with its own loopback and one cable (a veth pair) to this machine. Cutting takes the far end of
the cable down: packets vanish without an answer, as behind a broken switch. It needs root and ``ip``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import count

__all__ = ["Host", "host", "why_no_hosts"]

_numbers = count()


@dataclass(frozen=True)
class Host:
    """A machine beside this one.

    Attributes:
        name: Of the namespace, and of this machine's end of the cable.
        here: Address of this machine as the host sees it.
        there: Address of the host.
    """

    name: str
    here: str
    there: str

    def command(self, *words: str) -> list[str]:
        """Return a command line that runs on the host; files are those of this machine."""
        return ["ip", "netns", "exec", self.name, *words]

    def cut(self) -> None:
        """Pull the cable."""
        _ip("-n", self.name, "link", "set", "eth0", "down")

    def mend(self) -> None:
        """Put it back."""
        _ip("-n", self.name, "link", "set", "eth0", "up")


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextmanager
def host() -> Iterator[Host]:
    """Make a host; it is gone afterwards."""
    number = next(_numbers)
    name = f"sb{os.getpid()}n{number}"[-15:]  # the longest name of a device
    net = f"10.{64 + os.getpid() % 64}.{os.getpid() // 64 % 256}"
    found = Host(name, f"{net}.{number % 60 * 4 + 1}", f"{net}.{number % 60 * 4 + 2}")
    _ip("netns", "add", name)
    try:
        _ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        _ip("addr", "add", f"{found.here}/30", "dev", name)
        _ip("link", "set", name, "up")
        _ip("-n", name, "addr", "add", f"{found.there}/30", "dev", "eth0")
        for device in ("eth0", "lo"):
            _ip("-n", name, "link", "set", device, "up")
        yield found
    finally:
        subprocess.run(["ip", "link", "del", name], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


@lru_cache
def why_no_hosts() -> str:
    """Return why no host can be made here, or nothing if one can."""
    if shutil.which("ip") is None:
        return "there is no ip command (package iproute2)"
    try:
        with host() as made:
            done = subprocess.run(made.command("true"), check=False, capture_output=True)
    except subprocess.CalledProcessError as error:
        return f"network namespaces are not permitted: {error.stderr.decode().strip()}"
    return "" if done.returncode == 0 else "programs cannot be started in a network namespace"
