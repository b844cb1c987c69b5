"""What this machine and these libraries are: recorded beside every result, and compared for floating-point jobs."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from typing import Any

__all__ = ["fingerprint"]

LIBRARIES = ("samebits", "numpy", "torch", "tokenizers", "fastokens", "pyarrow")
SIMD_LEVELS = ("avx512f", "avx512_bf16", "amx_bf16", "avx2", "fma", "asimd", "sve")


def fingerprint(*, installed: bool = False) -> dict[str, Any]:
    """Return CPU model, SIMD level, Python and library versions; no host name, no path, no time.

    Libraries that are not loaded took no part in a result, so they are named only when ``installed`` asks for them:
    looking through all installed packages costs about 40 ms.
    """
    model, flags = _cpu()
    return {
        "cpu": model,
        "simd": [level for level in SIMD_LEVELS if level in flags],
        "machine": platform.machine(),
        "system": platform.system(),
        "python": ".".join(str(n) for n in sys.version_info[:3]),
        "libraries": {
            name: version for name in LIBRARIES if (version := _version(name, installed=installed))
        },
    }


def _cpu() -> tuple[str, set[str]]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown", set()
    fields = dict(line.partition(":")[::2] for line in text.split("\n\n")[0].splitlines())
    named = {key.strip(): value.strip() for key, value in fields.items()}
    return named.get("model name", "unknown"), set(named.get("flags", named.get("Features", "")).split())


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
