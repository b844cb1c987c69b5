"""What the bits of a run depend on besides its settings: kept in every checkpoint, compared on a resume and between ranks.

A portable objective computes with ``samebits.arithmetic``, whole numbers and single IEEE operations alone, so the version of the
arithmetic says everything: CPU type, libraries and compilers may differ. For any other objective they are all named.
"""

from __future__ import annotations

from samebits import arithmetic
from samebits.lockstep.problem.objective import Objective
from samebits.lockstep.problem.optional_methods import is_portable
from samebits.machine.fingerprint import fingerprint

__all__ = ["environment_of"]


def environment_of(objective: Objective, compute: str) -> dict[str, str]:
    """Return the fields by name; ``compute`` is the mode of a Modal objective."""
    found = {"arithmetic": str(arithmetic.VERSION), "compute": compute}
    return found if is_portable(objective) else {**fingerprint(compute), **found}
