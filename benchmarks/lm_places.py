"""Places that must not change a bit of a training run: other compilers, a library that flushes, another NumPy, another processor.

Each of them is a command that starts Python and variables for it. What this machine cannot have is left out, with a word.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.common import REPO
from benchmarks.lm_sides import say

__all__ = ["ARM", "NUMPY", "Place", "arm_place", "compiled", "flushing", "other_numpy"]

ARM = "aarch64 under qemu-user"
ARM_ROOT = REPO / "build" / "arm"
ARM_PYTHON = (3, 11)  # of its Debian
NEEDED = ("numpy", "cloudpickle", "msgspec", "psutil", "xxhash")  # by a training run
NUMPY = "1.26.4"  # the oldest that the package takes
FLOATS = ("samebits.arithmetic", "samebits.kernels.lockstep")  # every module that touches a float of a weight
SHARED = "samebits.kernels._shared"  # which they need
IS_FLUSHING = "import numpy; raise SystemExit(float(numpy.float32(1e-38) * numpy.float32(0.01)) != 0)"


@dataclass(frozen=True, slots=True)
class Place:
    """How to start Python there."""

    python: tuple[str, ...] = (sys.executable,)
    env: Mapping[str, str] = field(default_factory=dict)


def _has(*programs: str) -> bool:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        say(f"left out: {', '.join(missing)} is not installed")
    return not missing


def _path(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join((str(folder), str(REPO)))}


def compiled(compiler: str, level: str, folder: Path) -> Place | None:
    """Copy the package to a folder and compile its floating-point modules anew."""
    if not _has(compiler):
        return None
    say(f"compiling with {compiler} {level}")
    _copy_package(folder, without=("__pycache__", "*.egg-info"))
    for prefix in FLOATS:
        for module in (folder / "src" / prefix.replace(".", "/")).rglob("*.so"):
            module.unlink()
    _build(folder, FLOATS, {"CC": compiler, "SAMEBITS_OPTIMIZE": level, "CFLAGS": ""})
    return Place(env=_path(folder / "src"))


def _copy_package(folder: Path, *, without: tuple[str, ...]) -> None:
    shutil.copytree(REPO / "src", folder / "src", ignore=shutil.ignore_patterns(*without))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        if (REPO / name).exists():
            shutil.copy(REPO / name, folder)


def _build(folder: Path, modules: tuple[str, ...], env: Mapping[str, str]) -> None:
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    variables = {**os.environ, "SAMEBITS_ONLY": " ".join(modules), **env}
    subprocess.run(command, cwd=folder, env=variables, check=True, stdout=sys.stderr)


def flushing(folder: Path) -> Place | None:
    """Link an empty library with -ffast-math: loading it makes the thread flush small numbers, and it is loaded first."""
    if not _has("gcc"):
        return None
    source, library = folder / "fast.c", folder / "fast.so"
    source.write_text("int nothing_else;\n", encoding="ascii")
    subprocess.run(["gcc", "-shared", "-fPIC", "-ffast-math", str(source), "-o", str(library)], check=True)
    place = Place(env={"LD_PRELOAD": str(library)})
    flushes = subprocess.run([*place.python, "-c", IS_FLUSHING], env={**os.environ, **place.env}, check=False)
    if flushes.returncode:
        sys.exit(
            "the library compiled with -ffast-math does not flush small numbers here, so its row would show nothing"
        )
    return place


def other_numpy(folder: Path) -> Place:
    """Install the oldest NumPy into a folder."""
    say(f"installing NumPy {NUMPY}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*command, f"numpy=={NUMPY}"], check=True, stdout=sys.stderr)
    place = Place(env=_path(folder))
    look = [*place.python, "-c", "import numpy; print(numpy.__version__)"]
    found = subprocess.run(look, env={**os.environ, **place.env}, capture_output=True, text=True, check=True)
    if found.stdout.strip() != NUMPY:
        sys.exit(f"NumPy {found.stdout.strip()} was loaded instead of {NUMPY}, so its row would show nothing")
    return place


def arm_place() -> Place | None:
    """Return an emulated ARM machine: the Debian of ``make anywhere``, and what a training run needs cross-compiled for it."""
    if not _has("qemu-aarch64-static", "aarch64-linux-gnu-gcc", "mmdebstrap"):
        return None
    if sys.version_info[:2] != ARM_PYTHON:
        say(f"left out: modules for the emulated machine need Python {ARM_PYTHON[0]}.{ARM_PYTHON[1]} here")
        return None
    subprocess.run(["release/arm_root.sh", "build/arm"], cwd=REPO, check=True, stdout=sys.stderr)
    if not (ARM_ROOT / "site").exists():
        _arm_packages(ARM_ROOT / "site")
    folder, digest = ARM_ROOT / "floats", _digest_of_sources()
    stamp = folder / "sources.sha256"
    if not stamp.exists() or stamp.read_text(encoding="ascii") != digest:
        say("cross-compiling for aarch64 what a training run needs")
        shutil.rmtree(folder, ignore_errors=True)
        _copy_package(folder, without=("__pycache__", "*.egg-info", "*.so"))
        _build(folder, (*FLOATS, SHARED), _arm_compiler())
        stamp.write_text(digest, encoding="ascii")
    path = os.pathsep.join((str(folder / "src"), str(REPO)))
    return Place((str(REPO / "release" / "arm_python.sh"),), {"ARM_PATH": path})


def _arm_compiler() -> dict[str, str]:
    headers = ARM_ROOT / "root" / "usr" / "include"
    return {
        "CC": "aarch64-linux-gnu-gcc",
        "LDSHARED": "aarch64-linux-gnu-gcc -shared",
        "CFLAGS": f"-I{headers}/python3.11 -I{headers}",
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "SETUPTOOLS_EXT_SUFFIX": ".cpython-311-aarch64-linux-gnu.so",
    }


def _arm_packages(folder: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--target",
        str(folder),
        "--only-binary=:all:",
    ]
    command += ["--python-version", "3.11", "--implementation", "cp"]
    for platform in ("manylinux_2_28_aarch64", "manylinux2014_aarch64", "any"):
        command += ["--platform", platform]
    subprocess.run([*command, *NEEDED], check=True, stdout=sys.stderr)


def _digest_of_sources() -> str:
    hasher = hashlib.sha256()
    for path in sorted((REPO / "src").rglob("*")):
        if path.suffix in (".py", ".pyx", ".pxd", ".h") or (
            path.suffix == ".c" and path.parent.name == "native"
        ):
            hasher.update(str(path.relative_to(REPO)).encode() + b"\n" + path.read_bytes())
    return hasher.hexdigest()
