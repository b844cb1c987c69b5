"""Compile the Cython kernels; everything else about the package is in pyproject.toml.

Every ``.pyx`` under ``src/samebits/kernels`` is one extension module. Flags:
``-ffp-contract=off`` because a fused multiply-add in a vector body but not in its tail would make floating
results depend on where a slice is cut; no ``-march=native`` because the same wheel must give the same bits on
every machine.
"""

from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNELS = Path("src/samebits/kernels")
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "embedsignature": True,
}

setup(
    ext_modules=cythonize(
        [
            Extension(
                f"samebits.kernels.{path.stem}",
                [str(path)],
                extra_compile_args=["-O3", "-ffp-contract=off", "-fno-math-errno"],
            )
            for path in sorted(KERNELS.glob("*.pyx"))
        ],
        compiler_directives=DIRECTIVES,
        quiet=True,
    ),
)
