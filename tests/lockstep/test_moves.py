"""Ranks without a network: each has arrays of its own, and what ``Moves`` says is copied from one to the other, no more.

Everything that a rank has not computed and was not sent is poisoned, so a forgotten element shows in the digest.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from tests.lockstep.objectives import Net, run

from samebits.core.seeds import rng_for
from samebits.lockstep.exchange.exchange_plan import Moves, roots_of
from samebits.lockstep.exchange.memory import Sizes, State, create_memory, map_memory
from samebits.lockstep.exchange.rendezvous import Share
from samebits.lockstep.exchange.tree import Split, merges, shards_of, split, validation_of
from samebits.lockstep.parent.attempts import digest_of_state
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import make_layout
from samebits.lockstep.worker.assignment import Order
from samebits.lockstep.worker.messages import WorkerFailed
from samebits.lockstep.worker.step import Stepper

STEPS = 3


class Silent:
    """Meets nobody; the test moves things itself, and a rank has its own shards."""

    def __init__(self, rank: int, world: int) -> None:
        self.rank, self.world = rank, world

    def shards(self, num_shards: int) -> Iterator[int]:
        return iter(shards_of(self.rank, self.world, num_shards))

    def split(self, num_shards: int) -> Split:
        return split(self.rank, self.world, num_shards)

    def begin(self, order: Order) -> Order:
        return order

    def meet(self, what: Share) -> None: ...

    def ask(self, value: int) -> list[int]:
        return [value]

    def gather(self, failure: WorkerFailed | None) -> list[WorkerFailed]:
        return []

    def fail(self, failure: WorkerFailed) -> None: ...

    def look(self) -> None: ...

    def leave(self) -> None: ...


class Ranks:
    """So many ranks in one process, one after the other."""

    def __init__(self, world: int, optimizer: Any) -> None:
        self.config = FitConfig(steps=STEPS, shards=7, lr=0.01, optimizer=optimizer, average=0.3)
        layout = make_layout(Net().spec())
        sizes = Sizes(layout.size, self.config.shards, world, Net().num_validation_shards(), averaged=True)
        self.moves = Moves(self.config, layout, sizes)
        self.states = [map_memory(create_memory(sizes), sizes) for _ in range(world)]
        self.steppers = [self.stepper(rank, world, layout) for rank in range(world)]
        for name, value in Net().init(rng_for(self.config.seed, "fit", "init")).items():
            layout.views(self.states[0].params)[name][...] = np.asarray(value, np.float32)

    def stepper(self, rank: int, world: int, layout: Any) -> Stepper:
        net, state = Net(), self.states[rank]
        net.bind(layout.views(state.params))
        return Stepper(
            net, self.config, layout, state, worker=rank, workers=world, meeting=Silent(rank, world)
        )

    def share(self, what: Share) -> None:
        copies = []
        for sender, theirs in enumerate(self.states):
            for receiver, ours in enumerate(self.states):
                for piece in self.moves.pieces(what, sender, receiver) if sender != receiver else ():
                    place = slice(piece.start, piece.stop)
                    source = getattr(theirs, piece.array).reshape(-1)[place].copy()
                    copies.append((getattr(ours, piece.array).reshape(-1)[place], source))
        for target, source in copies:
            target[:] = source

    def poison(self) -> None:
        for rank, state in enumerate(self.states):
            for g in set(range(7)) - set(shards_of(rank, len(self.states), 7)):
                state.rows[g] = np.nan
            state.squares[:] = np.nan
            state.losses[:] = np.nan

    def train(self) -> list[str]:
        self.share(Share.START)
        for step in range(STEPS):
            self.poison()
            for stepper in self.steppers:
                stepper.compute(step)
            self.share(Share.GRADIENTS)
            for stepper in self.steppers:
                stepper.reduce()
            self.share(Share.NORMS)
            outcomes = {stepper.outcome() for stepper in self.steppers}
            assert len(outcomes) == 1
            for stepper in self.steppers:
                stepper.update(step, outcomes.copy().pop().grad_norm, 1.0)
            self.share(Share.PARAMETERS)
        self.share(Share.END)
        return [digest_of_state(arrays(state)) for state in self.states]


def arrays(state: State) -> dict[str, Any]:
    return {name: getattr(state, name) for name in ("params", "first", "second", "average")}


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "muon"])
def test_ranks_that_share_nothing_but_the_moves_have_the_bits_of_one_process(optimizer: Any) -> None:
    expected = run(optimizer=optimizer, steps=STEPS, validate_every=0, average=0.3).digest
    for world in range(1, 8):
        assert Ranks(world, optimizer).train() == [expected] * world


def test_a_checkpoint_needs_the_moments_in_rank_0_alone() -> None:
    moves = Ranks(3, "muon").moves
    assert moves.pieces(Share.CHECKPOINT, 1, 0) == moves.pieces(Share.END, 1, 0) != []
    assert moves.pieces(Share.CHECKPOINT, 0, 1) == moves.pieces(Share.CHECKPOINT, 2, 1) == []


@pytest.mark.parametrize(("world", "num_shards"), [(1, 5), (2, 5), (3, 7), (4, 4), (5, 64), (7, 7)])
def test_only_roots_of_subtrees_travel(world: int, num_shards: int) -> None:
    roots = [root for rank in range(world) for root in roots_of(rank, world, num_shards)]
    inside = num_shards - len(roots)
    assert inside + len(roots) - 1 == len(merges(num_shards)), (
        "merges inside a rank, then those between ranks"
    )
    assert roots == sorted(set(roots))


@pytest.mark.parametrize("num_shards", [0, 1, 2, 5, 9])
def test_validation_shards_are_covered_once_and_begin_at_worker_0(num_shards: int) -> None:
    for workers in range(1, 8):
        found = [i for worker in range(workers) for i in validation_of(worker, workers, num_shards)]
        assert found == list(range(num_shards))
        assert not num_shards or 0 in validation_of(0, workers, num_shards)
