"""Places that must not change a bit of a training run: other compilers, a library that flushes, another NumPy, another processor.

Each of them is a command that starts Python and variables for it; ``places`` makes those that this machine can have.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.common import REPO
from benchmarks.lm_sides import say

__all__ = ["ARM", "Place", "arm_place", "places"]

ARM = "aarch64 under qemu-user"
NUMPY = "1.26.4"  # the oldest that the package takes
BUILDS = (("gcc", "-O1"), ("gcc", "-O3"), ("clang", "-O1"), ("clang", "-O3"))
ONLY = "samebits.arithmetic samebits.kernels.lockstep"  # every module that touches a float of a weight
IS_FLUSHING = "import numpy; raise SystemExit(float(numpy.float32(1e-38) * numpy.float32(0.01)) != 0)"


@dataclass(frozen=True, slots=True)
class Place:
    """How to start Python there."""

    python: tuple[str, ...] = (sys.executable,)
    env: Mapping[str, str] = field(default_factory=dict)


def places(folder: Path) -> Iterator[tuple[str, Place]]:
    """Yield the places of this machine by name; what has to be compiled or fetched goes to a folder."""
    for compiler, level in BUILDS:
        if _has(compiler):
            yield f"{compiler} {level}", _compiled(compiler, level, folder / f"{compiler}{level}")
    if _has("gcc"):
        yield "a library that flushes", _flushing(folder)
    yield f"NumPy {NUMPY}", _other_numpy(folder / "numpy")


def _has(*programs: str) -> bool:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        say(f"left out: {', '.join(missing)} is not installed")
    return not missing


def _path(folder: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join((str(folder), str(REPO)))}


def _compiled(compiler: str, level: str, folder: Path) -> Place:
    """Copy the package and compile its floating-point modules anew."""
    say(f"compiling with {compiler} {level}")
    shutil.copytree(REPO / "src", folder / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        if (REPO / name).exists():
            shutil.copy(REPO / name, folder)
    for prefix in ONLY.split():
        for module in (folder / "src" / prefix.replace(".", "/")).rglob("*.so"):
            module.unlink()
    env = {**os.environ, "CC": compiler, "SAMEBITS_OPTIMIZE": level, "SAMEBITS_ONLY": ONLY, "CFLAGS": ""}
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    subprocess.run(command, cwd=folder, env=env, check=True, stdout=sys.stderr)
    return Place(env=_path(folder / "src"))


def _flushing(folder: Path) -> Place:
    """Link an empty library with -ffast-math: loading it makes the thread flush small numbers, and it is loaded first."""
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


def _other_numpy(folder: Path) -> Place:
    say(f"installing NumPy {NUMPY}")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
    subprocess.run([*command, f"numpy=={NUMPY}"], check=True, stdout=sys.stderr)
    return Place(env=_path(folder))


def arm_place() -> Place | None:
    """Return the emulated ARM machine that ``make anywhere`` makes, built again where its package is not this one."""
    if not _has("qemu-aarch64-static", "aarch64-linux-gnu-gcc", "mmdebstrap"):
        return None
    arm, stamp, digest = REPO / "build" / "arm", REPO / "build" / "arm" / "site.sha256", _digest_of_sources()
    if not stamp.exists() or stamp.read_text(encoding="ascii") != digest:
        say("cross-compiling the package for aarch64")
        shutil.rmtree(arm / "out", ignore_errors=True)
        (arm / "out").mkdir(parents=True)
        _run([sys.executable, "setup.py", "-q", "sdist", "--dist-dir", str(arm / "out")])
        (source,) = (arm / "out").glob("*.tar.gz")
        _run(["release/arm_wheel.sh", str(source), str(arm / "out")])
        stamp.write_text(digest, encoding="ascii")
    return Place((str(REPO / "release" / "arm_python.sh"),), {"ARM_PATH": str(REPO)})


def _run(command: list[str]) -> None:
    subprocess.run(command, cwd=REPO, check=True, stdout=sys.stderr)


def _digest_of_sources() -> str:
    hasher = hashlib.sha256()
    for path in sorted((REPO / "src").rglob("*")):
        if path.suffix in (".py", ".pyx", ".pxd", ".h") or (
            path.suffix == ".c" and path.parent.name == "native"
        ):
            hasher.update(str(path.relative_to(REPO)).encode() + b"\n" + path.read_bytes())
    return hasher.hexdigest()
