"""samebits takes raw text to trained models on every core, and the number of workers never changes the result.

>>> import samebits
>>> record = samebits.run("count", samebits.CountConfig(inputs=("book.txt",)), output="counts")  # doctest: +SKIP
>>> record.artifact_digest  # doctest: +SKIP
'3c5a96a3...'

Names are loaded when they are used: importing samebits starts nothing and loads neither NumPy nor anything larger.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from samebits import charset, count, graph, langid, lm, pipeline, tokens
    from samebits.api import plan, run
    from samebits.core.engine import Engine
    from samebits.core.fold import Reducer
    from samebits.core.job import Job
    from samebits.core.observing.record import RunRecord
    from samebits.core.options import RunOptions
    from samebits.core.plan import Plan, Shard
    from samebits.core.ports.executor import Executor, Task
    from samebits.core.seeds import rng_for
    from samebits.count.config import CountConfig
    from samebits.data.artifact import open_artifact
    from samebits.errors import SamebitsError
    from samebits.examples_loop import ExamplesReport, map_examples
    from samebits.lockstep.problem.arrays import ArrayBatches
    from samebits.lockstep.problem.function_objective import FunctionObjective
    from samebits.lockstep.problem.torch_objective import TorchObjective
    from samebits.training import fit
    from samebits.verification.artifacts import compare, verify

__version__ = "0.2.0"

__all__ = [
    "ArrayBatches",
    "CountConfig",
    "Engine",
    "ExamplesReport",
    "Executor",
    "FunctionObjective",
    "Job",
    "Plan",
    "Reducer",
    "RunOptions",
    "RunRecord",
    "SamebitsError",
    "Shard",
    "Task",
    "TorchObjective",
    "charset",
    "compare",
    "count",
    "fit",
    "graph",
    "langid",
    "lm",
    "map_examples",
    "open_artifact",
    "pipeline",
    "plan",
    "rng_for",
    "run",
    "tokens",
    "verify",
]

_HOME = {
    "ArrayBatches": "samebits.lockstep.problem.arrays",
    "CountConfig": "samebits.count.job",
    "Engine": "samebits.core.engine",
    "ExamplesReport": "samebits.examples_loop",
    "Executor": "samebits.core.ports.executor",
    "FunctionObjective": "samebits.lockstep.problem.function_objective",
    "Job": "samebits.core.job",
    "Plan": "samebits.core.plan",
    "Reducer": "samebits.core.fold",
    "RunOptions": "samebits.core.options",
    "RunRecord": "samebits.core.observing.record",
    "SamebitsError": "samebits.errors",
    "Shard": "samebits.core.plan",
    "Task": "samebits.core.ports.executor",
    "TorchObjective": "samebits.lockstep.problem.torch_objective",
    "compare": "samebits.verification.artifacts",
    "fit": "samebits.training",
    "map_examples": "samebits.examples_loop",
    "open_artifact": "samebits.data.artifact",
    "plan": "samebits.api",
    "rng_for": "samebits.core.seeds",
    "run": "samebits.api",
    "verify": "samebits.verification.artifacts",
}

_JOBS = ("charset", "count", "graph", "langid", "lm", "pipeline", "tokens")


def __getattr__(name: str) -> Any:
    """Load a public name from its home."""
    if name in _JOBS:
        return import_module(f"samebits.{name}")
    if name == "graph_train":  # the name of 0.1 for what ``graph`` offers now
        return import_module("samebits.graph")
    if name not in _HOME:
        raise AttributeError(f"module 'samebits' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Show the public names."""
    return __all__
