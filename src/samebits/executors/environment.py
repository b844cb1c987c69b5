"""What this machine and these libraries are: recorded beside every result, and compared for floating-point jobs."""

from __future__ import annotations

import platform
import sys
from typing import Any

from samebits.core.machine import cpu, simd

__all__ = ["fingerprint"]

LIBRARIES = ("samebits", "numpy", "torch", "tokenizers", "fastokens", "pyarrow")


def fingerprint(*, installed: bool = False) -> dict[str, Any]:
    """Return CPU model, SIMD level, Python and library versions; no host name, no path, no time.

    Libraries that are not loaded took no part in a result, so they are named only when ``installed`` asks for them:
    looking through all installed packages costs about 40 ms.
    """
    model, flags = cpu()
    return {
        "cpu": model,
        "simd": simd(flags),
        "machine": platform.machine(),
        "system": platform.system(),
        "python": ".".join(str(n) for n in sys.version_info[:3]),
        "libraries": {
            name: version for name in LIBRARIES if (version := _version(name, installed=installed))
        },
    }


def _version(name: str, *, installed: bool) -> str | None:
    if name in sys.modules and isinstance(version := getattr(sys.modules[name], "__version__", None), str):
        return version
    if not installed:
        return None
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
