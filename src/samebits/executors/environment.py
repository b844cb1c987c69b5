"""What this machine and these libraries are: recorded beside every result, and compared for floating-point jobs."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

__all__ = ["fingerprint"]

LIBRARIES = ("samebits", "numpy", "torch", "tokenizers", "fastokens", "pyarrow")
SIMD_LEVELS = ("avx512f", "avx512_bf16", "amx_bf16", "avx2", "fma", "asimd", "sve")


def fingerprint() -> dict[str, Any]:
    """Return CPU model, SIMD level, Python and library versions; no host name, no path, no time."""
    model, flags = _cpu()
    return {
        "cpu": model,
        "simd": [level for level in SIMD_LEVELS if level in flags],
        "machine": platform.machine(),
        "system": platform.system(),
        "python": ".".join(str(n) for n in sys.version_info[:3]),
        "libraries": {name: version for name in LIBRARIES if (version := _version(name))},
    }


def _cpu() -> tuple[str, set[str]]:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or "unknown", set()
    fields = dict(line.partition(":")[::2] for line in text.split("\n\n")[0].splitlines())
    named = {key.strip(): value.strip() for key, value in fields.items()}
    return named.get("model name", "unknown"), set(named.get("flags", named.get("Features", "")).split())


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
