"""The tree is the architecture: imports point one way, files and functions stay small, only cli prints.

The rules are those of docs/concepts; this test walks the syntax trees so that they hold tomorrow.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src" / "samebits"
FILES = sorted(SRC.rglob("*.py"))
MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
MOST_ROOM_FILES = 13  # a dozen ideas and __init__: what a reader takes in at a glance

JOB_ROOMS = ("charset", "count", "graph", "langid", "lm", "pipeline", "tokens")
FLOOR_PLAN = ("__init__.py", "command.py", "config.py", "job.py")
# files of a job room that call the front door for users of the library
FACES = ("functions.py", "training.py", "classifier.py")
FOUNDATION = {"lockstep", "arithmetic", "data", "kernels", "core", "machine", "lazy", "errors"}

# room -> rooms it may import; files directly under samebits are rooms of their own
ALLOWED = {
    "errors": set[str](),
    "lazy": set[str](),
    "kernels": set[str](),
    "machine": {"errors"},
    "core": {"machine", "errors"},
    "arithmetic": {"kernels", "core", "machine", "errors"},
    "executors": {"core", "machine", "errors"},
    "data": {"kernels", "core", "machine", "errors"},
    "lockstep": {"arithmetic", "data", "kernels", "core", "machine", "errors"},
    **dict.fromkeys(JOB_ROOMS, FOUNDATION),
    "pipeline": {"api", "jobs", *FOUNDATION},  # joins the jobs by their names
    "jobs": {"core", "errors"},
    "testing": {"executors", "core", "errors"},
    "progress": {"core", "machine", "errors"},
    "training": {"progress", "lockstep", "executors", "data", "core", "machine", "errors"},
    "workers": {"executors", "data", "core", "machine", "errors"},
    "url_output": {"data", "errors"},
    "api": {"url_output", "workers", "progress", "jobs", "executors", "data", "core", "machine", "errors"},
    "in_memory": {"api", "jobs", "core"},
    "examples_loop": {"api", "data", "core", "errors"},
    "verification": {"api", "jobs", "lockstep", "data", "core", "errors"},
    "bench": {"verification", "api", "jobs", "executors", "data", "core", "machine", "errors"},
    "report": {"data", "core", "errors"},
    "serve": {
        "report",
        *JOB_ROOMS,
        "data",
        "kernels",
        "core",
        "machine",
        "errors",
    },  # models by their public modules
}
# module -> the only rooms (or files) that may import it
ONLY_IN = {
    "torch": ("lockstep/", "lm/", "tokens/readers/"),
    "dask": ("executors/cluster/dask.py",),
    "distributed": ("executors/cluster/dask.py",),
    "ray": ("executors/cluster/ray.py",),
    "rich": ("cli/",),
    "click": ("cli/", *(f"{room}/command" for room in JOB_ROOMS)),
    "pickle": ("executors/",),
    "starlette": ("serve/",),
    "uvicorn": ("serve/",),
    "jinja2": ("serve/",),
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


def is_face(path: Path) -> bool:
    """Is this the command line, or a command of a job room?"""
    return room_of(path) in ("cli", "__main__", "__init__") or (
        room_of(path) in JOB_ROOMS and path.name.startswith("command")
    )


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    if is_face(path):
        return  # the face may use everything; the front door names things lazily
    allowed = ALLOWED[room]
    if room in JOB_ROOMS and path.name in FACES:
        allowed = allowed | {"api", "in_memory", "jobs", "progress"}
    for line, module in imports_of(path):
        top, _, rest = module.partition(".")
        if top != "samebits":
            continue
        target = rest.split(".")[0]
        assert target in allowed or target == room, f"{relative(path)}:{line} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_commands_are_imported_by_the_command_line_alone(path: Path) -> None:
    if is_face(path):
        return
    for line, module in imports_of(path):
        assert ".command" not in module, f"{relative(path)}:{line} imports {module}"


# a pipeline joins jobs and is none: its recipe is its config, running.py its run
@pytest.mark.parametrize("path", FILES, ids=relative)
def test_jobs_do_not_see_where_they_run(path: Path) -> None:
    if room_of(path) not in JOB_ROOMS or is_face(path):
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "engine":
            assert node.attr != "executor", f"{relative(path)}:{node.lineno} looks at the executor"
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            assert node.value.attr != "place", f"{relative(path)}:{node.lineno} reads the place"


@pytest.mark.parametrize("room", [room for room in JOB_ROOMS if room != "pipeline"])
def test_every_job_room_has_the_same_floor_plan(room: str) -> None:
    missing = [name for name in FLOOR_PLAN if not (SRC / room / name).exists()]
    assert missing == []


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_heavy_libraries_stay_in_their_rooms(path: Path) -> None:
    for line, module in imports_of(path):
        homes = ONLY_IN.get(module.split(".")[0])
        assert homes is None or relative(path).startswith(homes), f"{relative(path)}:{line} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_only_the_face_prints_and_exits(path: Path) -> None:
    if is_face(path) or relative(path) == "bench/cell.py":
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


def test_a_room_holds_about_a_dozen_ideas() -> None:
    sizes = Counter(path.parent for path in (*FILES, *SRC.rglob("*.pyx")))
    assert {relative(room): size for room, size in sizes.items() if size > MOST_ROOM_FILES} == {}


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


def test_no_two_public_classes_have_one_name() -> None:
    homes: dict[str, list[str]] = {}
    for path in FILES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(relative(path))
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


def test_every_room_says_what_it_is_for() -> None:
    rooms = [path for path in SRC.iterdir() if path.is_dir() and list(path.glob("*.py"))]
    assert len(rooms) >= 6
    for room in rooms:
        assert ast.get_docstring(ast.parse((room / "__init__.py").read_text(encoding="utf-8"))), room.name


def test_every_kernel_has_types() -> None:
    kernels = sorted(SRC.rglob("*.pyx"))
    assert kernels
    assert [path.name for path in kernels if not path.with_suffix(".pyi").exists()] == []


def test_arrays_of_kernels_say_whether_their_bytes_have_a_sign() -> None:
    """A plain char is signed on x86 and not on ARM, where an array of int8 would then be refused."""
    arrays = re.compile(r"(?<!signed )\bchar\[[:,]")
    found = [p.name for p in sorted(SRC.rglob("*.pyx")) if arrays.search(p.read_text(encoding="utf-8"))]
    assert found == []
