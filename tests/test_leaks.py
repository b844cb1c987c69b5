"""Nothing that a C library, NumPy or a Python version may round differently reaches a weight, a loss or a sample.

The rooms below train portable objectives. Their numbers come from ``samebits.arithmetic``, whole numbers and single IEEE
operations (+ - * / sqrt, comparisons, conversions). The compiled modules are searched for symbols of the C library's mathematics, the
sources for functions whose last bit depends on who made them. An exception carries its reason, and goes when it is not used.
"""

from __future__ import annotations

import ast
import shutil
import subprocess
from collections.abc import Iterator
from ctypes.util import find_library
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src" / "samebits"
ROOMS = ("arithmetic", "lockstep", "lm", "graph/parser", "graph/evaluation", "core/seeds.py")
FILES = sorted(
    path for room in ROOMS for path in ((SRC / room).rglob("*.py") if (SRC / room).is_dir() else [SRC / room])
)
MODULES = sorted(path for room in ("arithmetic", "kernels/lockstep") for path in (SRC / room).glob("*.so"))
EXACT = {"fma", "fmaf", "sqrt", "sqrtf"}  # correctly rounded by IEEE 754, so every library agrees

FUNCTIONS = {"exp exp2 expm1 log log2 log10 log1p logaddexp sin cos tan sinh cosh tanh arcsin arccos arctan arctan2 power float_power cbrt hypot"}  # fmt: skip
SUMS = {"sum nansum mean average std var dot vdot inner matmul einsum tensordot cumsum prod cumprod trapezoid convolve linalg fft"}  # fmt: skip
DRAWS = {"standard_normal normal random uniform integers permutation permuted shuffle choice exponential"}
OF_NUMPY = {name for names in (FUNCTIONS, SUMS) for text in names for name in text.split()}
METHODS = {name for names in (SUMS, DRAWS) for text in names for name in text.split()} - {"linalg", "fft"}
OF_MATH = {
    "ceil",
    "comb",
    "floor",
    "inf",
    "isfinite",
    "isinf",
    "isnan",
    "nan",
    "pi",
    "prod",
    "sqrt",
}  # exact ones

# (file, what) -> why it cannot change a weight, a loss or a sample
ALLOWED: dict[tuple[str, str], str] = {
    ("arithmetic/network.py", "np.prod"): "of a shape: whole numbers",
    ("arithmetic/network.py", "np.cumsum"): "of numbers of rows",
    ("arithmetic/sequences.py", "np.cumsum"): "of numbers of panels",
    ("arithmetic/selftest.py", "np.prod"): "of a shape: whole numbers",
    ("arithmetic/selftest.py", "**"): "powers of two, which are exact, in made-up inputs",
    ("graph/evaluation/ud_scores.py", "sum"): "of numbers of words",
    ("graph/parser/batches.py", "np.cumsum"): "of numbers of positions",
    ("graph/parser/batches.py", "sum"): "of numbers of positions",
    ("graph/evaluation/evaluate.py", "sum"): "of examples that are right",
    ("graph/evaluation/measure.py", "sum"): "of counts, and of bounds that are whole or half numbers",
    ("graph/parser/train.py", "sum"): "of numbers of parameters and words",
    ("lm/estimation.py", "**"): "of a whole number, to count operations per second",
    ("lm/exchange/export.py", ".integers()"): "made-up ids, to compare an export with its model",
    ("lm/exchange/portable_model.py", "**"): "the model in plain torch, for people without samebits",
    ("lm/model/arch.py", "**"): "of a whole number, to count parameters",
    ("lm/text/sources.py", "sum"): "of numbers of tokens",
    ("lm/training/torch_gradient.py", ".integers()"): "--arithmetic torch, which promises one CPU type only",
    ("lockstep/exchange/memory.py", "sum"): "of sizes in bytes",
    ("lockstep/exchange/ranks.py", "sum"): "of sizes in bytes",
    ("lockstep/logs/loss_plot.py", "math.log10"): "a drawing, to a tenth of a pixel",
    ("lockstep/logs/loss_plot.py", "**"): "numbers beside the lines of a drawing",
    ("lockstep/problem/layout.py", "sum"): "of numbers of elements",
    (
        "lockstep/problem/torch_objective.py",
        ".integers()",
    ): "torch's own generator, which promises one version only",
}


def relative(path: Path) -> str:
    return path.relative_to(SRC).as_posix()


def leaks(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of everything that may round in more than one way."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            yield node.lineno, "@"
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and not _is_whole(node):
            yield node.lineno, "**"
        elif isinstance(node, ast.Name) and id(node) in called and node.id in ("sum", "pow"):
            yield node.lineno, node.id  # sum() of floats compensates since Python 3.12, and did not before
        elif isinstance(node, ast.Attribute):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner in ("np", "numpy"):
                if node.attr in OF_NUMPY:
                    yield node.lineno, f"np.{node.attr}"
            elif owner == "math":
                if node.attr not in OF_MATH:
                    yield node.lineno, f"math.{node.attr}"
            elif node.attr in METHODS and id(node) in called:
                yield node.lineno, f".{node.attr}()"


def _is_whole(node: ast.BinOp) -> bool:
    return all(
        isinstance(side, ast.Constant) and isinstance(side.value, int) for side in (node.left, node.right)
    )


def test_the_search_finds_what_it_is_for() -> None:
    text = "a @ b; x ** 0.5; np.exp(x); x.sum(); sum(x); math.cos(x); rng.standard_normal(3); 2 ** 31; math.sqrt(x); np.sqrt(x)"
    found = [name for _, name in sorted(leaks(ast.parse(text.replace("; ", "\n"))))]
    assert found == ["@", "**", "np.exp", ".sum()", "sum", "math.cos", ".standard_normal()"]


@pytest.mark.parametrize("path", FILES, ids=relative)
def test_sources_use_nothing_that_may_round_differently_elsewhere(path: Path) -> None:
    found = leaks(ast.parse(path.read_text(encoding="utf-8")))
    new = [f"line {line}: {name}" for line, name in found if (relative(path), name) not in ALLOWED]
    assert new == [], f"{relative(path)}: use samebits.arithmetic, or name the reason in ALLOWED"


def test_every_exception_is_still_needed() -> None:
    used = {
        (relative(path), name)
        for path in FILES
        for _, name in leaks(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert sorted(set(ALLOWED) - used) == []


def symbols(path: Path, which: str) -> set[str]:
    """Names of a shared object without their versions."""
    done = subprocess.run(["nm", "-D", which, path], capture_output=True, text=True, check=True)
    return {line.split()[-1].partition("@")[0] for line in done.stdout.splitlines()}


@pytest.fixture(scope="module")
def mathematics() -> set[str]:
    """Every function of the C library's mathematics."""
    if shutil.which("nm") is None:
        pytest.skip("nm (binutils) is not installed")
    name = find_library("m")
    homes = [Path(place) / str(name) for place in ("/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib")]  # fmt: skip
    found = next((home for home in homes if home.exists()), None)
    if found is None:
        pytest.skip(f"the library of mathematics ({name}) is not where it usually is")
    return symbols(found, "--defined-only")


@pytest.mark.parametrize("path", MODULES, ids=relative)
def test_compiled_modules_call_no_mathematics_of_the_c_library(path: Path, mathematics: set[str]) -> None:
    assert {"expf", "pow", "cos", "fmaf"} <= mathematics, "the search can find something"
    assert sorted(symbols(path, "--undefined-only") & mathematics - EXACT) == []
