"""A source release holds all that is compiled, and a wheel all that is read."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

import pytest
from release.lowest import declared, lowest

COMPILED = (".pyx", ".pxd", ".pxi", ".h")
NOT_IN_WHEELS = (".py", ".c", ".so", ".pyc", *COMPILED)


def test_the_source_release_has_every_source_and_nothing_generated(repo: Path, tmp_path: Path) -> None:
    pytest.importorskip("Cython", reason="setup.py needs Cython: pip install 'Cython>=3.2,<4'")
    build = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", str(tmp_path), "sdist"]
    subprocess.run([*build, "--dist-dir", str(tmp_path)], cwd=repo, check=True, capture_output=True)
    (release,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(release) as tar:
        held = {name.partition("/")[2] for name in tar.getnames()}
    room = repo / "src" / "samebits"
    sources = [path for path in room.rglob("*") if path.suffix in COMPILED]
    sources += (room / "arithmetic" / "native").glob("*.c")
    assert len(sources) > 40
    assert {path.relative_to(repo).as_posix() for path in sources} - held == set()
    written = {path.with_suffix(".c").relative_to(repo).as_posix() for path in room.rglob("*.pyx")}
    assert held & (written | {"src/samebits/kernels/_shared.c"}) == set()
    assert {"pyproject.toml", "setup.py", "MANIFEST.in", "tests/test_tiny.py"} <= held


def test_a_wheel_has_every_file_that_the_package_reads(repo: Path) -> None:
    project = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))
    room = repo / "src" / "samebits"
    patterns = project["tool"]["setuptools"]["package-data"]["samebits"]
    packed = {path for pattern in patterns for path in room.glob(pattern)}
    files = [path for path in room.rglob("*") if path.is_file() and path.suffix not in NOT_IN_WHEELS]
    assert files
    assert [str(path.relative_to(room)) for path in files if path not in packed] == []


def test_every_dependency_has_a_lowest_version_to_try() -> None:
    pins = [lowest(requirement) for requirement in declared()]
    assert "click==8.2" in pins
    with pytest.raises(SystemExit, match="no lowest version"):
        lowest("numpy<3")
