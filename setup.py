"""Compile the Cython kernels; everything else about the package is in pyproject.toml.

Every ``.pyx`` under ``src/samebits/kernels`` is one extension module. Flags:
``-ffp-contract=off`` because a fused multiply-add in a vector body but not in its tail would make floating
results depend on where a slice is cut; no ``-march=native`` because the same wheel must give the same bits on
every machine.

A source release is made of the files as they are written: ``sdist`` and ``egg_info`` do not run Cython, so that the
tarball lists the ``.pyx`` files and not the C made from them.

The memoryview machinery that Cython writes into every module (30,000 lines of C) is compiled once, as ``_shared``, and
the modules are translated and compiled on all cores: a fresh set-up spends most of its time here.

Two variables serve the comparison of builds (``benchmarks/lm_bits.py``): ``SAMEBITS_OPTIMIZE`` takes the place of ``-O3``, and
``SAMEBITS_ONLY`` compiles the modules whose names begin with one of some prefixes alone.
"""

import multiprocessing
import os
import sys
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

SHARED = "samebits.kernels._shared"
FLAGS = [os.environ.get("SAMEBITS_OPTIMIZE", "-O3"), "-ffp-contract=off", "-fno-math-errno"]
LINK: list[str] = []
if "-g" not in os.environ.get("CFLAGS", ""):
    # Notes for debuggers, which Python's own flags ask for, and names of what is not exported: 24 of 29 MB. A page of code
    # that begins where data end: another 0.3 of 6.
    FLAGS.append("-g0")
    LINK += ["-s", "-Wl,-z,noseparate-code"] if sys.platform == "linux" else []
LIBRARIES = {"samebits.kernels.text.inflate": ["z"]}  # zlib, which Python needs as well
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2
# Translation takes a second per module. Processes that are not forked would run this file again.
TRANSLATORS = CORES if multiprocessing.get_start_method() == "fork" else 0
ONLY = tuple(os.environ.get("SAMEBITS_ONLY", "samebits").split())


def extension(source: Path) -> Extension:
    """Describe one module; it is compiled again when a header of its folder or the one above changes."""
    name = ".".join(source.relative_to("src").with_suffix("").parts)
    headers = [
        str(path) for folder in (source.parent, source.parent.parent) for path in sorted(folder.glob("*.h"))
    ]
    return Extension(
        name,
        [str(source)],
        libraries=LIBRARIES.get(name, []),
        extra_compile_args=FLAGS,
        extra_link_args=LINK,
        depends=headers,
    )


def arithmetic() -> list[Extension]:
    """Describe the modules of the arithmetic room; all C sources are part of ``_native``, which the others call."""
    room = Path("src/samebits/arithmetic")
    native = sorted(room.glob("native/*.[ch]"))
    found = []
    for path in sorted(room.glob("*.pyx")):
        sources = [str(source) for source in native if source.suffix == ".c" and path.stem == "_native"]
        found.append(
            Extension(
                f"samebits.arithmetic.{path.stem}",
                [str(path), *sources],
                include_dirs=[str(room)],
                extra_compile_args=FLAGS,
                extra_link_args=LINK,
                depends=[str(source) for source in native],
            )
        )
    return found


kernels = [extension(path) for path in sorted(KERNELS.rglob("*.pyx"))]
modules = [*kernels, *arithmetic(), extension(KERNELS / "_shared.c")]
modules = [module for module in modules if module.name.startswith(ONLY)]
if not {"sdist", "egg_info", "dist_info"} & set(sys.argv):
    modules = cythonize(
        modules,
        nthreads=TRANSLATORS,
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        quiet=True,
    )
setup(
    ext_modules=modules,
    options={"build_ext": {"parallel": CORES}},
)
