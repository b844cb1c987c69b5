"""Types of the kernel."""

import numpy as np
from numpy.typing import NDArray

def best_shares(
    scores: NDArray[np.int32],
    letters: NDArray[np.int32],
    halving: NDArray[np.int64],
    powers: NDArray[np.uint32],
    allowed: NDArray[np.uint8],
    bits: int,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the best of the allowed languages, at least one, and its probability.

    A language's weight halves with every ``halving[letters]`` it is behind; ``powers[i]`` is 2**30 times 2**(-i / 2**bits).
    """

def settle(
    columns: NDArray[np.int32],
    letters: NDArray[np.int32],
    biases: NDArray[np.int32],
    members: NDArray[np.int32],
    group_stops: NDArray[np.int32],
    allowed: NDArray[np.uint8],
    of_model: NDArray[np.int32],
    of_near: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return one score per language.

    Columns are the languages, then one more for each of ``members`` (numbers of languages, group after group, each at most
    once; ``group_stops`` are where groups end). Within a group a language is behind the best by ``of_model[letters]`` times its
    score and ``of_near[letters]`` times its further column, over 1,024; languages that are not ``allowed`` take no part in it.
    """
