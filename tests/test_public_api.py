"""What users may import, and what importing costs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import samebits

HEAVY = (
    "dask",
    "distributed",
    "loky",
    "msgspec",
    "numpy",
    "pandas",
    "polars",
    "psutil",
    "pyarrow",
    "ray",
    "rich",
    "torch",
)
LOADED = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


def modules_after(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter has loaded after a statement."""
    done = subprocess.run(
        [sys.executable, "-c", f"{statement}; {LOADED}"], capture_output=True, text=True, check=True
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_public_names_are_sorted_and_there() -> None:
    assert samebits.__all__ == sorted(samebits.__all__)
    for name in samebits.__all__:
        assert getattr(samebits, name) is not None


def test_the_public_names_are_exactly_what_the_package_exports() -> None:
    assert dir(samebits) == samebits.__all__
    assert {*samebits._HOME, *samebits._JOBS} == set(samebits.__all__)
    tree = ast.parse(Path(samebits.__file__).read_text(encoding="utf-8"))
    typed = next(node for node in tree.body if isinstance(node, ast.If))
    names = [
        alias.asname or alias.name
        for node in ast.walk(typed)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]
    assert sorted(names) == samebits.__all__, "what type checkers see"


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'trian'") as caught:
        samebits.langid.trian  # noqa: B018 - looking it up is the test
    assert (caught.value.name, caught.value.obj) == ("trian", samebits.langid), "for Python's own suggestion"


@pytest.mark.parametrize(
    "module",
    [
        "errors",
        "testing",
        "api",
        "verification.artifacts",
        "jobs",
        "executors",
        "core.engine",
        "core.fold",
        "data.artifact",
        "data.inputs.corpus",
        "data.readers.rows",
    ],
)
def test_every_module_lists_what_it_offers(module: str) -> None:
    found = __import__(f"samebits.{module}", fromlist=["__all__"])
    assert (
        sorted(found.__all__, key=lambda name: (not name.isupper(), not name[0].isupper(), name))
        == found.__all__
    )
    assert all(hasattr(found, name) for name in found.__all__)


def test_importing_samebits_loads_nothing_heavy() -> None:
    assert modules_after("import samebits").intersection(HEAVY) == set()


def test_the_help_loads_nothing_heavy() -> None:
    statement = "from samebits.machine.caps import cap_threads; cap_threads(); from samebits.cli.app import run; run(['--help'])"
    assert modules_after(statement).intersection(HEAVY) == set()


def test_the_version_is_that_of_the_package(repo: Path) -> None:
    import tomllib

    project = tomllib.loads((repo / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert samebits.__version__ == project["version"]
