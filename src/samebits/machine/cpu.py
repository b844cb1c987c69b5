"""Which CPU this is: model and vector instructions. Floating-point results are compared only where these agree."""

from __future__ import annotations

from pathlib import Path

__all__ = ["SIMD_LEVELS", "cpu", "simd"]

SIMD_LEVELS = ("avx512f", "avx512_bf16", "amx_bf16", "avx2", "fma", "asimd", "sve")


def cpu() -> tuple[str, set[str]]:
    """Return the CPU's model and its flags, as far as the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        import platform  # where this file is, it is not needed, and takes 1 ms to import

        return platform.processor() or "unknown", set()
    fields = dict(line.partition(":")[::2] for line in text.split("\n\n")[0].splitlines())
    named = {key.strip(): value.strip() for key, value in fields.items()}
    return named.get("model name", "unknown"), set(named.get("flags", named.get("Features", "")).split())


def simd(flags: set[str]) -> list[str]:
    """Return the vector instructions that matter, in a fixed order."""
    return [level for level in SIMD_LEVELS if level in flags]
