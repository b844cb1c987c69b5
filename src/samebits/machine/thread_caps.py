"""The variables that hold math libraries to one thread; set for child processes before they import anything."""

from __future__ import annotations

__all__ = ["THREAD_CAPS"]

THREAD_CAPS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMEXPR_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "BLIS_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "ARROW_NUM_THREADS": "1",
    "POLARS_MAX_THREADS": "1",
}
