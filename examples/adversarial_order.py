"""Test a task with executors that misbehave on purpose: results in the wrong order, and workers that are lost."""

from dataclasses import dataclass

import samebits
from samebits.core.fold import Concat
from samebits.core.plan import cut
from samebits.testing import FailingExecutor, ShuffledExecutor


@dataclass(frozen=True, slots=True)
class Squares:
    """The task: the squares of the numbers of a shard."""

    def __call__(self, shard: samebits.Shard, state: None, /) -> list[int]:
        """Return the part."""
        return [number * number for number in range(shard.start, shard.stop)]


def squares(executor: samebits.Executor) -> list[int]:
    """Run the task over 20 shards and put the parts one after the other."""
    try:
        parts = samebits.Engine(executor).map_reduce(
            "square", Squares(), cut([100], cell=5), Concat(), unit="items"
        )
    finally:
        executor.close()
    return list(Concat().result(parts))


expected = [number * number for number in range(100)]
for seed in range(5):
    assert squares(ShuffledExecutor(seed=seed)) == expected
assert squares(FailingExecutor({3: 2, 7: 1})) == expected
print("same result for 5 shuffled orders and with 3 lost workers")
