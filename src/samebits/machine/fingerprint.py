"""What floating-point bits depend on besides the code: CPU, math libraries, and the variables that choose their kernels.

Taken in a worker, where the libraries that compute are loaded. A checkpoint keeps it, and a resume compares it field by field.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys

import numpy as np

from samebits.machine.cpu import cpu, simd

__all__ = ["fingerprint"]

VARIABLES = (
    "MKL_CBWR",
    "ATEN_CPU_CAPABILITY",
    "ONEDNN_MAX_CPU_ISA",
    "OPENBLAS_CORETYPE",
    "NPY_DISABLE_CPU_FEATURES",
)


def fingerprint(compute: str) -> dict[str, str]:
    """Return the fields by name; torch is named only when the objective loaded it."""
    model, flags = cpu()
    found = {
        "cpu": model,
        "isa": ",".join(simd(flags)),
        "machine": platform.machine(),
        "libc": "-".join(platform.libc_ver()),
        "numpy": np.__version__,
        "blas": _blas(),
        "compute": compute,
    }
    found |= {name: os.environ.get(name, "") for name in VARIABLES}
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch"] = str(torch.__version__)
        found["torch_isa"] = str(torch.backends.cpu.get_cpu_capability())
        found["torch_build"] = hashlib.sha256(torch.__config__.show().encode()).hexdigest()[:16]
    return found


def _blas() -> str:
    """Name NumPy's matrix library, its version and the CPU it takes this one for."""
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool.get("user_api") == "blas"]
    fields = ("internal_api", "version", "architecture")
    named = sorted(" ".join(str(pool.get(field, "")) for field in fields) for pool in pools)
    return "; ".join(named) or "none"
