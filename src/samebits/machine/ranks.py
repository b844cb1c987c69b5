"""Was this process started by torchrun, and as which of how many? Read from the variables that torchrun sets.

Any launcher that sets the same four (Slurm and MPI start-up scripts often do) counts as one. ``-x lockstep`` turns it off.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from samebits.errors import ConfigError

__all__ = ["VARIABLES", "Ranks", "find_ranks", "ranks_for"]

VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class Ranks(NamedTuple):
    """One process of several.

    Attributes:
        rank: Which one, from 0; rank 0 writes the output.
        world: How many there are.
        local_rank: Which one on this machine.
    """

    rank: int
    world: int
    local_rank: int

    @property
    def writes(self) -> bool:
        """Tell whether this one writes the output, shows progress and prints the result."""
        return self.rank == 0

    def reports(self, lost: int | None) -> bool:
        """Tell whether this one prints an error: the first rank that is left, and the first of every machine.

        >>> [Ranks(rank, 4, rank % 2).reports(lost=0) for rank in range(4)]
        [True, True, True, False]
        >>> [Ranks(rank, 4, rank % 2).reports(lost=None) for rank in range(4)]
        [True, False, True, False]
        """
        first = 1 if lost == 0 else 0
        return self.local_rank == 0 or self.rank == first


def find_ranks(environment: Mapping[str, str] | None = None) -> Ranks | None:
    """Return which rank this process is, or None if nobody said so.

    >>> find_ranks({"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "host", "MASTER_PORT": "29500"})
    Ranks(rank=1, world=2, local_rank=0)
    >>> find_ranks({})

    Raises:
        ConfigError: the numbers make no sense.
    """
    given = os.environ if environment is None else environment
    if not all(given.get(name) for name in VARIABLES):
        return None
    rank, world, local = given["RANK"], given["WORLD_SIZE"], given.get("LOCAL_RANK") or "0"
    if not (rank.isdecimal() and world.isdecimal() and local.isdecimal() and int(rank) < int(world)):
        raise ConfigError(
            f"RANK is {rank!r}, WORLD_SIZE {world!r} and LOCAL_RANK {local!r}",
            hint="start with torchrun, or unset these variables to run on this machine alone",
        )
    return Ranks(int(rank), int(world), int(local))


def ranks_for(executor: str, workers: int | None) -> Ranks | None:
    """Return the ranks that a training run uses, or None when it starts its workers itself.

    Args:
        executor: ``auto`` goes by the environment, ``torchrun`` insists on it, anything else ignores it.
        workers: Number asked for; under torchrun each rank is one worker, so it can only agree.

    Raises:
        ConfigError: torchrun is asked for and not there, or another number of workers is.
    """
    if executor not in ("auto", "torchrun"):
        return None
    ranks = find_ranks()
    if ranks is None and executor == "torchrun":
        raise ConfigError(
            "the executor is torchrun, but this process was not started by it",
            hint="torchrun --nproc-per-node 2 -m samebits lm train ...",
        )
    if ranks is not None and workers not in (None, ranks.world):
        raise ConfigError(
            f"{workers} workers asked for, but torchrun started {ranks.world} ranks, and each is one worker",
            hint=f"leave --workers out, or start with torchrun --nproc-per-node {workers}",
        )
    return ranks
