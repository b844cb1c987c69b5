"""The tree is the architecture: imports point one way, files and functions stay small, only cli prints.

The rules are those of docs/concepts; this test walks the syntax trees so that they hold tomorrow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src" / "samebits"
FILES = sorted(SRC.rglob("*.py"))
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60

# room -> rooms it may import; files directly under samebits are rooms of their own
ALLOWED = {
    "errors": set[str](),
    "core": {"errors"},
    "arithmetic": {"errors"},
    "kernels": set[str](),
    "executors": {"core", "errors"},
    "data": {"kernels", "core", "errors"},
    "lockstep": {"data", "kernels", "core", "errors"},  # data: atomic files and the lock, for checkpoints
    "jobs": {"lockstep", "data", "kernels", "core", "errors"},
    "charset": {"jobs"},
    "testing": {"executors", "core", "errors"},
    "training": {"lockstep", "executors", "data", "core", "errors"},
    "api": {"jobs", "executors", "data", "core", "errors"},
    "pipeline": {"api", "jobs", "data", "core", "errors"},
    "graph": {"api", "jobs", "data", "core", "errors"},
    "langid": {"api", "jobs", "data", "core", "errors"},
    "lm": {"api", "jobs", "data", "core", "errors"},
    "graph_train": {"api", "jobs", "data", "core", "errors"},
    "loops": {"api", "core", "errors"},
    "checks": {"api", "jobs", "data", "core", "errors"},
    "bench": {"checks", "api", "jobs", "executors", "data", "core", "errors"},
    "report": {"data", "core", "errors"},
}
# module -> the only rooms (or files) that may import it
ONLY_IN = {
    "torch": ("lockstep/", "jobs/lm/", "jobs/graph/", "jobs/tokens/"),
    "dask": ("executors/dask.py",),
    "distributed": ("executors/dask.py",),
    "ray": ("executors/ray.py",),
    "rich": ("cli/",),
    "click": ("cli/",),
    "pickle": ("executors/",),
    "random": ("bench/langid_data.py",),  # rows of another harness, which draws from it
}
CALLS_ONLY_IN_CLI = {"print", "exit", "quit", "input"}


def relative(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


def room_of(path: Path) -> str:
    parts = path.relative_to(SRC).parts
    return parts[0] if len(parts) > 1 else path.stem


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "samebits":
            yield from ((node.lineno, f"samebits.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module


def job_of(path: Path) -> str:
    """The job a file of the jobs room belongs to; the table in jobs/__init__.py belongs to none."""
    parts = path.relative_to(SRC).parts
    return Path(parts[1]).stem if len(parts) > 1 and parts[1] != "__init__.py" else ""


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    if room in ("cli", "__main__", "__init__") or (room == "jobs" and job_of(path) == ""):
        return  # the face may use everything; the front door and the table name things lazily
    allowed = ALLOWED.get(room)
    if allowed is None:
        allowed = {"jobs", "data", "core", "errors"}  # a public module of a job, e.g. samebits/charset.py
    for line, module in imports_of(path):
        top, _, rest = module.partition(".")
        if top != "samebits":
            continue
        target = rest.split(".")[0]
        assert target in allowed or target == room, f"{relative(path)}:{line} imports {module}"


@pytest.mark.parametrize("path", sorted((SRC / "jobs").rglob("*.py")), ids=relative)
def test_jobs_never_import_one_another(path: Path) -> None:
    for line, module in imports_of(path):
        if module.startswith("samebits.jobs.") and job_of(path):
            assert module.split(".")[2] == job_of(path), f"{relative(path)}:{line} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_heavy_libraries_stay_in_their_rooms(path: Path) -> None:
    for line, module in imports_of(path):
        homes = ONLY_IN.get(module.split(".")[0])
        assert homes is None or relative(path).startswith(homes), f"{relative(path)}:{line} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_only_the_face_prints_and_exits(path: Path) -> None:
    if room_of(path) in ("cli", "__main__") or relative(path) == "bench/cell.py":
        return  # bench/cell.py is a program of its own
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in CALLS_ONLY_IN_CLI, (
                f"{relative(path)}:{node.lineno} calls {node.func.id}"
            )


@pytest.mark.parametrize("path", [*FILES, *sorted(SRC.rglob("*.pyx"))], ids=relative)
def test_a_file_holds_one_idea(path: Path) -> None:
    num_lines = len(path.read_text(encoding="utf-8").splitlines())
    assert num_lines <= MOST_FILE_LINES, f"{relative(path)} has {num_lines} lines"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_functions_are_short_and_modules_and_public_things_have_docstrings(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), f"{relative(path)} has no docstring"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= MOST_FUNCTION_LINES, (
                f"{relative(path)}:{node.lineno} {node.name} has {length} lines"
            )


def test_every_room_says_what_it_is_for() -> None:
    rooms = [path for path in SRC.iterdir() if path.is_dir() and list(path.glob("*.py"))]
    assert len(rooms) >= 6
    for room in rooms:
        assert ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))), room.name


def test_every_kernel_has_types() -> None:
    kernels = sorted((SRC / "kernels").glob("*.pyx"))
    assert kernels
    assert [path.name for path in kernels if not path.with_suffix(".pyi").exists()] == []
