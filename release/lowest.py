"""Install the lowest version of every dependency that pyproject.toml declares, and run tests with them.

``make lowest``. A bound that nobody tried is a guess: ``click>=8.1`` stood there while 8.2 was needed. Packages come as
wheels only, so a bound that is too old for the lowest Python is found too.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PLACE = REPO / "build" / "lowest"
EXTRAS = ("tokens", "http", "graph", "punkt", "dask", "ray", "datasets")
TESTS = (
    "tests/test_tiny.py",
    "tests/test_public_api.py",
    "tests/data",
    "tests/count",
    "tests/charset",
    "tests/langid",
    "tests/tokens",
    "tests/cli",
    "tests/graph/test_ged.py",
    "tests/executors/test_contract.py",
)
WARNINGS = ("-W", "ignore::pytest.PytestUnraisableExceptionWarning")  # Ray 2.40 leaves its own log files open


def lowest(requirement: str) -> str:
    """Return a requirement for exactly the lowest version.

    >>> lowest("fastokens>=0.3.5,<0.4"), lowest("rich>=13"), lowest("torch==2.13.0")
    ('fastokens==0.3.5', 'rich==13', 'torch==2.13.0')
    """
    found = re.fullmatch(r"([\w-]+)(>=|==)([\d.]+)(,.*)?", requirement)
    if not found:
        raise SystemExit(f"{requirement}: no lowest version to try; write name>=version")
    return f"{found[1]}=={found[3]}"


def declared() -> list[str]:
    """Return every dependency of the package and of the extras that are tried."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [name for extra in EXTRAS for name in project["optional-dependencies"][extra]]
    return sorted({*project["dependencies"], *extras})


def main() -> int:
    """Make the environment, install, test; return the exit code of the tests."""
    venv.create(PLACE, with_pip=True, clear=True)
    python = str(PLACE / "bin" / "python")
    pins = [lowest(requirement) for requirement in declared()]
    print("\n".join(pins), flush=True)
    tools = ["pytest", "pytest-timeout", "hypothesis", "scipy>=1.11", "setuptools>=77", "Cython>=3.2,<4"]
    install = [python, "-m", "pip", "install", "--quiet"]
    subprocess.run([*install, "--only-binary=:all:", *pins, *tools], check=True)
    subprocess.run([*install, "--no-deps", "--no-build-isolation", "--editable", str(REPO)], check=True)
    return subprocess.run(
        [python, "-m", "pytest", "-q", *WARNINGS, *(sys.argv[1:] or TESTS)], cwd=REPO
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
