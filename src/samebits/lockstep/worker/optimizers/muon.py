"""Muon: the update of a matrix is its momentum with all singular values brought close to 1.

Whole matrices are owned by one worker, so any assignment gives the same bits. Three things make it cheap on CPU cores:

* The first Gram matrix is needed anyway, and the square root of its Frobenius norm bounds the largest singular value about 3
  times closer than the norm of the matrix does, which is worth one iteration.
* Each iteration has its own odd quintic, the best one for the interval that the iterations before it leave (minimax, found by
  exchange). Four of them reach singular values that five of the usual fixed polynomial do, and spread less: 0.92 to 1.08
  instead of 0.68 to 1.13 on a Gaussian matrix.
* For a matrix at least twice as long as wide the iterations run on the small Gram matrix, and the long side is touched twice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from samebits.lockstep.problem.layout import Layout
from samebits.lockstep.problem.objective import Floats

__all__ = ["POLYNOMIALS", "Matrix", "matrices_of", "orthogonalise", "share_matrices"]

TINY = 1e-15  # a gradient of zero stays zero: its square must not leave the range of float32
MARGIN = 1.01  # the polynomials are steep at the end of their interval: rounding must not pass it

# iterations -> coefficients (a, b, c) of a x + b x^3 + c x^5, one row an iteration
POLYNOMIALS: dict[int, tuple[tuple[float, float, float], ...]] = {
    3: (  # brings [0.01, 1] to [0.73, 1.27]
        (8.09337, -23.6204, 17.4462),
        (3.63659, -2.72193, 0.536546),
        (2.6613, -1.97715, 0.452616),
    ),
    4: (  # brings [0.005, 1] to [0.92, 1.08]
        (8.2987, -24.4305, 18.0903),
        (3.91522, -2.92113, 0.559223),
        (3.1746, -2.38043, 0.497826),
        (2.18946, -1.56722, 0.407887),
    ),
    5: (  # brings [0.001, 1] to [0.89, 1.11]
        (8.47033, -25.1081, 18.6293),
        (4.18283, -3.1087, 0.580607),
        (3.96186, -2.95406, 0.562976),
        (3.28659, -2.46472, 0.507358),
        (2.27375, -1.64466, 0.416191),
    ),
}

Matrix = tuple[int, int, int]  # (offset in the flat buffer, rows, columns)


def orthogonalise(matrix: Floats, iterations: int) -> Floats:
    """Return a matrix with the same singular vectors and singular values near 1; float32, one order of operations.

    Values below about 1/200 of the largest (at 4 iterations) stay small: they are noise.
    """
    wide = matrix if matrix.shape[0] <= matrix.shape[1] else matrix.T
    gram = wide @ wide.T
    norm = math.sqrt(float(np.square(gram, dtype=np.float64).sum()))
    bound = MARGIN * math.sqrt(norm) + TINY
    gram *= np.float32(1.0 / (bound * bound))
    long = wide.shape[1] >= 2 * wide.shape[0]
    step = _on_gram if long else _on_matrix
    found = step(wide, gram, np.float32(1.0 / bound), POLYNOMIALS[iterations])
    return found if wide is matrix else found.T


def _on_matrix(
    wide: Floats, gram: Floats, scale: np.float32, rows: Sequence[tuple[float, float, float]]
) -> Floats:
    x = wide * scale
    for number, (a, b, c) in enumerate(rows):
        if number:
            gram = x @ x.T
        inner = gram @ gram
        inner *= np.float32(c)
        gram *= np.float32(b)
        inner += gram
        moved = inner @ x
        x *= np.float32(a)
        x += moved
    return x


def _on_gram(
    wide: Floats, gram: Floats, scale: np.float32, rows: Sequence[tuple[float, float, float]]
) -> Floats:
    """Keep the product of the polynomials instead of the matrix: all of them commute with the Gram matrix."""
    diagonal = np.arange(len(gram))
    product: Any = None
    for number, (a, b, c) in enumerate(rows):
        factor = gram @ gram
        factor *= np.float32(c)
        factor += np.float32(b) * gram
        factor[diagonal, diagonal] += np.float32(a)
        product = factor if product is None else factor @ product
        if number + 1 < len(rows):
            gram = factor @ gram @ factor
    product *= scale
    found: Floats = product @ wide
    return found


def matrices_of(layout: Layout) -> list[Matrix]:
    """Return every matrix of the group ``matrix``; leading axes are a stack of them."""
    found: list[Matrix] = []
    for entry in layout.entries:
        if entry.spec.group == "matrix":
            rows, columns = entry.spec.shape[-2:]
            starts = range(entry.offset, entry.offset + entry.spec.size, rows * columns)
            found += [(start, rows, columns) for start in starts]
    return found


def share_matrices(matrices: Sequence[Matrix], workers: int) -> list[list[Matrix]]:
    """Give whole matrices to workers: the dearest first, each to the least loaded."""

    def cost(matrix: Matrix) -> int:
        short, long = sorted(matrix[1:])
        return 17 * short**3 + 3 * short * short * long

    load = [0] * workers
    shares: list[list[Matrix]] = [[] for _ in range(workers)]
    for matrix in sorted(matrices, key=lambda matrix: (-cost(matrix), matrix)):
        least = load.index(min(load))
        load[least] += cost(matrix)
        shares[least].append(matrix)
    return shares
