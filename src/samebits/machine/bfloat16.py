"""bfloat16 only where the CPU multiplies in it: elsewhere torch emulates it, about twelve times slower than float32."""

from __future__ import annotations

from pathlib import Path

__all__ = ["choose_dtype"]

FLAGS = ("amx_bf16", "avx512_bf16")


def choose_dtype(asked: str, cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return ``float32`` or ``bfloat16``.

    >>> choose_dtype("float32")
    'float32'
    """
    if asked != "auto":
        return asked
    try:
        text = cpuinfo.read_text(encoding="ascii", errors="replace")
    except OSError:
        return "float32"
    line = next((line for line in text.splitlines() if line.startswith("flags")), "")
    return "bfloat16" if any(flag in line.split() for flag in FLAGS) else "float32"
