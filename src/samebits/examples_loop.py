"""Any function of one example, over all examples, on every core: the plain training or scoring loop of a user.

>>> from samebits import RunOptions, map_examples
>>> report = map_examples(lambda example, state: len(example) * state, ["a", "bc"], 0.5, options=RunOptions(executor="serial"))
>>> report.values, report.total
([0.5, 1.0], 1.5)

Values come back in the order of the examples, and the total is ``math.fsum`` of them: correctly rounded, so it depends on
no order at all. An atomic add of floats, the usual accumulator of parallel loops, depends on who came first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from samebits import api
from samebits.core.engine import Engine
from samebits.core.observing.events import Observer, ignore
from samebits.core.options import RunOptions
from samebits.core.plan import Plan, Shard, cut
from samebits.core.ports.executor import Executor
from samebits.data.inputs.columns import rows_of
from samebits.errors import ConfigError, ShardFailed

__all__ = ["ExamplesReport", "map_examples"]

MOST_TEXT = 200  # characters of an example that an error message shows


@dataclass(frozen=True, slots=True)
class ExamplesReport:
    """What a function said about every example.

    Attributes:
        values: In the order of the examples; None where the function failed.
        total: Exactly rounded sum of the values, or None if one of them is no number.
        failures: (index, error) of the examples on which the function failed, in order.
    """

    values: list[Any]
    total: float | None
    failures: list[tuple[int, str]]


class ValuesPart(NamedTuple):
    """Values of some examples, None where the function failed, and index, error and text of those failures."""

    values: list[Any]
    failures: list[list[Any]]


@dataclass(frozen=True, slots=True)
class MapShard:
    """The task: call the function on the examples of one shard, one after the other."""

    part_type: ClassVar = ValuesPart
    function: Callable[[Any, Any], Any]

    def __call__(self, shard: Shard, state: tuple[Sequence[Any], Any], /) -> ValuesPart:
        """Return values and failures; an exception of one example does not hide the others."""
        data, shared = state
        values: list[Any] = []
        failures: list[list[Any]] = []
        for index in range(shard.start, shard.stop):
            try:
                values.append(self.function(data[index], shared))
            except Exception as error:  # whatever a user's function raises is reported, not hidden
                values.append(None)
                failures.append([index, f"{type(error).__name__}: {error}", _shown(data[index])])
        return ValuesPart(values, failures)


@dataclass(frozen=True, slots=True)
class _Mapping:
    """What choosing workers needs to know; user functions are Python, so they run in processes."""

    name: str = "map_examples"
    version: int = 1
    summary: str = "a function over examples"
    Config: type[Any] = object
    default_executor: str = "processes"
    stages: tuple[str, ...] = ("map",)
    bytes_per_worker: int = 0

    def plan(self, config: Any) -> Plan:
        """Cut the examples, given by (number, shard size)."""
        num_examples, shard_size = config
        return Plan(
            job=self.name,
            version=self.version,
            seed=0,
            config_digest="",
            input_digest="",
            source_names=("examples",),
            shards=cut([num_examples], shard_size),
        )

    def run(self, plan: Plan, config: Any, engine: Engine, out: Any) -> dict[str, Any]:
        """Never called: nothing is written."""
        raise NotImplementedError


def map_examples(
    fn: Callable[[Any, Any], Any],
    data: Iterable[Any],
    state: Any = None,
    *,
    shard_size: int = 64,
    on_error: Literal["raise", "skip"] = "raise",
    options: RunOptions | None = None,
    observer: Observer = ignore,
    executor: Executor | None = None,
) -> ExamplesReport:
    """Call ``fn(example, state)`` on every example, in parallel.

    Args:
        fn: Returns a number or other plain data; must depend on nothing but its arguments.
        data: The examples, anything that pickles; of a data frame, an Arrow table or a data set each row, as a dict.
        state: Given to every call, sent to each worker once; a model, say.
        shard_size: Examples that one worker takes at a time; never changes the result.
        on_error: ``raise`` stops at the first failing example; ``skip`` lists it in ``failures``.
        options: How to compute; never changes the result.
        observer: Told of every event.
        executor: An executor of your own; closed by you.

    Raises:
        ShardFailed: the function raised; names the example with the lowest index, and shows it.
        ConfigError: for a shard size below 1 or an unknown ``on_error``.
    """
    if shard_size < 1 or on_error not in ("raise", "skip"):
        raise ConfigError(
            f"shard_size is {shard_size} and on_error {on_error!r}", hint="use 1 or more, and raise or skip"
        )
    job, items = _Mapping(), rows_of(data)
    plan = job.plan((len(items), shard_size))
    values: list[Any] = []
    failures: list[tuple[int, str]] = []
    with api.open_executor(job, plan, options or RunOptions(), executor) as (place, _):
        engine = Engine(place, observer=observer, plan=plan)
        for shard, part in engine.map_ordered(
            "map", MapShard(fn), plan.shards, state=(items, state), unit="examples"
        ):
            values += part.values
            for index, error, shown in part.failures:
                if on_error == "raise":
                    raise ShardFailed(
                        f"example {index} failed: {error}; it is {shown}",
                        shard=shard.index,
                        hint="fix the function or the example, or pass on_error='skip'",
                    )
                failures.append((index, error))
    return ExamplesReport(values, _total(values, {index for index, _ in failures}), failures)


def _total(values: list[Any], failed: set[int]) -> float | None:
    kept = [value for index, value in enumerate(values) if index not in failed]
    if not all(isinstance(value, int | float) for value in kept):
        return None
    return math.fsum(kept)


def _shown(example: Any) -> str:
    text = example["text"] if isinstance(example, dict) and "text" in example else example
    shown = repr(text)
    return shown if len(shown) <= MOST_TEXT else shown[:MOST_TEXT] + "..."
