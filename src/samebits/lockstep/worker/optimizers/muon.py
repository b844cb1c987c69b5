"""Muon: the update of a matrix is its momentum with all singular values brought close to 1.

The kernel is ``arithmetic.updates.muon``; here are its polynomials and which matrices there are. Three things make it cheap:

* The first Gram matrix is needed anyway, and the square root of its Frobenius norm bounds the largest singular value about 3
  times closer than the norm of the matrix does, which is worth one iteration.
* Each iteration has its own odd quintic, the best one for the interval that the iterations before it leave (minimax, found by
  exchange). Four of them reach singular values that five of the usual fixed polynomial do, and spread less: 0.92 to 1.08
  instead of 0.68 to 1.13 on a Gaussian matrix.
* For a matrix at least twice as long as wide the iterations run on the small Gram matrix, and the long side is touched twice.
"""

from __future__ import annotations

from samebits.arithmetic import updates
from samebits.lockstep.exchange.memory import State
from samebits.lockstep.problem.config import FitConfig
from samebits.lockstep.problem.layout import Layout
from samebits.lockstep.problem.objective import Floats
from samebits.lockstep.worker.optimizers.rule import MatrixShape, StepSettings

__all__ = ["POLYNOMIALS", "cost_of", "matrices_of", "update"]

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


def matrices_of(layout: Layout) -> list[MatrixShape]:
    """Return every matrix of the group ``matrix``; leading axes are a stack of them."""
    found: list[MatrixShape] = []
    for entry in layout.entries:
        if entry.spec.group == "matrix":
            rows, columns = entry.spec.shape[-2:]
            starts = range(entry.offset, entry.offset + entry.spec.size, rows * columns)
            found += [MatrixShape(start, rows, columns) for start in starts]
    return found


def cost_of(matrix: MatrixShape) -> int:
    """Return about how many multiplications the update of a matrix takes."""
    short, long = sorted((matrix.rows, matrix.columns))
    return 17 * short * short * short + 3 * short * short * long


def update(
    state: State, config: FitConfig, matrix: MatrixShape, settings: StepSettings, work: Floats
) -> None:
    """Update one matrix in place; ``work`` is scratch memory."""
    offset, rows, columns = matrix
    params, grads, momentum = (
        flat[offset : offset + rows * columns].reshape(rows, columns)
        for flat in (state.params, state.rows[0], state.first)
    )
    updates.muon(
        params,
        grads,
        momentum,
        scale=settings.scale,
        lr=config.muon_lr * settings.rate,
        inertia=config.momentum,
        decay=config.muon_weight_decay,
        nesterov=config.nesterov,
        polynomials=POLYNOMIALS[config.muon_iterations],
        work=work,
    )
