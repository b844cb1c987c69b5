"""What this machine and these libraries are: recorded beside every result, and compared for floating-point jobs."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

from samebits.machine.cpu import cpu, simd

__all__ = ["fingerprint", "first_difference", "installed_version", "worker_environment"]

INSTALLED = (".dist-info", ".egg-info")  # folders named after a package and its version
LIBRARIES = ("samebits", "numpy", "torch", "tokenizers", "fastokens", "pyarrow")


def fingerprint(*, installed: bool = False) -> dict[str, Any]:
    """Return CPU model, SIMD level, Python and library versions; no host name, no path, no time.

    Libraries that are not loaded took no part in a result, so they are named only when ``installed`` asks for them:
    looking through all installed packages takes time.
    """
    model, flags = cpu()
    system, machine = _system()
    return {
        "cpu": model,
        "simd": simd(flags),
        "machine": machine,
        "system": system,
        "python": ".".join(str(n) for n in sys.version_info[:3]),
        "libraries": {
            name: version for name in LIBRARIES if (version := _version(name, installed=installed))
        },
    }


def _system() -> tuple[str, str]:
    """Return the names of the system and of the kind of machine, as ``platform`` has them, which takes 1 ms to import."""
    if hasattr(os, "uname"):
        found = os.uname()
        return found.sysname, found.machine
    import platform

    return platform.system(), platform.machine()


@lru_cache
def _versions_in(folder: str) -> dict[str, str]:
    """Return the versions by name of what is installed in a folder; names with ``_`` for ``-``, as wheels spell them."""
    found: dict[str, str] = {}
    try:
        names = [entry.name for entry in os.scandir(folder or ".")]
    except OSError:
        return found
    for suffix in INSTALLED:
        for stem in (name.removesuffix(suffix) for name in names if name.endswith(suffix)):
            package, dash, version = stem.partition("-")
            if dash:
                found.setdefault(package.lower().replace("-", "_"), version.split("-py")[0])
    return found


def installed_version(name: str) -> str | None:
    """Return the version of an installed package; None where there is none. ``importlib.metadata`` would take 25 ms to import.

    >>> installed_version("numpy") == __import__("numpy").__version__
    True
    >>> installed_version("no-such-package") is None
    True
    """
    key = name.lower().replace("-", "_")
    return next((found[key] for folder in sys.path if key in (found := _versions_in(folder))), None)


def _version(name: str, *, installed: bool) -> str | None:
    """Return the version of a library that is loaded, or that is installed if this counts too.

    A build of torch 2.13.0 calls itself 2.13.0+cu130 once it is loaded: where both are known, the installed version counts, because one process may have loaded
    it and another not.
    """
    loaded = getattr(sys.modules.get(name), "__version__", None)
    found = installed_version(name) if installed else None
    if isinstance(loaded, str) and (found is None or loaded.partition("+")[0] != found):
        return loaded
    return found


@lru_cache(maxsize=1)
def worker_environment() -> dict[str, Any]:
    """Return the fingerprint with all installed libraries and the digest of the compiled kernels; looked at once."""
    return {**fingerprint(installed=True), "kernels": _kernels_digest()}


def _kernels_digest() -> str:
    """Digest names and bytes of the compiled kernels; they are a few megabytes."""
    package = Path(__file__).parent.parent
    total = hashlib.sha256()
    for item in sorted(package.rglob("*.so")):
        total.update(item.relative_to(package).as_posix().encode() + b"\0" + item.read_bytes())
    return total.hexdigest()[:16]


def first_difference(
    ours: dict[str, Any], theirs: dict[str, Any], *, floating: bool
) -> tuple[str, str, str] | None:
    """Return the first field in which a worker may compute other bits, with both values.

    Kernels are compared between machines of one architecture: on another one they are other files by nature. Libraries
    are compared where both have them; a task that misses one says so itself. CPU types matter to floating jobs alone.

    >>> ours = {"python": "3.11.9", "machine": "x86_64", "kernels": "ab", "libraries": {"numpy": "2.1"}, "cpu": "A"}
    >>> first_difference(ours, {**ours, "libraries": {"numpy": "1.9"}}, floating=False)
    ('numpy', '2.1', '1.9')
    >>> first_difference(ours, {**ours, "cpu": "B"}, floating=False)
    >>> first_difference(ours, {**ours, "cpu": "B"}, floating=True)
    ('cpu', 'A', 'B')
    """
    pairs = [("python", ours["python"], theirs["python"])]
    libraries = sorted({*ours["libraries"]} & {*theirs["libraries"]})
    pairs += [(name, ours["libraries"][name], theirs["libraries"][name]) for name in libraries]
    if floating:
        pairs += [(name, ours.get(name), theirs.get(name)) for name in ("machine", "cpu", "simd")]
    if ours["machine"] == theirs["machine"]:
        pairs.append(("kernels", ours["kernels"], theirs["kernels"]))
    return next(((name, str(a), str(b)) for name, a, b in pairs if a != b), None)
