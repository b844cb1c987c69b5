"""Fixtures for all tests, and two guards: no test leaves a child process or a changed environment behind."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest
import threadpoolctl  # noqa: F401 - sets KMP_DUPLICATE_LIB_OK when it is first imported, which is no test's doing
from hypothesis import settings
from tests.command_line import Run, command_line

REPO = Path(__file__).resolve().parent.parent
SHARED_DATA = Path(os.environ.get("SAMEBITS_SHARED_DATA", REPO.parent / "shared" / "data"))

# Set by pytest, by ray and polars when they are imported, and by Dask 2024.8 while a nanny starts another worker.
NOT_OURS = {"PYTEST_CURRENT_TEST", "RAY_CLIENT_MODE", "PYTHONBREAKPOINT", "_RJEM_MALLOC_CONF", "DASK_PARENT"}

# Folders of tests whose subject is processes: two of them at once would only wait for one another.
STARTS_WORKERS = ("executors", "faults", "lockstep", "parity")

# Timing never decides a test: a busy machine must not fail an example.
settings.register_profile("samebits", deadline=None)
settings.load_profile("samebits")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each file to one of the processes of ``make test``, and all that kills, stops and starts workers to the same one."""
    if config.pluginmanager.hasplugin("xdist"):
        for item in items:
            folder = item.path.relative_to(REPO).parts[1]
            group = "workers" if folder in STARTS_WORKERS else item.path.as_posix()
            item.add_marker(pytest.mark.xdist_group(group))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Call long bytes by their argument: packed bytes hold the second they were made in, and both processes must agree on names."""
    return argname if isinstance(val, bytes) and len(val) > 40 else None


@pytest.fixture(scope="session")
def repo() -> Path:
    """The root of the checkout."""
    return REPO


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep indexes and copies of compressed inputs out of the cache of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SAMEBITS_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "input-cache"))
        yield


@pytest.fixture
def shared_data() -> Path:
    """Real text kept outside the repository; tests that need it are skipped where it is absent."""
    if not SHARED_DATA.is_dir():
        pytest.skip(f"no shared data at {SHARED_DATA}; set SAMEBITS_SHARED_DATA to its folder")
    return SHARED_DATA


def needs_extra(executor: str) -> None:
    """Skip a test of an executor whose engine is not installed."""
    package = {"dask": "distributed", "ray": "ray"}.get(executor)
    if package and importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install 'samebits[{executor}]'")


@pytest.fixture(autouse=True)
def _no_leftovers() -> Iterator[None]:
    before = dict(os.environ)
    children_before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    assert _variables(os.environ) == _variables(before), "the test changed environment variables"
    left = [
        child
        for child in psutil.Process().children(recursive=True)
        if child.pid not in children_before and not _is_helper(child)
    ]
    assert left == [], "the test left child processes running"


def _variables(environment: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in environment.items() if key not in NOT_OURS}


def _is_helper(child: psutil.Process) -> bool:
    """Tell what lives as long as its owner: resource trackers, and the processes of Ray, which come and go as it likes."""
    try:
        command = " ".join(child.cmdline())
        mark = ("resource_tracker", "ray::", "/ray/")
        return any(word in command for word in mark) or child.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def samebits(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Call the command line as ``samebits("count", path, "-o", out)``."""
    yield from command_line(capsys)


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Two lines of text to count."""
    path = tmp_path / "book.txt"
    path.write_text("the cat\nthe dog\n")
    return path
